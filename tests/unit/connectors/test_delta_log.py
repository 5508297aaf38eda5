# SPDX-License-Identifier: Apache-2.0
"""Columns of a table of Delta Lake, from commits and checkpoints as Delta's protocol describes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.connectors.spark_sink.delta_log import delta_columns


def metadata(**columns: Any) -> dict[str, Any]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return {"id": "1", "partitionColumns": [], "schemaString": json.dumps({"type": "struct", "fields": fields})}


def commit(table: Path, version: int, *actions: dict[str, Any]) -> None:
    log = table / "_delta_log"
    log.mkdir(exist_ok=True)
    (log / f"{version:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))


def checkpoint(table: Path, version: int, part: str, found: dict[str, Any] | None) -> None:
    """Write a part of a checkpoint: a row for each action, each of which has a column."""
    adds = pa.array([{"path": "a.parquet"}, None], pa.struct([("path", pa.string())]))
    kind = pa.struct([("id", pa.string()), ("partitionColumns", pa.list_(pa.string())), ("schemaString", pa.string())])
    columns = {"add": adds, "metaData": pa.array([None, found], kind)}
    pq.write_table(pa.table(columns), table / "_delta_log" / f"{version:020}.checkpoint{part}.parquet")


ADD = {"add": {"path": "metaData.parquet"}}


def test_the_newest_metadata_is_the_tables(tmp_path: Path) -> None:
    assert delta_columns(str(tmp_path)) is None
    commit(tmp_path, 0, {"protocol": {}}, {"metaData": metadata(id="long")}, ADD)
    commit(tmp_path, 1, ADD)
    assert delta_columns(str(tmp_path)) == {"id": "BIGINT"}
    commit(tmp_path, 2, {"commitInfo": {}}, {"metaData": metadata(id="long", name="string")})
    commit(tmp_path, 10, ADD)
    (tmp_path / "_delta_log" / f"{11:020}.json.tmp").write_text("no commit")
    (tmp_path / "_delta_log" / "_last_checkpoint").write_text("{}")
    assert delta_columns(str(tmp_path)) == {"id": "BIGINT", "name": "STRING"}


@pytest.mark.parametrize("parts", [("",), (".0000000001.0000000002", ".0000000002.0000000002"), (".3f0a-91bc",)])
def test_commits_before_a_checkpoint_may_be_gone(tmp_path: Path, parts: tuple[str, ...]) -> None:
    commit(tmp_path, 21, ADD)
    for part in parts:
        checkpoint(tmp_path, 20, part, metadata(id="integer") if part == parts[0] else None)
    checkpoint(tmp_path, 10, "", metadata(former="integer"))
    assert delta_columns(str(tmp_path)) == {"id": "INT"}
    commit(tmp_path, 22, {"metaData": metadata(id="short")})
    assert delta_columns(str(tmp_path)) == {"id": "SMALLINT"}


def test_types_are_named_as_in_ddl(tmp_path: Path) -> None:
    struct = {"type": "struct", "fields": [{"name": "a b", "type": "byte"}, {"name": "c", "type": "timestamp_ntz"}]}
    array = {"type": "array", "elementType": struct, "containsNull": True}
    map = {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}
    commit(tmp_path, 0, {"metaData": metadata(d="decimal(10,2)", t="timestamp", list=array, map=map)})
    assert delta_columns(str(tmp_path)) == {
        "d": "DECIMAL(10,2)",
        "t": "TIMESTAMP",
        "list": "ARRAY<STRUCT<`a b`: TINYINT, c: TIMESTAMP_NTZ>>",
        "map": "MAP<STRING, DOUBLE>",
    }
