# SPDX-License-Identifier: Apache-2.0
"""The properties of SparkTableSource, and its settings made of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError
from headrace.api.validators import NonEmptyString, Nullable, Range, Validator, ValidString
from headrace.connectors.common.conflicting_settings import parse_checked
from headrace.connectors.common.incremental_columns import INCREMENTING, TIMESTAMP
from headrace.connectors.common.spark_reader import (
    BATCH_ROWS,
    FORMAT,
    JDBC,
    KEY_COLUMNS,
    OPTIONS,
    PARTITION_COUNT,
    PATH,
    POLL_INTERVAL,
    RETRY_TIMEOUT,
    SCHEMA,
    TOPIC,
)

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
    .define(
        TOPIC,
        Type.STRING,
        importance=Importance.HIGH,
        validator=NonEmptyString(),
        doc="The topic to publish rows to.",
    )
    .define(
        FORMAT,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        validator=NonEmptyString(),
        doc="The format that Spark reads: jdbc, parquet, json, csv, orc, avro, or that of a package in the worker's "
        "spark.jars.packages, such as delta. Its options are given as spark.option.<name>. Not given, table is one of "
        "Spark's catalog.",
    )
    .define(
        SCHEMA,
        Type.STRING,
        None,
        doc="The columns, as Spark's DDL (id BIGINT, region STRING), for formats that do not know them themselves. Not "
        "given, Spark looks at the data before each query.",
    )
    .define(
        TABLE,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        doc="The table to read: for jdbc its name as the database writes it, else one of Spark's catalog.",
    )
    .define(PATH, Type.STRING, None, importance=Importance.HIGH, doc="The directory or file to read, of other formats.")
    .define(
        QUERY,
        Type.STRING,
        None,
        doc="For jdbc: a SELECT in the database's SQL that stands in place of a table.",
    )
    .define(
        WHERE,
        Type.STRING,
        None,
        doc="Which rows to read: a condition, for jdbc in the database's SQL, else in Spark's.",
    )
    .define(
        MODE,
        Type.STRING,
        importance=Importance.HIGH,
        validator=ValidString(*MODES),
        doc="How new rows are told: by a number that grows with each row; by the time of each row's last change; by "
        "both, which is the safest; or not at all: bulk reads the whole table time and again.",
    )
    .define(
        INCREMENTING_COLUMN,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        doc="The column that grows with each row. Rows in which it is null are not read.",
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
        doc="How many milliseconds old a row's timestamp has to be before it is read: as long as a transaction that "
        "writes such rows may last, and as far as clocks may differ.",
    )
    .define(
        TIMESTAMP_ZONE,
        Type.STRING,
        "UTC",
        validator=_Zone(),
        doc="The time zone in which timestamp.column was written, if its type knows of none.",
    )
    .define(
        KEY_COLUMNS,
        Type.LIST,
        "",
        doc="The columns that make the record's key: the value of one, or a struct of several.",
    )
    .define(
        PARTITION_COLUMN,
        Type.STRING,
        None,
        doc="The column by which the table is split among tasks. Each split has a source partition of its own.",
    )
    .define(
        PARTITION_VALUES,
        Type.LIST,
        "",
        doc="The values of partition.column, one split for each. Rows with others are not read.",
    )
    .define(
        PARTITION_COUNT,
        Type.INT,
        "0",
        validator=Nullable(Range.at_least(0)),
        doc="How many splits there are, by the remainder of partition.column, which holds whole numbers.",
    )
    .define(
        BATCH_ROWS,
        Type.INT,
        "10000",
        validator=Nullable(Range.at_least(1)),
        doc="How many rows a poll returns, more or less: rows of the same position come together.",
    )
    .define(
        QUERY_ROWS,
        Type.INT,
        "500000",
        importance=Importance.LOW,
        validator=Nullable(Range.at_least(2)),
        doc="How many rows one query asks for at most.",
    )
    .define(
        POLL_INTERVAL,
        Type.LONG,
        "5000",
        validator=Nullable(Range.at_least(1)),
        doc="How many milliseconds to wait after a query that found the end of the table.",
    )
    .define(
        RETRY_TIMEOUT,
        Type.LONG,
        "300000",
        validator=Nullable(Range.at_least(-1)),
        doc="For how many milliseconds a table that cannot be read now is tried again before the task fails; -1 is "
        "without end.",
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
