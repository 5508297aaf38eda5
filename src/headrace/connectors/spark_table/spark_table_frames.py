# SPDX-License-Identifier: Apache-2.0
"""Frame functions of a SparkTableSource. In the worker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.api.frame_sql import filter_frame
from headrace.connectors.common.growing_columns import spark_text
from headrace.connectors.common.spark_reader import FORMAT, JDBC, SCHEMA, blaming, check_schema, reader, reading
from headrace.connectors.spark_table.spark_table_config import WHERE, TableSettings
from headrace.connectors.spark_table.table_queries import TableQueries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def describe(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """One row: the table's schema, as Spark's JSON."""
    return spark.range(1, numPartitions=1).selectExpr(f"{spark_text(_schema(spark, settings))} AS schema")


def rows(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """The rows that fulfil ``conditions`` and the user's ``where``; the first ``limit`` of them in the ``order`` of
    columns, if there is one.

    Of a database the table is a query that holds all this already.
    """
    found = reading(settings, lambda: _table(spark, settings))
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
    """What a task would find out at its first poll: the table is described, and its first query analysed.

    ``settings`` are the connector's properties. ConfigError for what a user has to change.
    """
    table = TableSettings.of(settings)
    queries = TableQueries(table)
    check_schema(spark, table.parsed[SCHEMA])
    place = queries.place
    with blaming(place, table.parsed[place]):
        schema = _schema(spark, queries.describe().settings)
    columns = queries.columns(schema)
    asked = [queries.rows(columns, split, None, None, 2).settings for split in table.splits]
    doubtful = WHERE if table.parsed[WHERE] else place
    with blaming(doubtful, table.parsed[doubtful]):
        rows(spark, None, asked[0])


def _schema(spark: SparkSession, settings: Mapping[str, str]) -> str:
    schema: str = reading(settings, lambda: _table(spark, settings).schema).json()
    return schema


def _table(spark: SparkSession, settings: Mapping[str, str]) -> DataFrame:
    made = reader(spark, settings)
    if settings[FORMAT] == JDBC:
        return made.option("dbtable", settings["table"]).load()
    return made.table(settings["table"]) if "table" in settings else made.load(settings["path"])
