# SPDX-License-Identifier: Apache-2.0
"""The columns that a target has already, read without Spark: of Parquet and of Delta Lake in a directory here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.connectors.common.spark_reader import JDBC
from headrace.connectors.spark_sink.delta_log import delta_columns
from headrace.connectors.spark_sink.spark_sink_config import DELTA, FILE_FORMATS
from headrace.connectors.spark_sink.spark_types import spark_type

_PARQUET: Final = "parquet"
_READ: Final = (_PARQUET, DELTA)
_SUFFIX: Final = ".parquet"
_LOCAL: Final = re.compile(r"(?:file:(?://)?)?(/.*)")
_MOST_DIRECTORIES: Final = 1000
"""Directories that are looked into, at most."""


@dataclass(frozen=True, slots=True)
class WrittenColumns:
    """Columns with their types in Spark; ``partitions`` are those that directories' names have alone.

    ``place`` is the file that has the columns, or the table.
    """

    place: str
    columns: Mapping[str, str]
    partitions: frozenset[str]


def written_columns(format: str, path: str | None) -> WrittenColumns | None:
    """Return the columns of a target's table, or of one of its files; None if none can be read without Spark."""
    here = _LOCAL.fullmatch(path or "")
    if here is None or format not in _READ:
        return None
    try:
        return _columns_of_table(here[1]) if format == DELTA else _columns_of_file(here[1])
    except (OSError, ValueError, LookupError):  # another process may just remove it
        return None


def _columns_of_table(directory: str) -> WrittenColumns | None:
    columns = delta_columns(directory)
    return None if columns is None else WrittenColumns(directory, columns, frozenset())


def _columns_of_file(directory: str) -> WrittenColumns | None:
    file = _first_file(directory)
    if file is None:
        return None
    # Arrow's part for Parquet takes time to import.
    import pyarrow.parquet as pq

    schema = pq.read_schema(file)
    partitions = {name for name, equals, _ in (each.partition("=") for each in file.split("/")) if equals}
    return WrittenColumns(file, {each.name: spark_type(each.type) for each in schema}, frozenset(partitions))


def not_compared(format: str, path: str | None, table: str | None) -> str | None:
    """Return why the columns of a target are not compared; None for files and tables here, and for databases."""
    if format in _READ and path:
        reason = None if _LOCAL.fullmatch(path) else "without Spark, only files on this machine are read"
    elif format in FILE_FORMATS:
        reason = f"without Spark, the types of columns are read of {_PARQUET} only"
    elif format == JDBC:
        reason = None  # Spark is asked: see ``sink_dry_run``
    else:
        reason = f"only Spark reads the tables of spark.format={format}"
    return reason and f"the columns are not compared with those of {table or path}: {reason}"


def _first_file(directory: str) -> str | None:
    for number, (place, directories, files) in enumerate(os.walk(directory)):
        if number == _MOST_DIRECTORIES:
            return None
        # Spark reads no hidden ones either, and batches that are being written are there.
        directories[:] = sorted(name for name in directories if not name.startswith(("_", ".")))
        for name in sorted(files):
            if name.endswith(_SUFFIX) and not name.startswith(("_", ".")):
                return f"{place}/{name}"
    return None
