# SPDX-License-Identifier: Apache-2.0
"""Where the offsets of an at-least-once task go: to an offsets topic, or to its worker, which keeps them elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.errors import RetriableKafkaError
from headrace.task.source.source_offsets import SourceOffset
from headrace.task.worker_link import WorkerLink


class OffsetWriter(Protocol):
    """The task's thread only."""

    def send(self, offsets: Sequence[SourceOffset]) -> None:
        """Set these on their way; of a source partition the newest counts."""

    def flush(self, timeout: float) -> None:
        """Wait until all are written. RetriableError if they are not after about ``timeout`` seconds: they go on being
        written, or are with the next flush."""


class TopicOffsetWriter:
    """Writes with the task's own producer, and so waits for the records before the offsets too."""

    def __init__(self, producer: RecordProducer, topic: str) -> None:
        self._producer = producer
        self._topic = topic

    def send(self, offsets: Sequence[SourceOffset]) -> None:
        for offset in offsets:
            self._producer.send(self._topic, offset.key, offset.value)

    def flush(self, timeout: float) -> None:
        if not self._producer.flush(timeout):
            raise RetriableKafkaError(f"not delivered within offset.flush.timeout.ms = {timeout * 1000:g}")


class LinkOffsetWriter:
    """Has the worker write them, which knows the timeout by itself."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link
        self._waiting: dict[bytes, bytes | None] = {}

    def send(self, offsets: Sequence[SourceOffset]) -> None:
        for offset in offsets:
            self._waiting[offset.key] = offset.value

    def flush(self, timeout: float) -> None:
        if self._waiting:
            self._link.write_offsets(self._waiting)
            self._waiting = {}
