# SPDX-License-Identifier: Apache-2.0
"""A sink task's batches as lineage and traces observe them."""

from __future__ import annotations

from collections.abc import Collection

from headrace.api.sink import TopicPartition
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.model.ids import ConnectorTaskId
from headrace.task.record_schemas import RecordSchemas
from headrace.task.sink.sink_batch import PutBatches, SinkBatch
from headrace.telemetry.tracing import Attributes, SpanKind, Tracing, traceparents


class ObservedSinkBatches:
    """``PutBatches`` in front of others; it observes, for lineage, what is put. The task's thread only."""

    def __init__(self, batches: PutBatches, schemas: RecordSchemas) -> None:
        self._batches = batches
        self._schemas = schemas

    def convert(self, messages: ConsumedMessages) -> SinkBatch:
        return self._batches.convert(messages)

    def without(self, batch: SinkBatch, partitions: Collection[TopicPartition]) -> SinkBatch:
        return self._batches.without(batch, partitions)

    def transform(self, batch: SinkBatch) -> None:
        self._batches.transform(batch)

    def put(self, batch: SinkBatch) -> None:
        self._schemas.observe(batch.records if batch.table is None else batch.table)
        self._batches.put(batch)

    def close(self) -> None:
        self._batches.close()


class TracedSinkBatches:
    """``PutBatches`` in front of others, with spans of ``put`` that link the records' traces; the task's thread only.

    A batch that is put again has another span. Headers are read only of batches whose span is sampled.
    """

    def __init__(self, batches: PutBatches, tracing: Tracing, id: ConnectorTaskId, group: str) -> None:
        self._batches = batches
        self._tracing = tracing
        self._about: Attributes = {
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.operation.name": "put",
            "messaging.consumer.group.name": group,
            "headrace.connector": id.connector,
            "headrace.task": id.task,
        }
        self._messages: ConsumedMessages | None = None
        """The messages of the newest batch: at most one batch is under way."""

    def convert(self, messages: ConsumedMessages) -> SinkBatch:
        self._messages = messages
        return self._batches.convert(messages)

    def without(self, batch: SinkBatch, partitions: Collection[TopicPartition]) -> SinkBatch:
        return self._batches.without(batch, partitions)

    def transform(self, batch: SinkBatch) -> None:
        self._batches.transform(batch)

    def put(self, batch: SinkBatch) -> None:
        if not batch.size:
            self._batches.put(batch)
            return
        span = self._tracing.begin("put", self._about, kind=SpanKind.CONSUMER)
        if span.recording and self._messages is not None:
            span.link(traceparents(self._messages.headers))
        try:
            self._batches.put(batch)
        except BaseException as error:
            span.end({"messaging.batch.message_count": batch.size}, type(error).__name__)
            raise
        span.end({"messaging.batch.message_count": batch.size})

    def close(self) -> None:
        self._batches.close()
