# SPDX-License-Identifier: Apache-2.0
"""At-least-once: sends batches, tracks what is delivered, and writes offsets no earlier than their records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from headrace.api.errors import RetriableError
from headrace.api.record import SourceRecord
from headrace.api.source import WrittenRecords
from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.errors import RetriableKafkaError
from headrace.model.health import Stage
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.source.source_batch import SourceBatch, SourceOffset
from headrace.task.source.submitted_records import RefusedRecords, SubmittedRecords
from headrace.task.task_protocol import WriteOffsets
from headrace.task.topic_batch import DeliveredRecords, send_batch
from headrace.task.worker_link import WorkerLink

_COMMIT: Final = "a commit of offsets"


class OffsetWriter(Protocol):
    """The store of an at-least-once task's offsets. The task's thread only."""

    def send(self, offsets: Sequence[SourceOffset]) -> None:
        """Begin to write these; of a source partition the newest counts."""

    def flush(self, timeout: float) -> None:
        """Wait until all are written. RetriableError if they are not after about ``timeout`` seconds.

        Then their writing continues, or is repeated by the next flush.
        """


class TopicOffsetWriter:
    """Writes to an offsets topic with the task's own producer, and so waits for the records before the offsets too."""

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
    """Has the worker write them, which applies the timeout by itself."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link
        self._waiting: dict[bytes, bytes | None] = {}

    def send(self, offsets: Sequence[SourceOffset]) -> None:
        for offset in offsets:
            self._waiting[offset.key] = offset.value

    def flush(self, timeout: float) -> None:
        if self._waiting:
            self._link.ask(WriteOffsets(self._waiting))
            self._waiting = {}


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
        reports: ErrorReports | None = None,
    ) -> None:
        """``refused`` handles what brokers refuse; without it that is a failure. ``reports`` get late commits.

        ``remember`` has ``take_delivered`` return the polled records.
        """
        self._producer = producer
        self._writer = writer
        self._interval = interval
        self._timeout = timeout
        self._refused = refused
        self._reports = reports or ErrorReports()
        self._delivered = DeliveredRecords() if remember else None
        self._submitted = SubmittedRecords()
        self._next: float | None = None
        self._dropped: list[SourceRecord] = []
        self._awaited: tuple[SourceOffset, ...] = ()
        self._committed: tuple[SourceOffset, ...] = ()

    def send(self, batch: SourceBatch) -> None:
        """Send a batch; its offsets may be committed when all its records and all earlier ones are delivered."""
        submitted = self._submitted.submit(batch.size, batch.offsets)
        self._dropped.extend(batch.dropped)
        # Dead letters are delivered before the offsets of their records are committed, as all other records are.
        for each in batch.all_topic_batches:
            tolerated = self._refused is not None and each is not batch.dead_letters
            on_refused = self._refused.callback(submitted, each) if self._refused is not None and tolerated else None
            send_batch(self._producer, each, submitted.ack, self._delivered, on_refused)

    def serve(self) -> None:
        """Run delivery callbacks. Raises the error of a failed delivery: a lost record must not be skipped."""
        self._producer.serve()
        if self._refused is not None:
            self._dropped += self._refused.resend(self._delivered)
        failure = self._producer.delivery_failure()
        if failure is not None:
            raise failure

    def due(self, now: float) -> bool:
        """Return True once per interval."""
        if self._next is None:
            self._next = now + self._interval
        if now < self._next:
            return False
        self._next = now + self._interval
        return True

    def commit(self) -> bool:
        """Write the offsets of what is delivered so far and wait for them; False if there are none, or not yet."""
        self.serve()
        offsets = tuple(self._submitted.take_committable().values())
        self._writer.send(offsets)
        self._awaited += offsets
        if not self._awaited:
            return False
        try:
            self._writer.flush(self._timeout)
        except RetriableError as late:
            self.serve()
            line = f"offsets are not committed yet: {late}; they are with the next commit"
            self._reports.retried(_COMMIT, Stage.COMMITTING, late, line, delay=self._interval)
            return False
        self.serve()
        self._reports.succeeded(_COMMIT)
        self._committed, self._awaited = self._committed + self._awaited, ()
        return True

    @property
    def in_flight(self) -> int:
        """Number of records that are sent and not delivered yet, offset records included."""
        return self._producer.in_flight

    @property
    def is_late(self) -> bool:
        """True if the last commit could not write its offsets in time: they are with the next one."""
        return bool(self._awaited)

    def flush(self) -> None:
        """Wait until all is delivered; RetriableKafkaError past the timeout: what is not committed is read again."""
        if not self._delivered_in_time():
            raise RetriableKafkaError(self._flush_timeout_message())

    def take_committed(self) -> Sequence[SourceOffset]:
        """Return the offsets committed since the last call."""
        taken, self._committed = self._committed, ()
        return taken

    def take_delivered(self) -> tuple[list[WrittenRecords], list[SourceRecord]]:
        """Return the records delivered, and those dropped, since the last call."""
        dropped, self._dropped = self._dropped, []
        return [] if self._delivered is None else self._delivered.take(), dropped

    def close(self) -> None:
        self._producer.close()

    def _delivered_in_time(self) -> bool:
        delivered = self._producer.flush(self._timeout)
        self.serve()
        return delivered

    def _flush_timeout_message(self) -> str:
        return (
            f"{self._submitted.in_flight} records were not delivered within "
            f"offset.flush.timeout.ms = {self._timeout * 1000:g}"
        )
