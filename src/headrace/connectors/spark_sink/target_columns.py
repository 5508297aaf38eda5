# SPDX-License-Identifier: Apache-2.0
"""The columns of a database's table, which Spark reads for a preview, compared with those of records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from headrace.api.frames import FrameJob
from headrace.api.jdbc_drivers import driver_of
from headrace.api.jdbc_urls import check_jdbc
from headrace.connectors.common.spark_reader import JDBC, with_spark_errors
from headrace.connectors.spark_sink.spark_sink_config import TABLE
from headrace.connectors.spark_sink.spark_types import column_name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_WIDER: Final = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")
"""Numbers: a column takes those of its own type, and those before it."""
_ROWS: Final = "name STRING, type STRING"


def columns_job(job: Mapping[str, str]) -> FrameJob:
    """Return the job that reads the names and types of a table's columns; ``job`` is the settings of a write."""
    return FrameJob(f"{__name__}:read_columns", job, f"the columns of {job[TABLE]}")


def read_columns(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Frame function: ask the database for the table's columns, and for none of its rows."""
    given = json.loads(settings["options"])
    known = driver_of(given.get("url", ""))
    # Java finds no driver of ``spark.jars`` that is not named.
    named = {} if known is None else {"driver": known.class_name}
    options = {**named, **given, "dbtable": settings[TABLE]}
    check_jdbc(spark, options)
    table = with_spark_errors(settings, lambda: spark.read.format(JDBC).options(**options).load())
    fields = [(field.name(), field.dataType().sql()) for field in table._jdf.schema().fields()]
    return spark.createDataFrame(fields, _ROWS)


def differences(written: Mapping[str, str], found: pa.Table, target: str) -> Iterator[str]:
    """Yield what differs between columns to write, by their types, and the result of ``columns_job``."""
    there = dict(zip(found.column("name").to_pylist(), found.column("type").to_pylist(), strict=True))
    for name, kind in written.items():
        if name not in there:
            yield f"{target} has no column {column_name(name)} {kind}"
        elif not _fits(kind, there[name]):
            yield f"{column_name(name)} is {kind}, and {there[name]} in {target}"
    for name in (name for name in there if name not in written):
        yield f"{target} has the column {column_name(name)} {there[name]}, which these records have not"


def _fits(kind: str, column: str) -> bool:
    if kind in _WIDER and column in _WIDER:
        return _WIDER.index(kind) <= _WIDER.index(column)
    return kind in (column, "VOID")
