# SPDX-License-Identifier: Apache-2.0
"""Permission of requests about the topics that connectors use (KIP-558)."""

from __future__ import annotations

from headrace.config.worker_config import TOPIC_TRACKING, TOPIC_TRACKING_RESET, WorkerConfig
from headrace.herder.errors import ForbiddenError


def check_topic_tracking(worker: WorkerConfig) -> None:
    """Raise ForbiddenError unless the worker tracks them."""
    if not worker.topic_tracking:
        raise ForbiddenError(f"Topic tracking is disabled ({TOPIC_TRACKING}=false)")


def check_topic_reset(worker: WorkerConfig) -> None:
    """Raise ForbiddenError unless the worker tracks them and users may reset them."""
    check_topic_tracking(worker)
    if not worker.topic_tracking_reset:
        raise ForbiddenError(f"A reset of topic tracking is disabled ({TOPIC_TRACKING_RESET}=false)")
