# SPDX-License-Identifier: Apache-2.0
"""At-least-once: sends batches, remembers what is delivered, and writes offsets no earlier than their records."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from headrace.api.errors import RetriableError
from headrace.api.record import SourceRecord
from headrace.api.source import RecordMetadata
from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.errors import RetriableKafkaError
from headrace.task.source.source_batch import SourceBatch, SourceOffset
from headrace.task.source.submitted_records import RefusedRecords, SubmittedRecords
from headrace.task.topic_batch import WrittenRecord, send_batch
from headrace.task.worker_link import WorkerLink

_log = logging.getLogger(__name__)


class OffsetCommitter:
    """The task's thread only. ``interval`` and ``timeout`` are the worker's ``offset.flush.*``, in seconds."""

    def __init__(
        self,
        producer: RecordProducer,
        writer: OffsetWriter,
        interval: float,
        timeout: float,
        refused: RefusedRecords | None = None,
        *,
        remember: bool,
    ) -> None:
        """``refused`` handles what brokers refuse; without it that is a failure."""
        self._producer = producer
        self._writer = writer
        self._interval = interval
        self._timeout = timeout
        self._refused = refused
        self._note_delivered = self._note if remember else None
        self._submitted = SubmittedRecords()
        self._next: float | None = None
        self._delivered: list[WrittenRecord] = []
        self._dropped: list[SourceRecord] = []
        self._awaited: tuple[SourceOffset, ...] = ()
        self._committed: tuple[SourceOffset, ...] = ()

    def send(self, batch: SourceBatch) -> None:
        """Send a batch; its offsets may be committed when all its records and all earlier ones are delivered."""
        submitted = self._submitted.submit(batch.size, batch.offsets)
        self._dropped.extend(batch.dropped)
        # A dead letter is delivered before its offset is committed, as all else.
        for topic in batch.all_topics:
            tolerated = self._refused is not None and topic is not batch.dead_letters
            refused = self._refused.of(submitted, topic) if self._refused is not None and tolerated else None
            send_batch(self._producer, topic, submitted.ack, self._note_delivered, refused)

    def serve(self) -> None:
        """Run delivery callbacks; raises what made a delivery fail: a lost record must not be passed over."""
        self._producer.serve()
        if self._refused is not None:
            self._dropped += self._refused.settle(self._note_delivered)
        failure = self._producer.delivery_failure()
        if failure is not None:
            raise failure

    def due(self, now: float) -> bool:
        if self._next is None:
            self._next = now + self._interval
        if now < self._next:
            return False
        self._next = now + self._interval
        return True

    def commit(self) -> bool:
        """Write the offsets of what is delivered so far and wait for them; False if there are none."""
        self.serve()
        offsets = tuple(self._submitted.committable().values())
        self._writer.send(offsets)
        self._awaited += offsets
        if not self._awaited:
            return False
        try:
            self._writer.flush(self._timeout)
        except RetriableError as late:
            self.serve()
            _log.warning("offsets are not committed yet: %s; they are with the next commit", late)
            return False
        self.serve()
        self._committed, self._awaited = self._committed + self._awaited, ()
        return True

    def flush(self) -> None:
        """Wait until all is delivered; RetriableKafkaError past the timeout: what is not committed is read again."""
        if not self._delivered_in_time():
            raise RetriableKafkaError(self._what_is_late())

    def _delivered_in_time(self) -> bool:
        delivered = self._producer.flush(self._timeout)
        self.serve()
        return delivered

    def _what_is_late(self) -> str:
        return (
            f"{self._submitted.in_flight} records were not delivered within "
            f"offset.flush.timeout.ms = {self._timeout * 1000:g}"
        )

    def take_committed(self) -> Sequence[SourceOffset]:
        taken, self._committed = self._committed, ()
        return taken

    def take_delivered(self) -> tuple[list[WrittenRecord], list[SourceRecord]]:
        taken = self._delivered, self._dropped
        self._delivered, self._dropped = [], []
        return taken

    def close(self) -> None:
        self._producer.close()

    def _note(self, record: SourceRecord, metadata: RecordMetadata) -> None:
        self._delivered.append((record, metadata))


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
