# SPDX-License-Identifier: Apache-2.0
"""The columns of a table of Delta Lake in a directory of this machine, read from its log without Spark.

Source: Delta's protocol (PROTOCOL.md of delta-io/delta), "Change Metadata", "Checkpoints" and "Schema Serialization
Format". The newest ``metaData`` is the table's: a commit has one only if it changes it, and every checkpoint has one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc

from headrace.connectors.spark_sink.spark_types import column_name

_LOG: Final = "_delta_log"
_FILE: Final = re.compile(r"(\d{20})(\.checkpoint(?:\.[\w-]+)*)?\.(json|parquet)")
_METADATA: Final = "metaData"
_SCHEMA: Final = "schemaString"
_NAMES: Final = {"long": "BIGINT", "integer": "INT", "short": "SMALLINT", "byte": "TINYINT"}
"""Spark's types whose names in JSON are not those of its DDL."""


def delta_columns(directory: str) -> Mapping[str, str] | None:
    """Return names and types of a table's columns, those of its partitions included; None if there is no such table.

    Raise OSError, ValueError or LookupError for a log that cannot be read.
    """
    log = Path(directory, _LOG)
    for file in _newest_first(log) if log.is_dir() else ():
        if (schema := _schema(file)) is not None:
            return {each["name"]: _ddl(each["type"]) for each in json.loads(schema)["fields"]}
    return None


def _newest_first(log: Path) -> Iterator[Path]:
    """Yield the files of each version: its commit, and its checkpoint, which may have several parts."""
    named = [(found[1], file) for file in log.iterdir() if (found := _FILE.fullmatch(file.name))]
    yield from (file for _, file in sorted(named, reverse=True))


def _schema(file: Path) -> str | None:
    """Return the schema that a file has, as JSON; None if it is in another one."""
    if file.suffix == ".json":
        lines = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if _METADATA in line)
        return next((line[_METADATA][_SCHEMA] for line in lines if line.get(_METADATA)), None)
    # Arrow's part for Parquet takes time to import.
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as parquet:
        if _METADATA not in parquet.schema_arrow.names:
            return None  # not every part of a checkpoint has it
        structs = parquet.read([f"{_METADATA}.{_SCHEMA}"]).column(_METADATA)
    return next((text for text in pc.struct_field(structs, _SCHEMA).to_pylist() if text), None)


def _ddl(kind: Any) -> str:
    """Return a type of a schema in JSON as in Spark's DDL."""
    if isinstance(kind, str):
        return _NAMES.get(kind, kind.upper())
    if kind["type"] == "struct":
        fields = (f"{column_name(each['name'])}: {_ddl(each['type'])}" for each in kind["fields"])
        return f"STRUCT<{', '.join(fields)}>"
    if kind["type"] == "map":
        return f"MAP<{_ddl(kind['keyType'])}, {_ddl(kind['valueType'])}>"
    return f"ARRAY<{_ddl(kind['elementType'])}>"
