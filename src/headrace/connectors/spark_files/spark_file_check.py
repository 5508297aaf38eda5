# SPDX-License-Identifier: Apache-2.0
"""Finds out what a SparkFileSource's task would only find out when it begins. In the worker."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headrace.api.errors import ConfigError
from headrace.connectors.common.file_system_errors import property_at_fault
from headrace.connectors.common.spark_reader import PATH, SCHEMA, check_schema, reader, reading
from headrace.connectors.spark_files.spark_file_config import DIRECTORY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ANY_SCHEMA: Final = "value STRING"


def check(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """ConfigError for columns that are no DDL, a format that Spark does not have, and places it must not look into.

    That there is nothing yet is nobody's mistake, nor is a file system that does not answer now.
    """
    check_schema(spark, settings.get(SCHEMA))
    with tempfile.TemporaryDirectory() as empty:
        known = {SCHEMA: _ANY_SCHEMA, **settings}
        reading(settings, lambda: reader(spark, known).load(Path(empty).as_uri()))
    places = json.loads(settings["places"])
    with property_at_fault(spark, PATH, places[PATH]):
        system = _look_into(spark, places[PATH])
    if directory := places.get(DIRECTORY):
        with property_at_fault(spark, DIRECTORY, directory):
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
