# SPDX-License-Identifier: Apache-2.0
"""What SparkSql makes of its properties. Queries are run in tests/integration/test_spark_sql.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.api import ConfigError, ConnectError, Schema, SourceRecord
from headrace.transforms.data_frame_function import DataFrameFunction
from headrace.transforms.spark_sql import SparkSql


def configured(**more: str) -> SparkSql:
    step = SparkSql()
    step.configure({"query": " SELECT 1 ", **{name.replace("_", "."): value for name, value in more.items()}})
    return step


def tables(**more: str) -> Any:
    return json.loads(configured(**more).job().settings["tables"])


def test_the_job_has_all_that_it_depends_on() -> None:
    step = configured(value_schema="a INT ", functions="m:f")
    wanted = {"query": "SELECT 1", "tables": "{}", "value.schema": "a INT", "functions": "m:f"}
    assert dict(step.job().settings) == wanted
    assert step.functions() == {"functions": "m:f"}
    assert configured().functions() == {}


def test_a_long_query_is_reported_in_short() -> None:
    assert configured(query="SELECT\n  1").job().description == "SELECT 1"
    assert len(configured(query="SELECT " + "x" * 200).job().description) == 61


def test_reference_tables() -> None:
    found = tables(table_rates="format:csv, path:/a/b.csv,header:true", table_rates_schema="a INT, b STRING")
    assert found == {"rates": {"format": "csv", "path": "/a/b.csv", "header": "true", "schema": "a INT, b STRING"}}
    assert tables(table_r="format:jdbc,url:jdbc:postgresql://h:1/d")["r"]["url"] == "jdbc:postgresql://h:1/d"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"query": "  "}, "query"),
        ({"table_t": "csv"}, "must be like format:csv"),
        ({"table_t": "path:/x"}, "must name a format"),
        ({"table_t": "format:csv", "table_t_reload_interval_ms": "soon"}, "must be a number of milliseconds"),
        ({"table_records": "format:csv"}, "'records' is the batch"),
        ({"table_t_schema": "a INT"}, "table.t is missing"),
    ],
)
def test_properties_that_cannot_be(properties: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        configured(**properties)


def test_it_takes_no_single_records() -> None:
    with pytest.raises(ConnectError, match="transforms batches"):
        configured().apply(SourceRecord(None, None, "t", None, None, None, Schema.STRING, "v"))


def test_a_function_is_checked_where_the_type_of_values_is_known() -> None:
    step = DataFrameFunction.of("my_module", "clean")()
    step.configure({})
    assert step.check() is None
    assert step.job().settings == {"function": "my_module:clean"}
    step.configure({"value.schema": "INT"})
    check = step.check()
    assert check is not None and check.settings["value.schema"] == "INT"
