# SPDX-License-Identifier: Apache-2.0
"""Sink records as tables: types, nulls, and where one table ends."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import pyarrow as pa

from headrace.api.arrow_columns import json_text
from headrace.api.record import SinkRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.sink import TopicPartition
from headrace.connectors.spark_sink.record_tables import record_tables

POINT = SchemaBuilder.struct().field("x", Schema.INT32).field("y", Schema.OPTIONAL_FLOAT64).build()
WIDE = (
    SchemaBuilder.struct()
    .field("price", SchemaBuilder.decimal(2).build())
    .field("day", Schema.DATE)
    .field("at", Schema.TIMESTAMP)
    .field("tags", SchemaBuilder.array(Schema.STRING).build())
    .field("counts", SchemaBuilder.map(Schema.STRING, Schema.INT64).build())
    .field("point", POINT)
    .build()
)


def record(offset: int, value: Any, schema: Schema | None = None, **more: Any) -> SinkRecord:
    options = {"topic": "t", "kafka_partition": 0, "key_schema": None, "key": None, "timestamp": None, **more}
    return SinkRecord(value_schema=schema, value=value, kafka_offset=offset, **options)


def test_structs_become_columns_of_their_types() -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, datetime.UTC)
    values = {
        "price": decimal.Decimal("1.25"),
        "day": datetime.date(2026, 1, 2),
        "at": moment,
        "tags": ["a", "b"],
        "counts": {"n": 3},
        "point": Struct(POINT, {"x": 1}),
    }
    ((where, table),) = record_tables([record(7, Struct(WIDE, values), WIDE, key="k", key_schema=Schema.STRING)])
    assert where == TopicPartition("t", 0)
    assert table.column("value").to_pylist() == [
        {**values, "counts": [("n", 3)], "point": {"x": 1, "y": None}},
    ]
    assert table.select(["key", "topic", "partition", "offset", "timestamp"]).to_pylist() == [
        {"key": "k", "topic": "t", "partition": 0, "offset": 7, "timestamp": None}
    ]


def test_values_without_a_schema_become_json() -> None:
    ((_, table),) = record_tables([record(0, {"a": [1, None]}), record(1, None), record(2, 3)])
    assert table.column("value").to_pylist() == ['{"a":[1,null]}', None, "3"]


def test_one_table_for_each_partition_and_type() -> None:
    text = [record(0, "a", Schema.STRING), record(1, None), record(2, "b", Schema.STRING)]
    other = [record(3, 1, Schema.INT64), record(4, None), record(5, "c", Schema.STRING)]
    elsewhere = [record(0, "d", Schema.STRING, kafka_partition=1)]
    tables = record_tables([*text, *elsewhere, *other])
    shown = [(where.partition, table.column("value").to_pylist()) for where, table in tables]
    assert shown == [(0, ["a", None, "b"]), (0, [1, None]), (0, ["c"]), (1, ["d"])]


def test_tombstones_alone_have_no_type() -> None:
    ((_, table),) = record_tables([record(0, None, key=1, key_schema=Schema.INT32)])
    assert table.schema.field("value").type == pa.null()
    assert table.schema.field("key").type == pa.int32()


def test_places_are_those_that_the_records_came_from() -> None:
    renamed = record(5, "a", Schema.STRING, timestamp=9).new_record("other", 3, None, None, Schema.STRING, "b", 9)
    ((where, table),) = record_tables([renamed])
    assert where == TopicPartition("t", 0)
    assert table.drop_columns(["key"]).to_pylist() == [
        {"value": "b", "topic": "t", "partition": 0, "offset": 5, "timestamp": 9}
    ]


def test_what_a_query_has_mixed_up_is_in_order_again() -> None:
    """Records of one offset keep theirs: they are what one record has become."""
    made = [record(5, "b"), record(4, "a"), record(5, "c"), record(6, 1, Schema.INT32), record(4, 2, Schema.INT32)]
    tables = [table for _, table in record_tables(made)]
    assert [table.column("offset").to_pylist() for table in tables] == [[4], [4], [5, 5], [6]]
    assert tables[2].column("value").to_pylist() == ['"b"', '"c"']


def test_data_without_a_schema_that_json_lacks_is_text() -> None:
    moment = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)
    data = {
        "at": moment,
        "there": moment.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        "d": moment.date(),
        "t": moment.time(),
        "n": [decimal.Decimal("1E+3"), None],
        "b": b"\x00\xff",
    }
    assert json.loads(json_text(data)) == {
        "at": "1969-12-31T23:59:59.999999+00:00",
        "there": "1969-12-31T23:59:59.999999+02:00",
        "d": "1969-12-31",
        "t": "23:59:59.999999",
        "n": ["1000", None],
        "b": "AP8=",
    }
