# SPDX-License-Identifier: Apache-2.0
"""Frame functions of a SparkTableSource. In the worker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.api.frame_sql import filter_frame
from headrace.connectors.common.incremental_columns import spark_text
from headrace.connectors.common.spark_reader import (
    FORMAT,
    JDBC,
    SCHEMA,
    attribute_errors_to,
    check_schema,
    reader,
    with_spark_errors,
)
from headrace.connectors.spark_table.spark_table_config import WHERE, TableSettings
from headrace.connectors.spark_table.table_queries import TableQueries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def describe(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Return one row: the table's schema, as Spark's JSON."""
    return spark.range(1, numPartitions=1).selectExpr(f"{spark_text(_schema(spark, settings))} AS schema")


def rows(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Return the rows that satisfy ``conditions`` and the user's ``where``.

    With an ``order`` of columns they are the first ``limit`` rows in it. The table of a database is a query that
    includes all this already.
    """
    found = with_spark_errors(settings, lambda: _table(spark, settings))
    for condition in json.loads(settings.get("conditions", "[]")):
        found = found.where(condition)
    if "where" in settings:
        found = filter_frame(found, settings["where"])
    order = json.loads(settings.get("order", "[]"))
    if not order:
        return found
    # One partition that is sorted on disk, where memory does not hold it; a sort of all would keep a query's rows in
    # memory.
    return found.repartition(1).sortWithinPartitions(*order).limit(int(settings["limit"]))


def check(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Check for the errors of a task's first poll: describe the table, and analyse the first query.

    ``settings`` are the connector's properties. Raise ConfigError for errors that a user has to correct.
    """
    table = TableSettings.of(settings)
    queries = TableQueries(table)
    check_schema(spark, table.parsed[SCHEMA])
    place = queries.place
    with attribute_errors_to(place, table.parsed[place]):
        schema = _schema(spark, queries.describe().settings)
    columns = queries.columns(schema)
    asked = [queries.rows(columns, split, None, None, 2).settings for split in table.splits]
    doubtful = WHERE if table.parsed[WHERE] else place
    with attribute_errors_to(doubtful, table.parsed[doubtful]):
        rows(spark, None, asked[0])


def _schema(spark: SparkSession, settings: Mapping[str, str]) -> str:
    schema: str = with_spark_errors(settings, lambda: _table(spark, settings).schema).json()
    return schema


def _table(spark: SparkSession, settings: Mapping[str, str]) -> DataFrame:
    made = reader(spark, settings)
    if settings[FORMAT] == JDBC:
        return made.option("dbtable", settings["table"]).load()
    return made.table(settings["table"]) if "table" in settings else made.load(settings["path"])
