# SPDX-License-Identifier: Apache-2.0
"""The columns of files that a target has already, read without Spark: of Parquet in a directory of this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from headrace.connectors.common.spark_reader import JDBC
from headrace.connectors.spark_sink.spark_sink_config import FILE_FORMATS
from headrace.connectors.spark_sink.spark_types import spark_type

_FORMAT: Final = "parquet"
_SUFFIX: Final = ".parquet"
_LOCAL: Final = re.compile(r"(?:file:(?://)?)?(/.*)")
_MOST_DIRECTORIES: Final = 1000
"""Directories that are looked into, at most."""


@dataclass(frozen=True, slots=True)
class WrittenColumns:
    """A file's columns with their types in Spark; ``partitions`` are those that directories' names have."""

    file: str
    columns: Mapping[str, str]
    partitions: frozenset[str]


def written_columns(format: str, path: str | None) -> WrittenColumns | None:
    """Return the columns of one file of a target; None if there is none that can be read without Spark."""
    place = _LOCAL.fullmatch(path or "")
    file = _first_file(place[1]) if format == _FORMAT and place else None
    if file is None:
        return None
    # Arrow's part for Parquet takes time to import.
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(file)
    except (OSError, pa.ArrowInvalid):  # another process may just remove it
        return None
    partitions = {name for name, equals, _ in (each.partition("=") for each in file.split("/")) if equals}
    return WrittenColumns(file, {each.name: spark_type(each.type) for each in schema}, frozenset(partitions))


def not_compared(format: str, path: str | None, table: str | None) -> str | None:
    """Return why the columns of a target are not compared; None for files here, and for databases."""
    if format == _FORMAT:
        reason = None if _LOCAL.fullmatch(path or "") else "without Spark, only files on this machine are read"
    elif format in FILE_FORMATS:
        reason = f"without Spark, the types of columns are read of {_FORMAT} only"
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
