# SPDX-License-Identifier: Apache-2.0
"""The validation of a SparkSink that needs Spark. In the worker; changes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from headrace.api.errors import ConfigError
from headrace.connectors.common.hadoop_files import attribute_file_errors_to
from headrace.connectors.common.spark_reader import FORMAT, JDBC, attribute_errors_to, with_spark_errors
from headrace.connectors.spark_sink import spark_sink_postgres
from headrace.connectors.spark_sink.sink_frame import partitioned_rows, rows
from headrace.connectors.spark_sink.spark_sink_config import FILE_FORMATS, INCLUDE, PARTITION_BY, PATH, VALUE_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RECORDS: Final = "value STRING, key STRING, topic STRING, partition INT, offset BIGINT, timestamp BIGINT"


def check(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Frame function; ``targets`` are the settings for each topic, without batches, unless topics are not ``known``.

    Raise ConfigError for errors of the configuration.
    """
    targets = json.loads(settings["targets"])
    _check_format(spark, targets[0])
    _check_columns(spark, targets[0], sure=settings["sure"] == "true")
    for target in targets if settings["known"] == "true" else ():
        if target[FORMAT] in FILE_FORMATS:
            with attribute_file_errors_to(spark, PATH, target[PATH]):
                _check_directory(spark, target[PATH])
        elif target[FORMAT] == JDBC:
            spark_sink_postgres.check(spark, target)


def _check_format(spark: Any, settings: Mapping[str, str]) -> None:
    lookup = spark._jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource
    with_spark_errors(settings, lambda: lookup(settings[FORMAT], spark._jsparkSession.sessionState().conf()))


def _check_columns(spark: SparkSession, settings: Mapping[str, str], *, sure: bool) -> None:
    """``sure``: values are text for value.schema; otherwise there may be columns that are not known."""
    records = spark.createDataFrame([], _RECORDS)
    plain = {name: text for name, text in settings.items() if name not in (INCLUDE, PARTITION_BY)} | {INCLUDE: ""}
    with attribute_errors_to(VALUE_SCHEMA, settings.get(VALUE_SCHEMA)):
        rows(records, plain)
    if not (expressions := settings.get(PARTITION_BY)):
        return
    with attribute_errors_to(PARTITION_BY, expressions):
        try:
            partitioned_rows(spark, records, settings)
        except Exception as error:
            kinds = {kind.__name__ for kind in type(error).__mro__}
            if sure or "AnalysisException" not in kinds or "ParseException" in kinds:
                raise


def _check_directory(spark: Any, place: str) -> None:
    """Check a directory, which need not exist yet."""
    path = spark._jvm.org.apache.hadoop.fs.Path(place)
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    path = system.makeQualified(path)
    while not system.exists(path) and path.getParent() is not None:
        path = path.getParent()
    if system.exists(path) and not system.getFileStatus(path).isDirectory():
        raise ConfigError.invalid(PATH, place, f"{path} is no directory")
    if path.toUri().getScheme() != "file":
        system.access(path, spark._jvm.org.apache.hadoop.fs.permission.FsAction.WRITE)
    elif not os.access(unquote(path.toUri().getRawPath()), os.W_OK):
        raise ConfigError.invalid(PATH, place, f"the worker may not write to {path}")
