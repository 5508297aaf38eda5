# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
import decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.api.arrow import constant, last_offsets, schema_of, tables_by_topic, validate_table
from headrace.api.arrow_records import table_to_records
from headrace.api.errors import DataError
from headrace.api.headers import Headers
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder

PARTITION_TYPE = pa.struct([("file", pa.string())])


def offsets(*positions: int | None) -> pa.Array:
    kind = pa.struct([("position", pa.int64())])
    return pa.array([None if p is None else {"position": p} for p in positions], kind)


def lines(*values: str | None, **columns: Any) -> pa.Table:
    given = {"value": pa.array(values, pa.string()), "topic": constant("t", len(values))} | columns
    return pa.table(given)


def two_files() -> pa.Table:
    files = pa.array([{"file": f} for f in "abab"], PARTITION_TYPE)
    return lines("1", "2", "3", "4", source_partition=files, source_offset=offsets(1, 1, 2, None))


def test_rows_become_records() -> None:
    table = lines(
        "x", None,
        key=pa.array([1, 2], pa.int64()),
        partition=pa.array([0, None], pa.int32()),
        timestamp=pa.array([5, None], pa.int64()),
        headers=pa.array([[("h", "1")], None], pa.map_(pa.string(), pa.string())),
        source_partition=constant({"file": "a"}, 2),
        source_offset=offsets(1, 2),
    )  # fmt: skip
    assert table_to_records(table) == [
        SourceRecord(
            {"file": "a"}, {"position": 1}, "t", 0, Schema.INT64, 1, Schema.STRING, "x", 5,
            Headers().add_string("h", "1"),
        ),
        SourceRecord({"file": "a"}, {"position": 2}, "t", None, Schema.INT64, 2),
    ]  # fmt: skip


def test_rows_without_offsets_become_records() -> None:
    assert table_to_records(lines("x")) == [SourceRecord(None, None, "t", None, None, None, Schema.STRING, "x")]
    assert table_to_records(lines()) == []


def test_the_last_offset_of_each_source_partition_counts() -> None:
    expected = [({"file": "a"}, {"position": 2}), ({"file": "b"}, None)]
    table = two_files()
    assert last_offsets(table) == expected
    assert last_offsets(pa.concat_tables([table.slice(0, 1), table.slice(1)])) == expected
    assert last_offsets(table.slice(0, 3)) == [({"file": "b"}, {"position": 1}), ({"file": "a"}, {"position": 2})]
    assert last_offsets(lines("x")) == []


def test_the_last_offset_of_encoded_source_partitions() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 3, 4], pa.int32()), pa.array([{"file": f} for f in "aba"], PARTITION_TYPE)
    )
    table = lines("1", "2", "3", "4", source_partition=runs, source_offset=offsets(1, 2, 3, 4))
    assert last_offsets(table) == [({"file": "b"}, {"position": 3}), ({"file": "a"}, {"position": 4})]
    assert last_offsets(table.slice(1, 2)) == [({"file": "a"}, {"position": 2}), ({"file": "b"}, {"position": 3})]
    files = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None]), pa.array([{"file": "a"}, {"file": "b"}]))
    table = lines("1", "2", "3", "4", source_partition=files, source_offset=offsets(1, 2, 3, 4))
    assert last_offsets(table) == [({"file": "b"}, {"position": 2}), ({"file": "a"}, {"position": 3})]


@pytest.mark.parametrize("encode", [lambda a: a, lambda a: a.dictionary_encode(), pc.run_end_encode])
def test_tables_by_topic(encode: Any) -> None:
    table = lines("1", "2", "3", topic=encode(pa.array(["a", "b", "a"])), partition=constant(1, 3, pa.int32()))
    found = {topic: rows.column("value").to_pylist() for topic, rows in tables_by_topic(table)}
    assert found == {"a": ["1", "3"], "b": ["2"]}
    [(topic, rows)] = tables_by_topic(table.slice(1, 1))
    assert (topic, rows.column("partition").to_pylist()) == ("b", [1])


def test_timestamps_of_any_unit_become_milliseconds() -> None:
    for unit, given in (("s", 2), ("ms", 2000), ("us", 2_000_999), ("ns", 2_000_999_999)):
        column = pa.array([given, None], pa.timestamp(unit, "UTC"))
        [(_, rows)] = tables_by_topic(lines("x", "y", timestamp=column))
        assert rows.column("timestamp").to_pylist() == [2000, None]
    before = pa.array([-1], pa.timestamp("us"))
    assert table_to_records(lines("x", timestamp=before))[0].timestamp == -1


def test_nested_values_become_structs() -> None:
    kind = pa.struct(
        [pa.field("n", pa.int32(), False), ("tags", pa.list_(pa.string())), ("m", pa.map_(pa.string(), pa.float64()))]
    )
    value = {"n": 1, "tags": ["a", None], "m": [("k", 0.5)]}
    table = pa.table({"topic": ["t"], "value": pa.array([value], kind)})
    [record] = table_to_records(table)
    schema = (
        SchemaBuilder.struct()
        .field("n", Schema.INT32)
        .field("tags", SchemaBuilder.array(Schema.OPTIONAL_STRING).optional().build())
        .field("m", SchemaBuilder.map(Schema.STRING, Schema.OPTIONAL_FLOAT64).optional().build())
        .build()
    )
    assert record.value_schema == schema
    assert record.value == Struct(schema, {"n": 1, "tags": ["a", None], "m": {"k": 0.5}})


@pytest.mark.parametrize(
    "kind, schema, value",
    [
        (pa.uint8(), Schema.INT16, 255),
        (pa.uint32(), Schema.INT64, 2**32 - 1),
        (pa.float32(), Schema.FLOAT32, 0.5),
        (pa.bool_(), Schema.BOOLEAN, True),
        (pa.large_binary(), Schema.BYTES, b"x"),
        (pa.decimal128(10, 2), SchemaBuilder.decimal(2).build(), decimal.Decimal("1.50")),
        (pa.date32(), Schema.DATE, datetime.date(2024, 1, 2)),
        (pa.time64("us"), Schema.TIME, datetime.time(1, 2, 3)),
        (pa.timestamp("us", "UTC"), Schema.TIMESTAMP, datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)),
    ],
)
def test_arrow_types_have_connect_schemas(kind: pa.DataType, schema: Schema, value: Any) -> None:
    assert schema_of(kind, "value") == schema
    [record] = table_to_records(pa.table({"topic": ["t"], "value": pa.array([value], kind)}))
    assert (record.value_schema, record.value) == (schema, value)
    schema.validate_value(record.value)


@pytest.mark.parametrize(
    "table, message",
    [
        (pa.table({"topic": ["t"]}), "'value' is missing"),
        (pa.table({"value": ["v"]}), "'topic' is missing"),
        (lines("v", topic=pa.array([None], pa.string())), "'topic' of a polled Arrow table holds a null"),
        (lines("v", topic=constant(None, 1, pa.string())), "'topic' of a polled Arrow table holds a null"),
        (lines("v", valeu=pa.array([1])), "'valeu' of a polled Arrow table is not known"),
        (lines("v", partition=pa.array([1], pa.int64())), "'partition' of a polled Arrow table must be int32"),
        (lines("v", timestamp=pa.array(["x"])), "'timestamp' of a polled Arrow table must be int64 or timestamp"),
        (lines("v", headers=pa.array(["x"])), "'headers' of a polled Arrow table must be a map"),
        (lines("v", source_offset=offsets(1)), "must come together"),
        (lines("v", source_offset=offsets(1), source_partition=pa.array(["x"])), "'source_partition' .* a struct"),
        (pa.table({"topic": ["t"], "value": pa.array([1], pa.uint64())}), "'value' .* uint64"),
        (pa.table({"topic": ["t"], "value": pa.array([{"a": 1}], pa.struct([("a", pa.uint64())]))}), "'value.a'"),
    ],
)
def test_errors_name_the_column(table: pa.Table, message: str) -> None:
    with pytest.raises(DataError, match=message):
        validate_table(table)
