# SPDX-License-Identifier: Apache-2.0
"""Every attempt of a task has a transactional id of its own, so that none fences another (against invariant 2)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.task.source import source_task_factory


class UnfencedProducer(TransactionalProducer):
    def __init__(self, props: Mapping[str, str], **more: Any) -> None:
        super().__init__({**props, "transactional.id": f"{props['transactional.id']}-{uuid.uuid4()}"}, **more)


source_task_factory.TransactionalProducer = UnfencedProducer  # type: ignore[misc]
