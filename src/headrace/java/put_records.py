# SPDX-License-Identifier: Apache-2.0
"""Records as a Java sink task is given them: each one knows the record that was consumed.

In Java that is what ``InternalSinkRecord`` is for, which passes it on to records that are made of it, and tasks rely on
it: Debezium's JDBC sink keeps offsets of such records only. For any other record its ``preCommit`` returns the offset
behind a batch that it has failed to write (invariant 9).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

from headrace.api.record import SinkRecord
from headrace.java.jvm import java_class, jpype
from headrace.java.records import java_sink_record, python_sink_record

_RUNTIME: Final = "org.apache.kafka.connect.runtime"


class _PutBatch:
    """The records of one ``put``, as Java's records hold them."""

    def __init__(self, records: Sequence[SinkRecord]) -> None:
        self.records = records

    def get(self) -> None:
        """Have the interface that Java knows the batch by."""


def java_put_records(records: Sequence[SinkRecord]) -> list[Any]:
    """Return records of Java's for ``put``. What they hold in place of key and value is the batch and their place."""
    types = _types()
    batch = jpype().JProxy(types.supplier, inst=_PutBatch(records), convert=True)
    put = []
    for place, record in enumerate(records):
        java = java_sink_record(record)
        where = record.original_topic, record.original_kafka_partition or 0, record.original_kafka_offset
        put.append(types.internal(types.context(types.consumed(*where, batch, types.integer(place))), java))
    return put


def put_record(java: Any) -> SinkRecord:
    """Return the record that was put. One that the task has made by itself is converted, as in Java."""
    if isinstance(java, _types().internal):
        origin = java.context().original()
        batch: _PutBatch = origin.key()
        return batch.records[int(origin.value())]
    return python_sink_record(java)


@functools.cache
def _types() -> SimpleNamespace:
    return SimpleNamespace(
        consumed=java_class("org.apache.kafka.clients.consumer.ConsumerRecord"),
        context=java_class(f"{_RUNTIME}.errors.ProcessingContext"),
        integer=java_class("java.lang.Integer"),
        internal=java_class(f"{_RUNTIME}.InternalSinkRecord"),
        supplier=java_class("java.util.function.Supplier"),
    )
