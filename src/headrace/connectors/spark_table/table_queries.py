# SPDX-License-Identifier: Apache-2.0
"""The frame jobs of a SparkTableSource. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.errors import ConfigError, ConnectError
from headrace.api.frames import FrameJob
from headrace.api.jdbc_drivers import driver_of
from headrace.connectors.common.incremental_columns import (
    INCREMENTING,
    TIMESTAMP,
    IncrementalColumn,
    Kind,
    Position,
    SqlFormatter,
    Value,
    conditions,
)
from headrace.connectors.common.jdbc_text import Dialect
from headrace.connectors.common.spark_config import KEY_COLUMNS, PARTITION_COUNT, PATH
from headrace.connectors.common.spark_reader import FORMAT, JDBC, OPTIONS, reader_settings
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
from headrace.connectors.spark_table.time_columns import times_of_day

_MODULE: Final = "headrace.connectors.spark_table.spark_table_frames"
_URL: Final = f"{OPTIONS}url"
_SPARKS_DIGITS: Final = 6
_JDBC_DEFAULTS: Final = {
    # Else drivers fetch all rows at once.
    "fetchsize": "10000",
    # A time without a zone, taken as an instant, would be shifted where clocks are set forward.
    "preferTimestampNTZ": "true",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The table's columns that queries depend on."""

    incremental: tuple[IncrementalColumn, ...]
    keys: tuple[str, ...]
    split: IncrementalColumn | None
    """The column of the splits. It need not be incremental; conditions contain its values too."""
    times: frozenset[str] = frozenset()
    """The columns that are times of day in the database."""


class TableQueries:
    """A factory of the jobs that describe the table and read its rows."""

    def __init__(self, settings: TableSettings) -> None:
        self._settings = settings
        parsed, props = settings.parsed, dict(settings.props)
        self._jdbc = parsed[FORMAT] == JDBC
        self._dialect = Dialect.of_url(props.get(_URL, ""))
        if self._jdbc:
            props[_URL] = self._dialect.url(props[_URL])
        self._reader = reader_settings(props, parsed[FORMAT] or "", self._jdbc_defaults(props) if self._jdbc else {})
        self._formatter = SqlFormatter.jdbc(self._dialect) if self._jdbc else SqlFormatter.spark()

    def describe(self) -> FrameJob:
        return FrameJob(f"{_MODULE}:describe", self._reader | self._where(), f"columns of {self._settings.table}")

    def check(self) -> FrameJob:
        """Return the job that checks a connector's configuration. Its result is not used."""
        return FrameJob(f"{_MODULE}:check", dict(self._settings.props), f"table {self._settings.table}")

    @property
    def place(self) -> str:
        """Return the name of the property that names the table."""
        return next(name for name in (TABLE, PATH, QUERY) if self._settings.parsed[name])

    def columns(self, schema: str) -> Columns:
        """Return the columns, from the result of `describe`. Raise ConfigError for missing or unsuitable columns."""
        fields = {field["name"]: field for field in json.loads(schema)["fields"]}
        types = {name: field["type"] for name, field in fields.items()}
        parsed = self._settings.parsed
        incremental = [_growing(role, *_found(types, _PROPERTIES[role], name)) for role, name in self._settings.roles]
        if len(incremental) > 1:
            _refuse_finer(incremental[0], fields[incremental[0].name].get("metadata", {}).get("scale", 0))
        keys = [_found(types, KEY_COLUMNS, name)[0] for name in parsed[KEY_COLUMNS]]
        split = parsed[PARTITION_COLUMN]
        of_split = self._split_column(types, split) if split else None
        return Columns(tuple(incremental), tuple(keys), of_split, times_of_day(fields))

    def rows(
        self, columns: Columns, split: Split, after: Position | None, before: Value | None, limit: int
    ) -> FrameJob:
        """Return the job for rows of a split behind a position, in order; for all rows without incremental columns."""
        where = conditions(columns.incremental, after, before, self._formatter) if columns.incremental else []
        where += self._of_split(columns, split)
        users = self._settings.parsed[WHERE]
        order = [self._formatter.name(column.name) for column in columns.incremental]
        name = f"{_MODULE}:rows"
        label = self._settings.source_partition(split)
        description = f"{self._settings.table} {label.get('split', '')} after {dict(after) if after else 'nothing'}"
        if self._jdbc:
            select = self._select([*where, f"({users})"] if users else where, order, limit)
            return FrameJob(name, {**self._reader, "table": f"({select}) headrace_page"}, description)
        asked = {"conditions": json.dumps(where), "order": json.dumps(order), "limit": str(limit)}
        asked |= {"where": users} if users else {}
        return FrameJob(name, self._reader | self._where() | asked, description)

    def _jdbc_defaults(self, props: Mapping[str, str]) -> dict[str, str]:
        known = driver_of(props[_URL])
        driver = {"driver": known.class_name} if known is not None else {}
        return {**_JDBC_DEFAULTS, **self._dialect.session, **driver}

    def _where(self) -> dict[str, str]:
        """Return the settings that locate the whole table."""
        parsed = self._settings.parsed
        if parsed[PATH]:
            return {"path": parsed[PATH]}
        return {"table": parsed[TABLE] or f"({parsed[QUERY]}) headrace_query"}

    def _select(self, where: Sequence[str], order: Sequence[str], limit: int) -> str:
        select = f"SELECT * FROM {self._where()['table']}"
        if where:
            select += f" WHERE {' AND '.join(where)}"
        return self._dialect.limited(f"{select} ORDER BY {', '.join(order)}", limit) if order else select

    def _split_column(self, types: Mapping[str, Any], name: str) -> IncrementalColumn:
        found, type = _found(types, PARTITION_COLUMN, name)
        column = IncrementalColumn(PARTITION_COLUMN, found, _kind(PARTITION_COLUMN, found, type))
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
        name = self._formatter.name(column.name)
        if split.value is not None:
            return [f"{name} = {self._formatter.value(column, _of_column(column, split.value))}"]
        remainder = self._dialect.remainder(name, count) if self._jdbc else f"ABS({name} % {count})"
        # A null has no remainder, but belongs to one split.
        return [f"({remainder} = 0 OR {name} IS NULL)" if split.remainder == 0 else f"{remainder} = {split.remainder}"]


_PROPERTIES: Final = {INCREMENTING: INCREMENTING_COLUMN, TIMESTAMP: TIMESTAMP_COLUMN}


def _growing(role: str, name: str, type: Any) -> IncrementalColumn:
    column = IncrementalColumn(role, name, _kind(_PROPERTIES[role], name, type))
    if role != INCREMENTING and not column.kind.is_time:
        raise ConfigError.invalid(_PROPERTIES[role], name, f"the column holds no times, but is of type {type}")
    return column


def _of_column(column: IncrementalColumn, text: str) -> Value:
    """Return a value of the column. Raise ConfigError if it is not of its type."""
    try:
        return column.checked(int(text) if column.kind is Kind.INTEGER else text)
    except (ValueError, ConnectError) as error:
        raise ConfigError.invalid(PARTITION_VALUES, text, f"column {column.name} holds {column.examples}") from error


def _refuse_finer(column: IncrementalColumn, digits: int) -> None:
    """Raise ConfigError for timestamps finer than Spark's: the database orders those that Spark takes for equal."""
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
    """Return a column's name in the table's spelling, and its type."""
    if name in types:
        return name, types[name]
    same = [column for column in types if column.lower() == name.lower()]
    if len(same) != 1:
        raise ConfigError.invalid(property, name, f"the table has no such column; it has {', '.join(types)}")
    return same[0], types[same[0]]
