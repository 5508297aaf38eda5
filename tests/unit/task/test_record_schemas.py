# SPDX-License-Identifier: Apache-2.0
"""Schemas of records, by topic, as lineage gets them."""

from __future__ import annotations

import pyarrow as pa

from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.task.record_schemas import RecordSchemas
from headrace.task.task_protocol import SchemasSeen

ORDER = SchemaBuilder.struct().field("id", Schema.INT32).field("at", Schema.TIMESTAMP).build()
FIELDS = (("id", "int32"), ("at", "org.apache.kafka.connect.data.Timestamp"))


def record(topic: str, schema: object = ORDER) -> SourceRecord:
    value = Struct(ORDER) if schema is ORDER else "text"
    return SourceRecord(None, None, topic, value=value, value_schema=schema)  # type: ignore[arg-type]


def test_records_are_looked_at_every_few_seconds_and_reported_if_they_are_new():
    now, reported = [0.0], list[SchemasSeen]()
    schemas = RecordSchemas(reported.append, lambda: now[0])
    schemas.observe([])
    schemas.observe([record("a"), record("plain", Schema.STRING), record("none", None)])
    schemas.observe([record("b")])
    assert reported == [SchemasSeen({"a": FIELDS})]
    now[0] = 5.0
    schemas.observe([record("a")])
    now[0] = 10.0
    schemas.observe([record("b")])
    assert reported[1:] == [SchemasSeen({"a": FIELDS, "b": FIELDS})]


def test_structs_of_arrow_tables():
    reported = list[SchemasSeen]()
    schemas = RecordSchemas(reported.append, lambda: 0.0)
    values = pa.array([{"id": 1, "name": "x"}], pa.struct([("id", pa.int64()), ("name", pa.string())]))
    schemas.observe(pa.table({"value": values, "topic": pa.array(["t"])}))
    assert reported == [SchemasSeen({"t": (("id", "int64"), ("name", "string"))})]
    reported.clear()
    RecordSchemas(reported.append, lambda: 0.0).observe(pa.table({"value": ["x"], "topic": ["t"]}))
    assert reported == []
