# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from headrace.api.arrow import schema_of
from headrace.api.schema import TIME, TIMESTAMP
from headrace.connectors.common.spark_source import row_table
from headrace.connectors.spark_table.time_columns import LOGICAL, for_records, times_of_day

MOMENTS = [datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999), None, datetime.datetime(2300, 1, 2, 3, 4, 5)]
ROWS = pa.table(
    {
        "n": pa.array([1, 2, 3]),
        "plain": pa.array(MOMENTS, pa.timestamp("us")),
        "zoned": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
        "t": pa.array(MOMENTS, pa.timestamp("us")),
    }
)


def test_connects_types_are_the_default() -> None:
    rows = for_records(ROWS, {"t"}, LOGICAL)
    assert rows.select(["n", "plain", "zoned"]) == ROWS.select(["n", "plain", "zoned"])
    assert rows.column("t").to_pylist() == [datetime.time(23, 59, 59, 999_000), None, datetime.time(3, 4, 5)]
    schema = row_table(rows, "topic", ["t"], {}, None).schema
    key, value = schema_of(schema.field("key").type, "key"), schema_of(schema.field("value").type, "value")
    assert key is not None and key.name == TIME
    assert value is not None and [field.schema.name for field in value.fields] == [None, TIMESTAMP, TIMESTAMP, TIME]


@pytest.mark.parametrize(
    ("granularity", "plain", "zoned"),
    [
        ("micros_long", [-1, None, 10413889445000000], [-1, None, 10413889445000000]),
        (
            "micros_iso_datetime_string",
            ["1969-12-31T23:59:59.999999", None, "2300-01-02T03:04:05.000000"],
            ["1969-12-31T23:59:59.999999Z", None, "2300-01-02T03:04:05.000000Z"],
        ),
    ],
)
def test_six_digits_on_request(granularity: str, plain: list[object], zoned: list[object]) -> None:
    rows = for_records(ROWS, {"t"}, granularity)
    assert (rows.column("plain").to_pylist(), rows.column("zoned").to_pylist()) == (plain, zoned)
    assert rows.column("t").type == pa.time32("ms")
    assert for_records(ROWS.slice(0, 0), {"t"}, granularity).schema == rows.schema


def test_the_database_says_which_columns_are_times_of_day() -> None:
    fields = {"t": {"metadata": {"logical_time_type": True}}, "ts": {"metadata": {"scale": 6}}, "n": {}}
    assert times_of_day(fields) == {"t"}
