# SPDX-License-Identifier: Apache-2.0
"""Whether requests about the topics that connectors use are served (KIP-558)."""

from __future__ import annotations

from headrace.config.worker_config import TOPIC_TRACKING, TOPIC_TRACKING_RESET, WorkerConfig
from headrace.herder.errors import ForbiddenError


def check_topic_tracking(worker: WorkerConfig) -> None:
    """ForbiddenError unless the worker keeps track of them."""
    if not worker.topic_tracking:
        raise ForbiddenError(f"Topic tracking is disabled ({TOPIC_TRACKING}=false)")


def check_topic_reset(worker: WorkerConfig) -> None:
    """ForbiddenError unless the worker keeps track of them and users may have them forgotten."""
    check_topic_tracking(worker)
    if not worker.topic_tracking_reset:
        raise ForbiddenError(f"A reset of topic tracking is disabled ({TOPIC_TRACKING_RESET}=false)")
