# SPDX-License-Identifier: Apache-2.0
"""The validation of a SparkFileSource that needs Spark. In the worker."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headrace.api.errors import ConfigError
from headrace.connectors.common.file_system_errors import attribute_file_errors_to
from headrace.connectors.common.spark_reader import PATH, SCHEMA, check_schema, reader, with_spark_errors
from headrace.connectors.spark_files.spark_file_config import DIRECTORY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ANY_SCHEMA: Final = "value STRING"


def check(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Raise ConfigError for columns that are no DDL, unknown formats, and paths that Spark must not read.

    A missing directory is no error, nor is a file system that does not answer now.
    """
    check_schema(spark, settings.get(SCHEMA))
    with tempfile.TemporaryDirectory() as empty:
        known = {SCHEMA: _ANY_SCHEMA, **settings}
        with_spark_errors(settings, lambda: reader(spark, known).load(Path(empty).as_uri()))
    places = json.loads(settings["places"])
    with attribute_file_errors_to(spark, PATH, places[PATH]):
        system = _look_into(spark, places[PATH])
    if directory := places.get(DIRECTORY):
        with attribute_file_errors_to(spark, DIRECTORY, directory):
            other = _path(spark, directory).getFileSystem(_configuration(spark))
        if other.getUri().toString() != system.getUri().toString():
            raise ConfigError.invalid(DIRECTORY, directory, f"files can only be moved where {PATH} is as well")


def _look_into(spark: Any, place: str) -> Any:
    """Return the path's file system, after a look-up of a first file."""
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
