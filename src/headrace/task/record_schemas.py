# SPDX-License-Identifier: Apache-2.0
"""The schemas of the records that a task writes to Kafka, or that a sink puts, by topic, for lineage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from headrace.api.datasets import Fields
from headrace.api.record import SinkRecord, SourceRecord
from headrace.api.schema import Schema, Type
from headrace.task.task_protocol import SchemasSeen

if TYPE_CHECKING:
    import pyarrow as pa

_INTERVAL: Final = 5.0
_SAMPLES: Final = 16
"""Records of a batch that are looked at."""
Records = Sequence[SourceRecord] | Sequence[SinkRecord]


class RecordSchemas:
    """Looks at a few records of a batch every few seconds, and reports new schemas. Task's thread only."""

    def __init__(self, report: Callable[[SchemasSeen], None], clock: Callable[[], float]) -> None:
        self._report = report
        self._clock = clock
        self._next = 0.0
        self._known: dict[str, Fields] = {}

    def observe(self, batch: Records | pa.Table) -> None:
        """Look at a batch behind all transformations; most calls only compare the time."""
        now = self._clock()
        if now < self._next or not len(batch):
            return
        self._next = now + _INTERVAL
        found = dict(_of_records(batch) if isinstance(batch, Sequence) else _of_table(batch))
        if not found.items() <= self._known.items():
            self._known |= found
            self._report(SchemasSeen(dict(self._known)))


def _of_records(records: Records) -> Iterator[tuple[str, Fields]]:
    for record in records[:: max(1, len(records) // _SAMPLES)]:
        schema = record.value_schema
        if schema is not None and schema.type is Type.STRUCT:
            yield record.topic, tuple((field.name, _type(field.schema)) for field in schema.fields)


def _type(schema: Schema) -> str:
    return schema.name or schema.type.name.lower()


def _of_table(table: pa.Table) -> Iterator[tuple[str, Fields]]:
    from headrace.api.arrow import TOPIC, VALUE

    value = table.schema.field(VALUE).type
    if hasattr(value, "value_type"):
        value = value.value_type
    if not _is_struct(value):
        return
    fields = tuple((value.field(each).name, str(value.field(each).type)) for each in range(value.num_fields))
    for topic in {table.column(TOPIC)[row].as_py() for row in (0, table.num_rows - 1)}:
        yield topic, fields


def _is_struct(type: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_struct(type))
