# SPDX-License-Identifier: Apache-2.0
"""Frame functions of a SparkFileSource. In the worker."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headrace.api.errors import ConfigError
from headrace.api.frame_sql import check_frame
from headrace.api.protected_files import ensure_writable
from headrace.connectors.common.hadoop_files import HadoopFiles, attribute_file_errors_to
from headrace.connectors.common.incremental_columns import spark_text
from headrace.connectors.common.spark_config import PATH
from headrace.connectors.common.spark_reader import SCHEMA, check_schema, reader, with_spark_errors
from headrace.connectors.spark_files.file_columns import expressions
from headrace.connectors.spark_files.spark_file_config import DIRECTORY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROW: Final = "headrace_row"
"""The column with a row's number in its file."""
PATH_NOT_FOUND: Final = "PATH_NOT_FOUND"
_LISTING_OPTIONS: Final = frozenset({"pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter"})
_LISTED: Final = ("path", "unix_millis(modificationTime) AS modified", "length AS size")
_ONE_PIECE: Final = {"spark.sql.files.maxPartitionBytes": str(1 << 62), "spark.sql.files.minPartitionNum": "1"}
"""A file is read from its start to its end by one Spark task, so that its rows have numbers."""
_ANY_SCHEMA: Final = "value STRING"


def listing(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Return all files below the path; none if it does not exist."""
    options = {name: value for name, value in _options(settings).items() if name.lower() in _LISTING_OPTIONS}
    try:
        found = spark.read.format("binaryFile").options(**options).load(settings["path"])
    except Exception as error:
        if PATH_NOT_FOUND not in str(error):
            raise
        return spark.range(0).selectExpr("'' AS path", "0L AS modified", "0L AS size")
    return found.selectExpr(*_LISTED)


def columns(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Return one row: name and type of a file's columns, as JSON."""
    found = json.dumps(_columns(with_spark_errors(settings, lambda: _file(spark, settings))))
    return spark.range(1, numPartitions=1).selectExpr(f"{spark_text(found)} AS columns")


def rows(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Return a file's rows from number ``row`` on, with the wanted columns and their numbers."""
    for name, value in _ONE_PIECE.items():
        spark.conf.set(name, value)
    found = with_spark_errors(settings, lambda: _file(spark, settings))
    wanted = json.loads(settings["columns"]) if "columns" in settings else _columns(found)
    # Within one partition these numbers are 0, 1, 2 and so on; the task checks that.
    numbered = found.selectExpr(*expressions(wanted, _columns(found)), f"monotonically_increasing_id() AS {ROW}")
    # Types hold names of a file's fields, and expressions hold types.
    check_frame(numbered)
    return numbered.where(f"{ROW} >= {settings['row']}")


def clean(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Delete files, or move them, replacing files of their names. Missing ones were cleaned before.

    Raise RetriableError for a failure of the file system, ConfigError for the worker's own files.
    """
    moves = json.loads(settings["files"])
    files = HadoopFiles(spark, next(iter(moves)))
    for source, target in moves.items():
        ensure_writable(PATH, source, uri=True)
        if target:
            ensure_writable(DIRECTORY, target, uri=True)
            files.move(source, target)
        else:
            files.delete(source)


def _file(spark: SparkSession, settings: Mapping[str, str]) -> DataFrame:
    return reader(spark, settings).load(_literal(settings["path"]))


def _columns(frame: DataFrame) -> list[list[str]]:
    return [[each.name, each.dataType.simpleString()] for each in frame.schema.fields]


def _options(settings: Mapping[str, str]) -> dict[str, str]:
    options: dict[str, str] = json.loads(settings["options"])
    return options


def _literal(path: str) -> str:
    """Return a pattern that matches a path literally."""
    return "".join(f"\\{char}" if char in "\\{}[]*?" else char for char in path)


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
