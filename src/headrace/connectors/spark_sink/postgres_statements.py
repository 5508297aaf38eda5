# SPDX-License-Identifier: Apache-2.0
"""The SQL statements of a SparkSink for PostgreSQL. Pure text; names of tables stay as the user writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

ROW: Final = "headrace_row"
DELETED: Final = "headrace_deleted"
"""Columns of a staging table, beside those of the target: rows that Spark wrote twice share a number."""

_PLACE: Final = "connector = ? AND target = ? AND topic = ? AND kafka_partition = ?"
EXISTS: Final = "SELECT to_regclass(?) IS NOT NULL"
"""Parameter: a table's name."""
STAGING_TABLES: Final = (
    "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema() AND starts_with(tablename, ?)"
)
"""Parameter: the prefix of their names."""
MAY_CREATE: Final = "SELECT has_schema_privilege(current_schema(), 'CREATE')"
MISSING_RIGHTS: Final = (
    "SELECT wanted FROM unnest(string_to_array(?, ',')) wanted WHERE NOT CASE wanted "
    "WHEN 'DELETE' THEN has_table_privilege(?, wanted) ELSE has_any_column_privilege(?, wanted) END"
)
"""Parameters: the required privileges, a table's name, the same again."""


def staging_prefix(connector: str, target: str, topic: str, partition: int) -> str:
    """Return the prefix of all staging tables of one partition."""
    name = "\0".join((connector, target, topic, str(partition)))
    return f"headrace_{hashlib.sha256(name.encode()).hexdigest()[:16]}_"


def identifier(name: str) -> str:
    """Return a column's name, quoted, with its capitals."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class OffsetsTable:
    """The table of the partitions' next offsets. Only the owner of a partition knows its row's number."""

    name: str

    @property
    def create(self) -> str:
        return (
            f"CREATE TABLE IF NOT EXISTS {self.name} (connector text, target text, topic text, kafka_partition int, "
            f"next_offset bigint NOT NULL, number bigint NOT NULL, topic_id text NOT NULL, "
            f"PRIMARY KEY (connector, target, topic, kafka_partition))"
        )

    @property
    def take_over(self) -> str:
        """Parameters: connector, target, topic, partition, id of the topic, target. Returns next offset and new number.

        The offset is 0 if the target table was dropped, or the topic has another id. An empty id is unknown.
        """
        others = "known.topic_id <> EXCLUDED.topic_id AND '' NOT IN (known.topic_id, EXCLUDED.topic_id)"
        return (
            f"INSERT INTO {self.name} AS known VALUES (?, ?, ?, ?, 0, 1, ?) "
            f"ON CONFLICT (connector, target, topic, kafka_partition) DO UPDATE SET number = known.number + 1, "
            f"next_offset = CASE WHEN to_regclass(?) IS NULL OR {others} THEN 0 ELSE known.next_offset END, "
            f"topic_id = CASE EXCLUDED.topic_id WHEN '' THEN known.topic_id ELSE EXCLUDED.topic_id END "
            f"RETURNING next_offset, number"
        )

    @property
    def advance(self) -> str:
        """Parameters: next offset, connector, target, topic, partition, number. No row: another task has taken over."""
        return f"UPDATE {self.name} SET next_offset = ?, number = number + 1 WHERE {_PLACE} AND number = ?"

    @property
    def number(self) -> str:
        """Parameters: connector, target, topic, partition."""
        return f"SELECT number FROM {self.name} WHERE {_PLACE}"

    @property
    def claim(self) -> str:
        """Parameters: a number that no task knows, connector, target, topic, partition."""
        return f"UPDATE {self.name} SET number = ? WHERE {_PLACE}"

    @property
    def rewind(self) -> str:
        """Parameters: the offset to rewind to, connector, target, topic, partition, number. One row, as `advance`."""
        return (
            f"UPDATE {self.name} SET next_offset = least(next_offset, ?), number = number + 1 "
            f"WHERE {_PLACE} AND number = ?"
        )


@dataclass(frozen=True, slots=True)
class Merge:
    """The merge of a staging table into the target: of all rows, or with ``keys`` of the last row of each key."""

    target: str
    staging: str
    columns: Sequence[str]
    keys: Sequence[str] = ()

    @property
    def create_staging(self) -> str:
        """Create a staging table with the target's types. Unlogged: its rows are useless after a crash."""
        return (
            f"CREATE UNLOGGED TABLE {self.staging} AS SELECT {self._columns()}, 0::bigint AS {ROW}, "
            f"false AS {DELETED} FROM {self.target} WHERE false"
        )

    @property
    def create_target(self) -> list[str]:
        """Create the target from a staging table that Spark has created."""
        create = f"CREATE TABLE {self.target} AS SELECT {self._columns()} FROM {self.staging} WHERE false"
        return [create, *([f"ALTER TABLE {self.target} ADD PRIMARY KEY ({_list(self.keys)})"] if self.keys else [])]

    @property
    def merge(self) -> list[str]:
        if not self.keys:
            rows = f"SELECT DISTINCT ON ({ROW}) {self._columns()} FROM {self.staging} ORDER BY {ROW}"
            return [f"INSERT INTO {self.target} ({self._columns()}) {rows}"]
        keys = _list(self.keys)
        latest = f"SELECT DISTINCT ON ({keys}) * FROM {self.staging} ORDER BY {keys}, {ROW} DESC"
        same = " AND ".join(f"old.{key} = new.{key}" for key in map(identifier, self.keys))
        others = [name for name in self.columns if name not in self.keys]
        sets = ", ".join(f"{name} = EXCLUDED.{name}" for name in map(identifier, others))
        return [
            f"DELETE FROM {self.target} old USING ({latest}) new WHERE {same} AND new.{DELETED}",
            f"INSERT INTO {self.target} ({self._columns()}) SELECT {self._columns()} FROM ({latest}) new "
            f"WHERE NOT {DELETED} ON CONFLICT ({keys}) DO {f'UPDATE SET {sets}' if sets else 'NOTHING'}",
        ]

    @property
    def explain_keys(self) -> str:
        """Return a statement without effect that fails if the columns are missing, or are no key."""
        keys = _list(self.keys)
        return (
            f"EXPLAIN INSERT INTO {self.target} ({keys}) SELECT {keys} FROM {self.target} WHERE false "
            f"ON CONFLICT ({keys}) DO NOTHING"
        )

    @property
    def drop_staging(self) -> str:
        return f"DROP TABLE IF EXISTS {self.staging}"

    def _columns(self) -> str:
        return _list(self.columns)


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(identifier, names))
