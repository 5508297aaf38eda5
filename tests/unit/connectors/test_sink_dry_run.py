# SPDX-License-Identifier: Apache-2.0
"""SparkSink without Spark: rows, columns and types that it would write, and what differs from files that are there."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import from_arrow_type

from headrace.api.errors import DataError
from headrace.api.record import SinkRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.sink import DryRun
from headrace.connectors.spark_sink.spark_sink import SparkSinkConnector
from headrace.connectors.spark_sink.spark_types import ddl_fields, spark_type

POINT = SchemaBuilder.struct().field("x", Schema.INT32).field("y z", Schema.OPTIONAL_FLOAT64).build()
JDBC = {"spark.format": "jdbc", "table": "rows", "spark.option.url": "jdbc:postgresql://host/db"}
NOT_COMPARED = "the columns are not compared with those of "
UPSERT = {**JDBC, "insert.mode": "upsert", "pk.fields": "id"}


def record(offset: int, value: Any, schema: Schema | None = None, **more: Any) -> SinkRecord:
    options = {"topic": "t", "kafka_partition": 0, "key_schema": None, "key": None, "timestamp": None, **more}
    return SinkRecord(value_schema=schema, value=value, kafka_offset=offset, **options)


def point(offset: int, x: int, **more: Any) -> SinkRecord:
    return record(offset, Struct(POINT, {"x": x}), POINT, **more)


def shown(*records: SinkRecord, **props: str) -> DryRun:
    given = {"name": "c", **({} if "spark.format" in props else {"spark.format": "parquet", "path": "/none"}), **props}
    return SparkSinkConnector().dry_run(given, records)


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string()),
        *(pa.binary(), pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.decimal128(38, 2), pa.null()),
        pa.list_(pa.struct([pa.field("a", pa.int8()), pa.field("b", pa.map_(pa.string(), pa.int64()))])),
    ],
    ids=str,
)
def test_types_are_named_as_spark_names_them(kind: pa.DataType) -> None:
    sparks = from_arrow_type(kind, prefer_timestamp_ntz=True).simpleString()
    assert spark_type(kind).lower().replace(" ", "") == sparks


@pytest.mark.parametrize(
    ("ddl", "fields"),
    [
        ("id BIGINT, r STRING", [("id", "BIGINT"), ("r", "STRING")]),
        (
            "`a, ``b` DECIMAL(10, 2),s STRUCT<x: INT, y: INT>",
            [("a, `b", "DECIMAL(10, 2)"), ("s", "STRUCT<x: INT, y: INT>")],
        ),
        ("id INT COMMENT 'a, b', n: INT", [("id", "INT COMMENT 'a, b'"), ("n", "INT")]),
        ("struct<id: INT>", [("id", "INT")]),
        ("ARRAY<INT>", None),
        ("STRING", None),
    ],
)
def test_fields_of_a_ddl(ddl: str, fields: list[tuple[str, str]] | None) -> None:
    assert ddl_fields(ddl) == fields


def test_fields_of_a_struct_are_columns_beside_the_metadata() -> None:
    first = point(3, 1, timestamp=1_700_000_000_001)
    nothing = record(4, None, key="k", key_schema=Schema.STRING)
    found = shown(first, nothing, **{"include.columns": "offset,timestamp,key", "behavior.on.null.values": "write"})
    assert found.schema == "x INT, `y z` DOUBLE, kafka_offset BIGINT, kafka_timestamp TIMESTAMP, kafka_key STRING"
    moment = datetime.datetime(2023, 11, 14, 22, 13, 20, 1000, datetime.UTC)
    assert found.rows == [
        {"x": 1, "y z": None, "kafka_offset": 3, "kafka_timestamp": moment, "kafka_key": None},
        {"x": None, "y z": None, "kafka_offset": 4, "kafka_timestamp": None, "kafka_key": "k"},
    ]
    assert found.notes == ()
    assert shown(nothing, **{"behavior.on.null.values": "ignore"}) == DryRun([])


def test_values_without_a_schema_are_json_or_columns_of_value_schema() -> None:
    records = [record(0, {"id": 1, "more": 2}), record(1, {"r": "b"})]
    plain = shown(*records)
    assert (plain.schema, plain.rows[0]) == ("value STRING", {"value": '{"id":1,"more":2}'})
    parsed = shown(*records, **{"value.schema": "id BIGINT, r STRING", "partition.by": "upper(r) AS region"})
    assert parsed.schema == "id BIGINT, r STRING"
    assert parsed.rows == [{"id": 1, "r": None}, {"id": None, "r": "b"}]
    assert [note.partition(",")[0] for note in parsed.notes] == [
        "Spark converts values to the types of value.schema when it writes; here they are as in the JSON",
        "Spark adds the columns of partition.by=upper(r) AS region",
    ]
    assert shown(record(0, "", Schema.STRING), **{"value.schema": "id BIGINT"}).rows == [{"id": None}]
    for bad in ("no json", "12", "[1]"):
        with pytest.raises(DataError, match="The value at offset 7 of t-0 is no JSON that fits"):
            shown(record(7, bad, Schema.STRING), **{"value.schema": "id BIGINT"})


def test_an_upsert_keeps_the_last_row_of_each_key() -> None:
    id_key = SchemaBuilder.struct().field("id", Schema.INT64).build()

    def keyed(offset: int, id: int, x: int | None) -> SinkRecord:
        key = {"key_schema": id_key, "key": Struct(id_key, {"id": id})}
        return record(offset, None, **key) if x is None else point(offset, x, **key)

    found = shown(keyed(0, 1, 10), keyed(1, 2, 20), keyed(2, 1, 11), keyed(3, 2, None), **UPSERT)
    assert found.schema == "x INT, `y z` DOUBLE, id BIGINT"
    assert found.rows == [{"x": 11, "y z": None, "id": 1}]
    assert found.notes == ('the row of this key is deleted: {"id": 2}',)
    (check,) = found.checks
    there = pa.table({"name": ["x", "y z", "old"], "type": ["BIGINT", "STRING", "DATE"]})
    assert list(check.notes(there)) == [
        "`y z` is DOUBLE, and STRING in rows",
        "rows has no column id BIGINT",
        "rows has the column old DATE, which these records have not",
    ]
    with pytest.raises(DataError, match="Records have no keys"):
        shown(point(0, 1), **UPSERT)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ({"spark.format": "delta", "table": "l.t"}, "l.t: only Spark reads the tables of spark.format=delta"),
        (
            {"spark.format": "delta", "path": "s3a://b/t"},
            "s3a://b/t: without Spark, only files on this machine are read",
        ),
        ({"spark.format": "iceberg", "table": "l.t"}, "l.t: only Spark reads the tables of spark.format=iceberg"),
        ({"spark.format": "csv", "path": "/d"}, "/d: without Spark, the types of columns are read of parquet only"),
        (
            {"spark.format": "parquet", "path": "s3a://b/t"},
            "s3a://b/t: without Spark, only files on this machine are read",
        ),
    ],
)
def test_targets_whose_columns_are_not_compared(target: dict[str, str], reason: str) -> None:
    assert shown(point(0, 1), **target).notes == (NOT_COMPARED + reason,)


def test_what_differs_from_files_that_are_there(tmp_path: Path) -> None:
    hidden, visible = tmp_path / "_headrace" / "part-0.parquet", tmp_path / "day=1" / "part-1.parquet"
    for file, table in (
        (hidden, pa.table({"hidden": [1]})),
        (visible, pa.table({"x": pa.array([1], pa.int64()), "old": ["a"]})),
    ):
        file.parent.mkdir()
        pq.write_table(table, file)
    value = SchemaBuilder.struct().field("x", Schema.INT32).field("day", Schema.INT32).field("new", Schema.STRING)
    schema = value.build()
    made = record(0, Struct(schema, {"x": 1, "day": 1, "new": "n"}), schema)
    for path in (str(tmp_path), f"file://{tmp_path}"):
        assert shown(made, path=path, **{"spark.format": "parquet"}).notes == (
            f"x is INT, and BIGINT in {visible}",
            f"{visible} has no column new STRING",
            f"{visible} has the column old STRING, which these records have not",
        )
    visible.write_bytes(b"")
    assert shown(made, path=str(tmp_path), **{"spark.format": "parquet"}).notes == ()


def test_what_differs_from_a_table_of_delta_lake(tmp_path: Path) -> None:
    made = point(0, 1)
    assert shown(made, path=str(tmp_path), **{"spark.format": "delta"}).notes == ()
    fields = [{"name": name, "type": kind, "nullable": True} for name, kind in (("x", "long"), ("day", "date"))]
    action = {"metaData": {"schemaString": json.dumps({"type": "struct", "fields": fields})}}
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text(json.dumps(action))
    for path in (str(tmp_path), f"file://{tmp_path}"):
        assert shown(made, path=path, **{"spark.format": "delta"}).notes == (
            f"x is INT, and BIGINT in {tmp_path}",
            f"{tmp_path} has no column `y z` DOUBLE",
            f"{tmp_path} has the column day DATE, which these records have not",
        )
    (log / f"{1:020}.json").write_text('{"metaData": ')
    assert shown(made, path=str(tmp_path), **{"spark.format": "delta"}).notes == ()


def test_topics_with_targets_of_their_own() -> None:
    found = shown(point(0, 1), point(0, 2, topic="u"), path="/out/${topic}", **{"spark.format": "parquet"})
    assert found.schema == "/out/t: x INT, `y z` DOUBLE; /out/u: x INT, `y z` DOUBLE"
