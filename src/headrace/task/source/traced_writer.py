# SPDX-License-Identifier: Apache-2.0
"""Spans of a source task's transactions, from their first record to the end of their commit."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.api.source import WrittenRecords
from headrace.model.ids import ConnectorTaskId
from headrace.task.source.source_batch import OffsetsByKey, SourceOffset
from headrace.task.source.transactional_writer import TransactionWriter
from headrace.task.topic_batch import TopicBatch
from headrace.telemetry.tracing import Attributes, Span, SpanKind, Tracing, traceparents


class TracedTransactionalWriter:
    """A ``TransactionWriter`` in front of another; one thread at a time.

    A span that is sampled is linked with the traces of its records, which keep their header ``traceparent`` in Kafka.
    """

    def __init__(self, writer: TransactionWriter, tracing: Tracing, id: ConnectorTaskId) -> None:
        self._writer = writer
        self._tracing = tracing
        self._about: Attributes = {
            "messaging.system": "kafka",
            "messaging.operation.type": "send",
            "messaging.operation.name": "transaction",
            "headrace.connector": id.connector,
            "headrace.task": id.task,
        }
        self._span: Span | None = None

    def init(self) -> None:
        self._writer.init()

    @property
    def pending(self) -> bool:
        return self._writer.pending

    @property
    def size(self) -> int:
        return self._writer.size

    def write(self, batches: Sequence[TopicBatch], count: int) -> None:
        span = self._begun()
        if span.recording:
            span.link(traceparents(headers for batch in batches for headers in batch.headers or ()))
        self._writer.write(batches, count)

    def add_offsets(self, offsets: OffsetsByKey) -> None:
        self._writer.add_offsets(offsets)

    def commit(self) -> tuple[tuple[SourceOffset, ...], list[WrittenRecords]]:
        self._begun()
        count = self._writer.size
        try:
            committed = self._writer.commit()
        except BaseException as error:
            self._end({"messaging.batch.message_count": count}, type(error).__name__)
            raise
        self._end({"messaging.batch.message_count": count})
        return committed

    def abort(self) -> None:
        self._writer.abort()
        self._end({"headrace.transaction.aborted": True})

    def close(self) -> None:
        self._end({}, "closed")
        self._writer.close()

    def _begun(self) -> Span:
        if self._span is None:
            self._span = self._tracing.begin("transaction", self._about, kind=SpanKind.PRODUCER)
        return self._span

    def _end(self, attributes: Attributes, error_type: str | None = None) -> None:
        span, self._span = self._span, None
        if span is not None:
            span.end(attributes, error_type)
