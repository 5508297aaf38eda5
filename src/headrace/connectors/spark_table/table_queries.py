# SPDX-License-Identifier: Apache-2.0
"""The frame jobs that a SparkTableSource asks for. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.errors import ConfigError, ConnectError
from headrace.api.frames import FrameJob
from headrace.connectors.common.growing_columns import (
    INCREMENTING,
    TIMESTAMP,
    GrowingColumn,
    Kind,
    Position,
    Value,
    Writing,
    conditions,
)
from headrace.connectors.common.jdbc_text import Dialect
from headrace.connectors.common.spark_reader import (
    FORMAT,
    JDBC,
    KEY_COLUMNS,
    OPTIONS,
    PARTITION_COUNT,
    PATH,
    reader_settings,
)
from headrace.connectors.spark_table.spark_table_config import (
    INCREMENTING_COLUMN,
    MODE,
    PARTITION_COLUMN,
    PARTITION_VALUES,
    QUERY,
    TABLE,
    TIMESTAMP_COLUMN,
    WHERE,
    Split,
    TableSettings,
)

_MODULE: Final = "headrace.connectors.spark_table.spark_table_frames"
_URL: Final = f"{OPTIONS}url"
_SPARKS_DIGITS: Final = 6
_JDBC_DEFAULTS: Final = {
    # Else drivers fetch all rows at once.
    "fetchsize": "10000",
    # As a moment, a time without a zone would be bent where clocks are set forward.
    "preferTimestampNTZ": "true",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """What is to be known of the table's columns."""

    growing: tuple[GrowingColumn, ...]
    keys: tuple[str, ...]
    split: GrowingColumn | None
    """Not that it grows; but its values have to be written in conditions as well."""


class TableQueries:
    """Describes the table, then asks for rows of it."""

    def __init__(self, settings: TableSettings) -> None:
        self._settings = settings
        parsed, props = settings.parsed, dict(settings.props)
        self._jdbc = parsed[FORMAT] == JDBC
        self._dialect = Dialect.of_url(props.get(_URL, ""))
        if self._jdbc:
            props[_URL] = self._dialect.url(props[_URL])
        self._reader = reader_settings(props, parsed[FORMAT] or "", self._jdbc_defaults() if self._jdbc else {})
        self._writing = Writing.jdbc(self._dialect) if self._jdbc else Writing.spark()

    def describe(self) -> FrameJob:
        return FrameJob(f"{_MODULE}:describe", self._reader | self._where(), f"columns of {self._settings.table}")

    def check(self) -> FrameJob:
        """Finds out what a task would only find out when it begins. Its result is of no interest."""
        return FrameJob(f"{_MODULE}:check", dict(self._settings.props), f"table {self._settings.table}")

    @property
    def place(self) -> str:
        """The property that says what is read."""
        return next(name for name in (TABLE, PATH, QUERY) if self._settings.parsed[name])

    def columns(self, schema: str) -> Columns:
        """From what `describe` gives. ConfigError for columns that are missing or of a type that does not fit."""
        fields = {field["name"]: field for field in json.loads(schema)["fields"]}
        types = {name: field["type"] for name, field in fields.items()}
        parsed = self._settings.parsed
        growing = [_growing(role, *_found(types, _PROPERTIES[role], name)) for role, name in self._settings.roles]
        if len(growing) > 1:
            _refuse_finer(growing[0], fields[growing[0].name].get("metadata", {}).get("scale", 0))
        keys = [_found(types, KEY_COLUMNS, name)[0] for name in parsed[KEY_COLUMNS]]
        split = parsed[PARTITION_COLUMN]
        return Columns(tuple(growing), tuple(keys), self._split_column(types, split) if split else None)

    def rows(
        self, columns: Columns, split: Split, after: Position | None, before: Value | None, limit: int
    ) -> FrameJob:
        """Rows of a split behind a position, in order; all rows if no columns grow."""
        where = conditions(columns.growing, after, before, self._writing) if columns.growing else []
        where += self._of_split(columns, split)
        users = self._settings.parsed[WHERE]
        order = [self._writing.name(column.name) for column in columns.growing]
        name = f"{_MODULE}:rows"
        label = self._settings.source_partition(split)
        description = f"{self._settings.table} {label.get('split', '')} after {dict(after) if after else 'nothing'}"
        if self._jdbc:
            select = self._select([*where, f"({users})"] if users else where, order, limit)
            return FrameJob(name, {**self._reader, "table": f"({select}) headrace_page"}, description)
        asked = {"conditions": json.dumps(where), "order": json.dumps(order), "limit": str(limit)}
        asked |= {"where": users} if users else {}
        return FrameJob(name, self._reader | self._where() | asked, description)

    def _jdbc_defaults(self) -> dict[str, str]:
        driver = {"driver": self._dialect.driver} if self._dialect.driver else {}
        return {**_JDBC_DEFAULTS, **self._dialect.session, **driver}

    def _where(self) -> dict[str, str]:
        """Where the whole table is."""
        parsed = self._settings.parsed
        if parsed[PATH]:
            return {"path": parsed[PATH]}
        return {"table": parsed[TABLE] or f"({parsed[QUERY]}) headrace_query"}

    def _select(self, where: Sequence[str], order: Sequence[str], limit: int) -> str:
        select = f"SELECT * FROM {self._where()['table']}"
        if where:
            select += f" WHERE {' AND '.join(where)}"
        return self._dialect.limited(f"{select} ORDER BY {', '.join(order)}", limit) if order else select

    def _split_column(self, types: Mapping[str, Any], name: str) -> GrowingColumn:
        found, type = _found(types, PARTITION_COLUMN, name)
        column = GrowingColumn(PARTITION_COLUMN, found, _kind(PARTITION_COLUMN, found, type))
        whole = column.kind is Kind.INTEGER or str(type).endswith(",0)")
        if self._settings.parsed[PARTITION_COUNT] and not whole:
            raise ConfigError.invalid(
                PARTITION_COLUMN, name, f"{PARTITION_COUNT} needs a column of whole numbers, and it is of type {type}"
            )
        return column

    def _of_split(self, columns: Columns, split: Split) -> list[str]:
        column, count = columns.split, self._settings.parsed[PARTITION_COUNT]
        if column is None:
            return []
        name = self._writing.name(column.name)
        if split.value is not None:
            return [f"{name} = {self._writing.value(column, _of_column(column, split.value))}"]
        remainder = self._dialect.remainder(name, count) if self._jdbc else f"ABS({name} % {count})"
        # A null is in none of the remainders, and has to be in one split.
        return [f"({remainder} = 0 OR {name} IS NULL)" if split.remainder == 0 else f"{remainder} = {split.remainder}"]


_PROPERTIES: Final = {INCREMENTING: INCREMENTING_COLUMN, TIMESTAMP: TIMESTAMP_COLUMN}


def _growing(role: str, name: str, type: Any) -> GrowingColumn:
    column = GrowingColumn(role, name, _kind(_PROPERTIES[role], name, type))
    if role != INCREMENTING and not column.kind.is_time:
        raise ConfigError.invalid(_PROPERTIES[role], name, f"the column holds no times, but is of type {type}")
    return column


def _of_column(column: GrowingColumn, text: str) -> Value:
    """A value of the column. ConfigError if it cannot be one."""
    try:
        return column.checked(int(text) if column.kind is Kind.INTEGER else text)
    except (ValueError, ConnectError) as error:
        raise ConfigError.invalid(PARTITION_VALUES, text, f"column {column.name} holds {column.examples}") from error


def _refuse_finer(column: GrowingColumn, digits: int) -> None:
    """Of timestamps that are the same to Spark, the database's order is not that of the second column."""
    if digits > _SPARKS_DIGITS and column.kind is not Kind.DATE:
        raise ConfigError.invalid(
            TIMESTAMP_COLUMN,
            column.name,
            f"its seconds have {digits} digits, of which Spark keeps {_SPARKS_DIGITS}: choose {MODE}={TIMESTAMP}, or a "
            f"{QUERY} that casts the column to fewer digits",
        )


def _kind(property: str, column: str, type: Any) -> Kind:
    try:
        return Kind.of_spark(column, type)
    except ConfigError as error:
        raise ConfigError.invalid(property, column, str(error)) from error


def _found(types: Mapping[str, Any], property: str, name: str) -> tuple[str, Any]:
    """A column as the table writes its name, and its type."""
    if name in types:
        return name, types[name]
    same = [column for column in types if column.lower() == name.lower()]
    if len(same) != 1:
        raise ConfigError.invalid(property, name, f"the table has no such column; it has {', '.join(types)}")
    return same[0], types[same[0]]
