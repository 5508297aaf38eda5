# SPDX-License-Identifier: Apache-2.0
"""The properties of SparkTableSource, and its settings made of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError
from headrace.api.validators import Nullable, Range, Validator, ValidString
from headrace.connectors.common.incremental_columns import INCREMENTING, TIMESTAMP
from headrace.connectors.common.spark_config import (
    BATCH_ROWS,
    KEY_COLUMNS,
    PARTITION_COUNT,
    PATH,
    POLL_INTERVAL,
    RETRY_TIMEOUT,
    TOPIC,
    parse_checked,
    shared,
)
from headrace.connectors.common.spark_reader import FORMAT, JDBC, OPTIONS, SCHEMA
from headrace.connectors.spark_table.time_columns import GRANULARITIES, GRANULARITY, LOGICAL

TABLE: Final = "table"
QUERY: Final = "query"
WHERE: Final = "where"
MODE: Final = "mode"
BULK: Final = "bulk"
INCREMENTING_COLUMN: Final = "incrementing.column"
TIMESTAMP_COLUMN: Final = "timestamp.column"
TIMESTAMP_DELAY: Final = "timestamp.delay.ms"
TIMESTAMP_ZONE: Final = "timestamp.zone"
PARTITION_COLUMN: Final = "partition.column"
PARTITION_VALUES: Final = "partition.values"
QUERY_ROWS: Final = "query.max.rows"
MODES: Final = (INCREMENTING, TIMESTAMP, f"{TIMESTAMP}+{INCREMENTING}", BULK)


class _Zone(Validator):
    def ensure_valid(self, name: str, value: Any) -> None:
        try:
            ZoneInfo(value)
        except (ValueError, OSError) as error:
            raise ConfigError.invalid(name, value, "no such time zone; Europe/Berlin is one") from error

    def __str__(self) -> str:
        return "a time zone's name"


CONFIG_DEF: Final = (
    ConfigDef()
    .define_key(shared(TOPIC))
    .define_key(
        shared(
            FORMAT,
            "The format that Spark reads: jdbc, parquet, json, csv, orc, avro, or that of a package in the worker's "
            "spark.jars.packages, such as delta. Its options are given as spark.option.<name>. Without a format, "
            "table is a table of Spark's catalog.",
        )
    )
    .define_key(
        shared(
            SCHEMA,
            "The columns, as Spark's DDL (id BIGINT, region STRING), for formats without a schema. By default Spark "
            "infers them from the data before each query.",
        )
    )
    .define(
        TABLE,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        doc="The table to read: for jdbc its name in the database's syntax, otherwise a table of Spark's catalog.",
    )
    .define_key(shared(PATH, "The directory or file to read, for other formats."))
    .define(
        QUERY,
        Type.STRING,
        None,
        doc="For jdbc: a SELECT in the database's SQL, instead of a table.",
    )
    .define(
        WHERE,
        Type.STRING,
        None,
        doc="A condition for the rows to read: for jdbc in the database's SQL, otherwise in Spark SQL.",
    )
    .define(
        MODE,
        Type.STRING,
        importance=Importance.HIGH,
        validator=ValidString(*MODES),
        doc="How new rows are found: by a number that grows with each row (incrementing); by the time of each row's "
        "last change (timestamp); by both, which is the safest; bulk reads the whole table repeatedly.",
    )
    .define(
        INCREMENTING_COLUMN,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        doc="The column whose value grows with each row. Rows in which it is null are not read.",
    )
    .define(
        TIMESTAMP_COLUMN,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        doc="The column with the time of the last change. Rows in which it is null are not read.",
    )
    .define(
        TIMESTAMP_DELAY,
        Type.LONG,
        "0",
        validator=Nullable(Range.at_least(0)),
        doc="The age in ms that a row's timestamp must have before the row is read: the longest duration of a "
        "transaction that writes such rows, plus the difference between clocks.",
    )
    .define(
        TIMESTAMP_ZONE,
        Type.STRING,
        "UTC",
        validator=_Zone(),
        doc="The time zone of the values of timestamp.column, if its type has none.",
    )
    .define(
        GRANULARITY,
        Type.STRING,
        LOGICAL,
        validator=ValidString(*GRANULARITIES),
        doc="The form of timestamps in records: connect_logical is Connect's Timestamp, which has milliseconds; "
        "micros_long is the number of microseconds since 1970, and micros_iso_datetime_string text with six digits of "
        "a second (2026-01-02T10:00:00.123456Z, without Z for types without a zone).",
    )
    .define_key(shared(KEY_COLUMNS))
    .define(
        PARTITION_COLUMN,
        Type.STRING,
        None,
        doc="The column by which the table is divided into splits for the tasks. Each split has its own source "
        "partition.",
    )
    .define(
        PARTITION_VALUES,
        Type.LIST,
        "",
        doc="The values of partition.column, with one split for each. Rows with other values are not read.",
    )
    .define_key(
        shared(
            PARTITION_COUNT,
            "The number of splits, by the remainder of partition.column, which contains whole numbers.",
        )
    )
    .define_key(
        shared(
            BATCH_ROWS,
            "The approximate number of rows that a poll returns: rows of the same position are in the same batch.",
        )
    )
    .define(
        QUERY_ROWS,
        Type.INT,
        "500000",
        importance=Importance.LOW,
        validator=Nullable(Range.at_least(2)),
        doc="The most rows of one query.",
    )
    .define_key(
        shared(POLL_INTERVAL, "The time in ms before the next query after one that reached the end of the table.")
    )
    .define_key(
        shared(
            RETRY_TIMEOUT,
            "The time in ms for which reading the table is retried before the task fails; -1 is without limit.",
        )
    )
)


@dataclass(frozen=True, slots=True)
class Split:
    """A part of the table with a position of its own; the whole table if both fields are None."""

    value: str | None = None
    remainder: int | None = None

    def label(self, column: str | None, count: int) -> str | None:
        """Its label in the source partition."""
        if self.value is not None:
            return f"{column}={self.value}"
        return None if self.remainder is None else f"{column}%{count}={self.remainder}"


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The checked properties of a connector."""

    parsed: Mapping[str, Any]
    props: Mapping[str, str]

    @staticmethod
    def of(props: Mapping[str, str]) -> TableSettings:
        """Parse properties. Raise ConfigError for missing, invalid or conflicting ones."""
        return TableSettings(parse_checked(CONFIG_DEF, props, lambda values: find_conflicts(values, props)), props)

    @property
    def table(self) -> str:
        """The table's name in the source partition."""
        return str(self.parsed[TABLE] or self.parsed[PATH] or self.parsed[QUERY])

    @property
    def roles(self) -> list[tuple[str, str]]:
        """Roles and names of the incremental columns, in the order of their comparison; none for bulk."""
        names = ((TIMESTAMP, self.parsed[TIMESTAMP_COLUMN]), (INCREMENTING, self.parsed[INCREMENTING_COLUMN]))
        return [(role, name) for role, name in names if role in str(self.parsed[MODE]).split("+")]

    @property
    def splits(self) -> list[Split]:
        if values := self.parsed[PARTITION_VALUES]:
            return [Split(value=value) for value in values]
        if count := self.parsed[PARTITION_COUNT]:
            return [Split(remainder=number) for number in range(count)]
        return [Split()]

    def source_partition(self, split: Split) -> dict[str, str]:
        label = split.label(self.parsed[PARTITION_COLUMN], self.parsed[PARTITION_COUNT])
        return {"table": self.table} | ({} if label is None else {"split": label})


def find_conflicts(parsed: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return conflicting properties: the name of one of them, and the reason."""
    return [*_where_to_read(parsed, props), *_how_it_grows(parsed), *_how_it_is_split(parsed)]


def _where_to_read(parsed: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
    format, given = parsed[FORMAT], [name for name in (TABLE, PATH, QUERY) if parsed[name]]
    possible = (TABLE, QUERY) if format == JDBC else (TABLE,) if format is None else (PATH, TABLE)
    if len(given) != 1 or given[0] not in possible:
        said = f"{FORMAT}={format}" if format else f"a table of Spark's catalog (no {FORMAT})"
        return [(given[-1] if given else possible[0], f"{said} needs {' or '.join(possible)}, and one of them only")]
    if format == JDBC and not props.get(f"{OPTIONS}url", "").startswith("jdbc:"):
        return [(FORMAT, f"jdbc needs the database: {OPTIONS}url=jdbc:postgresql://host/database")]
    taken = [name for name in ("dbtable", "query") if f"{OPTIONS}{name}" in props]
    if format == JDBC and taken:
        return [(FORMAT, f"{OPTIONS}{taken[0]} is given as {TABLE} or {QUERY}")]
    return []


def _how_it_grows(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
    mode = parsed[MODE]
    if mode not in MODES:
        return []  # reported already
    roles = str(mode).split("+")
    columns = {TIMESTAMP: TIMESTAMP_COLUMN, INCREMENTING: INCREMENTING_COLUMN}
    missing = [name for role, name in columns.items() if role in roles and not parsed[name]]
    needless = [name for role, name in columns.items() if role not in roles and parsed[name]]
    return [
        *((name, f"{MODE}={mode} needs it") for name in missing),
        *((name, f"{MODE}={mode} does not look at it") for name in needless),
    ]


def _how_it_is_split(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
    column, values, count = parsed[PARTITION_COLUMN], parsed[PARTITION_VALUES], parsed[PARTITION_COUNT]
    if not column:
        return [
            (name, f"needs {PARTITION_COLUMN}")
            for name, value in ((PARTITION_VALUES, values), (PARTITION_COUNT, count))
            if value
        ]
    if bool(values) == bool(count):
        return [(PARTITION_COLUMN, f"needs {PARTITION_VALUES} or {PARTITION_COUNT}, and one of them only")]
    return []
