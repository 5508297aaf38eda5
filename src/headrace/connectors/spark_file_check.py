# SPDX-License-Identifier: Apache-2.0
"""Finds out what a SparkFileSource's task would only find out when it begins. In the worker."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headrace.api.errors import ConfigError
from headrace.connectors.spark_file_config import DIRECTORY
from headrace.connectors.spark_reader import PATH, SCHEMA, blaming, check_schema, reader, reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ANY_SCHEMA: Final = "value STRING"
_UNKNOWN: Final = ("UnsupportedFileSystemException", "ClassNotFoundException")
_REFUSED: Final = ("AccessControlException", "AccessDeniedException", "URISyntaxException", "UnknownStoreException")
_PACKAGES: Final = {
    "s3a": "org.apache.hadoop:hadoop-aws:{hadoop}",
    "abfs": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "abfss": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "gs": "com.google.cloud.bigdataoss:gcs-connector:<a version for Hadoop {hadoop}>",
}


def check(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """ConfigError for columns that are no DDL, a format that Spark does not have, and places it must not look into.

    That there is nothing yet is nobody's mistake, nor is a file system that does not answer now.
    """
    check_schema(spark, settings.get(SCHEMA))
    with tempfile.TemporaryDirectory() as empty:
        known = {SCHEMA: _ANY_SCHEMA, **settings}
        reading(settings, lambda: reader(spark, known).load(Path(empty).as_uri()))
    places = json.loads(settings["places"])
    with judging(spark, PATH, places[PATH]):
        system = _look_into(spark, places[PATH])
    if directory := places.get(DIRECTORY):
        with judging(spark, DIRECTORY, directory):
            other = _path(spark, directory).getFileSystem(_configuration(spark))
        if other.getUri().toString() != system.getUri().toString():
            raise ConfigError.invalid(DIRECTORY, directory, f"files can only be moved where {PATH} is as well")


def _look_into(spark: Any, place: str) -> Any:
    """The file system, which has been asked for a first file."""
    path = _path(spark, place)
    system = path.getFileSystem(_configuration(spark))
    for status in system.globStatus(path) or ():
        if status.isDirectory():
            system.listStatusIterator(status.getPath()).hasNext()
            break
    return system


def _path(spark: Any, place: str) -> Any:
    return spark._jvm.org.apache.hadoop.fs.Path(place)


def _configuration(spark: Any) -> Any:
    return spark._jsc.hadoopConfiguration()


@contextmanager
def judging(spark: Any, property: str, place: str) -> Iterator[None]:
    """What lasts is told of the property. All else is passed over by who runs this: the task has patience."""
    try:
        with blaming(property, place):
            yield
    except ConfigError:
        raise
    except Exception as error:
        told = str(error)
        if any(name in told for name in _UNKNOWN):
            scheme = place.partition(":")[0]
            package = _PACKAGES.get(scheme, "which its documentation names")
            hadoop = spark._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
            raise ConfigError.invalid(
                property,
                place,
                f"Hadoop has no file system for {scheme}; add its package to the worker's spark.jars.packages, such "
                f"as {package.format(hadoop=hadoop)}",
            ) from error
        if any(name in told for name in _REFUSED):
            raise ConfigError.invalid(property, place, " ".join(_message(error).split())) from error
        raise


def _message(error: Any) -> str:
    java = getattr(error, "java_exception", None)
    return str(error) if java is None else str(java.toString())
