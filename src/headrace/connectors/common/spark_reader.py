# SPDX-License-Identifier: Apache-2.0
"""Reading with any of Spark's formats: the properties and, in the worker, the conversion of Spark's errors."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, TypeVar

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.api.jdbc_urls import check_jdbc
from headrace.connectors.common.jdbc_connection import database_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader, SparkSession

T = TypeVar("T")

FORMAT: Final = "spark.format"
OPTIONS: Final = "spark.option."
SCHEMA: Final = "spark.schema"
JDBC: Final = "jdbc"
_UNKNOWN_FORMAT: Final = ("DATA_SOURCE_NOT_FOUND", "Failed to find the data source", "Failed to find data source")
_REFUSALS: Final = ("AnalysisException", "ParseException", "IllegalArgumentException")
_PROVIDERS: Final = {"avro": "org.apache.spark.sql.avro.AvroFileFormat"}
_FORMATS: Final = ("jdbc", "parquet", "json", "csv", "text", "orc", "avro", "xml", "binaryFile")
_PACKAGES: Final = {
    "avro": "org.apache.spark:spark-avro_2.13:{spark}",
    "delta": "io.delta:delta-spark_{minor}_2.13:<a version of Delta Lake>",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13:<a version of Iceberg>",
    "hudi": "org.apache.hudi:hudi-spark{minor}-bundle_2.13:<a version of Hudi>",
    "mongodb": "org.mongodb.spark:mongo-spark-connector_2.13:<a version for this Spark>",
    "cassandra": "com.datastax.spark:spark-cassandra-connector_2.13:<a version for this Spark>",
    "excel": "dev.mauch:spark-excel_2.13:<a version for this Spark>",
}


def provider(format: str) -> str:
    """Return the name of a format for Spark: the class of one whose short name only a package defines."""
    return _PROVIDERS.get(format.lower(), format)


def spark_options(props: Mapping[str, str]) -> dict[str, str]:
    """Return a connector's options for Spark's reader, without their prefix."""
    return {name.removeprefix(OPTIONS): value for name, value in props.items() if name.startswith(OPTIONS)}


def reader_settings(props: Mapping[str, str], format: str, defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a frame job that `reader` needs; `defaults` are options that a user may override."""
    given = spark_options(props)
    known = {name.lower() for name in given}
    options = {**{name: value for name, value in defaults.items() if name.lower() not in known}, **given}
    schema = {SCHEMA: props[SCHEMA]} if props.get(SCHEMA) else {}
    return {FORMAT: format, "options": json.dumps(options), **schema}


def reader(spark: SparkSession, settings: Mapping[str, str]) -> DataFrameReader:
    """Return a configured reader of Spark. Raise ConfigError for a database that the worker does not allow."""
    options = json.loads(settings["options"])
    check_jdbc(spark, options)
    made = spark.read.options(**options)
    if settings[FORMAT]:
        made = made.format(provider(settings[FORMAT]))
    return made.schema(settings[SCHEMA]) if SCHEMA in settings else made


def with_spark_errors(settings: Mapping[str, str], action: Callable[[], T]) -> T:
    """Return the result of `action`, with Spark's errors converted.

    Raise ConfigError for a format or driver that Spark does not have, RetriableError for a database that does not
    answer now. Other errors stay as Spark raises them.
    """
    try:
        return action()
    except Exception as error:
        known = _understood(error, settings[FORMAT])
        if known is None:
            raise
        raise known from error


@contextmanager
def attribute_errors_to(property: str, value: object) -> Iterator[None]:
    """Raise ConfigError of ``property`` for what Spark refuses within, unless it names another property."""
    try:
        yield
    except Exception as error:
        if not _refused(error) or (isinstance(error, ConfigError) and error.name is not None):
            raise
        # Spark appends its plan.
        reason = " ".join(str(error).partition(";\n")[0].split())
        raise ConfigError.invalid(property, value, reason) from error


def _refused(error: Exception) -> bool:
    """Return True if the error is permanent."""
    if isinstance(error, ConnectError):
        return not isinstance(error, RetriableError)
    # By their names: connectors do not import pyspark.
    return any(each.__name__ in _REFUSALS for each in type(error).__mro__)


def check_schema(spark: SparkSession, ddl: str | None) -> None:
    """Raise ConfigError for columns that Spark cannot read; None is valid."""
    if ddl:
        with attribute_errors_to(SCHEMA, ddl):
            spark.read.schema(ddl)


def _understood(error: Exception, format: str) -> ConnectError | None:
    if isinstance(error, ConnectError):
        return None
    message = str(error)
    if any(text in message for text in _UNKNOWN_FORMAT):
        return ConfigError.invalid(FORMAT, format, f"Spark has no such format; {_format_remedy(format)}")
    of_java = hasattr(error, "java_exception") or getattr(error, "_origin", None) is not None
    return database_error(error) if format.lower() == JDBC and of_java else None


def _format_remedy(format: str) -> str:
    near = difflib.get_close_matches(format, (*_FORMATS, *_PACKAGES), 1)
    package = _PACKAGES.get(format.lower().rpartition(".")[2])
    if near and package is None:
        return f"did you mean '{near[0]}'?"
    spark = version("pyspark")
    named = (package or "").format(spark=spark, minor=spark.rpartition(".")[0])
    hint = f"such as {named}" if named else "which its documentation names"
    return f"add its package to the worker's spark.jars.packages, {hint}"
