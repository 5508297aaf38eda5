# SPDX-License-Identifier: Apache-2.0
"""Tells the task and its worker what has become visible."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.api.record import SourceRecord
from headrace.api.source import RecordMetadata
from headrace.task.record_converter import TopicBatch
from headrace.task.source.source_offsets import SourceOffset
from headrace.task.source.task_callbacks import TaskCallbacks
from headrace.task.worker_link import WorkerLink


class CommittedOffsets:
    """The task's thread only."""

    def __init__(self, callbacks: TaskCallbacks, link: WorkerLink) -> None:
        self._callbacks = callbacks
        self._link = link
        self._topics: dict[str, None] = {}
        """Written to since the last commit."""

    def topics(self, batches: Sequence[TopicBatch]) -> None:
        """Topics that are written to; the link hears of them after the next commit (KIP-558)."""
        for batch in batches:
            self._topics[batch.topic] = None

    def records(
        self, delivered: Sequence[tuple[SourceRecord, RecordMetadata | None]], dropped: Sequence[SourceRecord]
    ) -> None:
        """``commit_record`` for what was written and what was dropped."""
        self._callbacks.records(delivered)
        self._callbacks.records((record, None) for record in dropped)

    def offsets(self, offsets: Sequence[SourceOffset]) -> None:
        """After a commit: ``commit`` of the task, then the worker."""
        self._callbacks.offsets()
        if self._topics:
            self._link.topics_used(list(self._topics))
            self._topics.clear()
        self._link.offsets_committed([(o.partition, o.offset) for o in offsets])
