# SPDX-License-Identifier: Apache-2.0
"""Incremental columns, whose values grow, and a reader's position in them, as source offsets hold it. Pure.

Offsets are JSON. They hold whole numbers as numbers; decimals, moments and text as text, so that each digit is kept:
`{"timestamp": "2026-03-01T12:00:00.123456Z", "incrementing": 17}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from headrace.api.errors import ConfigError, ConnectError
from headrace.connectors.common.jdbc_text import Dialect

if TYPE_CHECKING:
    import pyarrow as pa

INCREMENTING: Final = "incrementing"
TIMESTAMP: Final = "timestamp"
_EPOCH: Final = datetime(1970, 1, 1)
_LEAST: Final = timedelta(microseconds=1)
_SET_BACK: Final = timedelta(minutes=15), 12
"""Clocks are set back at full quarters of an hour, by no more than this number of them."""
_UNITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}


class Kind(Enum):
    """The kind of values of an incremental column; the value is a pattern of their form in offsets."""

    INTEGER = r"-?\d+"
    DECIMAL = r"-?\d+(\.\d+)?"
    TEXT = r"(?s:.*)"
    DATE = r"\d{4}-\d\d-\d\d"
    MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z"
    """An instant, independent of time zones."""
    LOCAL = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?"
    """A local date and time, without a zone."""

    @staticmethod
    def of_spark(column: str, type: object) -> Kind:
        """Return the kind of a type in the JSON of a Spark schema. Raise ConfigError for an unsupported type."""
        name = type if isinstance(type, str) else "struct"
        kind = _KINDS.get(name.partition("(")[0])
        if kind is None:
            raise ConfigError(
                f"Column {column} is of type {name}; a growing column holds whole numbers, decimals, dates, "
                f"timestamps or text"
            )
        return kind

    @property
    def is_time(self) -> bool:
        return self in (Kind.DATE, Kind.MOMENT, Kind.LOCAL)


_KINDS: Final = {
    **dict.fromkeys(("byte", "short", "integer", "long"), Kind.INTEGER),
    "decimal": Kind.DECIMAL,
    **dict.fromkeys(("string", "char", "varchar"), Kind.TEXT),
    "date": Kind.DATE,
    "timestamp": Kind.MOMENT,
    "timestamp_ntz": Kind.LOCAL,
}
Value = int | str
Position = Mapping[str, Value]
"""The values of the incremental columns, by role: the names of their fields in offsets."""


@dataclass(frozen=True, slots=True)
class IncrementalColumn:
    """A column by which new rows are found. `role` is the name of its field in offsets."""

    role: str
    name: str
    kind: Kind

    @property
    def examples(self) -> str:
        """A description of its values, with an example, for messages."""
        return _EXAMPLES[self.kind]

    def checked(self, value: Any) -> Value:
        """Return a value of an offset. Raise ConnectError unless it is a value of this column."""
        wanted = int if self.kind is Kind.INTEGER else str
        if type(value) is not wanted or not re.fullmatch(self.kind.value, str(value)):
            raise ConnectError(
                f"The offset's field '{self.role}' is {value!r}, which is no value of column {self.name}: it holds "
                f"{self.examples}. The offset may stem from another mode or column: reset it, or correct it"
            )
        checked: Value = value
        return checked

    def encoded(self, values: pa.Array, row: int) -> Value:
        """Return a value of the column in its form in offsets, with all its digits."""
        if self.kind in (Kind.MOMENT, Kind.LOCAL):
            return _moment(values, row) + ("Z" if self.kind is Kind.MOMENT else "")
        value = values[row].as_py()
        if self.kind is Kind.INTEGER:
            return int(value)
        if isinstance(value, Decimal):
            return f"{value:f}"
        return value.isoformat() if isinstance(value, date) else str(value)

    def at(self, moment_us: int, zone: ZoneInfo) -> Value:
        """Return microseconds since the epoch as a value of this column, which holds times of `zone`.

        A clock that will soon be set back will show earlier times than now: the earliest of them is returned.
        """
        utc = _EPOCH + timedelta(microseconds=moment_us)
        if self.kind is Kind.MOMENT:
            return utc.isoformat(timespec="microseconds") + "Z"
        local = _earliest(utc, zone)
        return local.date().isoformat() if self.kind is Kind.DATE else local.isoformat(timespec="microseconds")

    def following(self, value: Value) -> Value | None:
        """Return the next timestamp that Spark can distinguish; None for other values, and where there is none.

        A database may have a finer resolution, which Spark truncates: to it, such timestamps are equal.
        """
        if self.kind not in (Kind.MOMENT, Kind.LOCAL):
            return None
        text = str(value)
        try:
            following = datetime.fromisoformat(text.removesuffix("Z")) + _LEAST
        except (OverflowError, ValueError):
            return None
        return following.isoformat(timespec="microseconds") + text[len(text.removesuffix("Z")) :]

    def spark_literal(self, value: Value) -> str:
        """Return a value as a literal of Spark's SQL."""
        match self.kind:
            case Kind.INTEGER:
                return str(value)
            case Kind.DECIMAL:
                return f"{value}BD"
            case Kind.TEXT:
                return spark_text(str(value))
            case Kind.DATE:
                return f"DATE'{value}'"
            case Kind.MOMENT:
                return f"TIMESTAMP_LTZ'{value}'"
            case Kind.LOCAL:
                return f"TIMESTAMP_NTZ'{value}'"

    def jdbc_literal(self, dialect: Dialect, value: Value) -> str:
        """Return a value as a literal of a database's SQL."""
        match self.kind:
            case Kind.INTEGER | Kind.DECIMAL:
                return str(value)
            case Kind.TEXT:
                return dialect.text(str(value))
            case Kind.DATE:
                return f"DATE '{value}'" if dialect.database == "oracle" else f"'{value}'"
            case Kind.MOMENT:
                return dialect.moment(str(value).replace("T", " ").removesuffix("Z") + dialect.utc)
            case Kind.LOCAL:
                return dialect.moment(str(value).replace("T", " "))


_EXAMPLES: Final = {
    Kind.INTEGER: "whole numbers",
    Kind.DECIMAL: 'decimals as text, such as "12.50"',
    Kind.TEXT: "text",
    Kind.DATE: 'dates, such as "2026-03-01"',
    Kind.MOMENT: 'moments in UTC, such as "2026-03-01T12:00:00.123456Z"',
    Kind.LOCAL: 'timestamps without a zone, such as "2026-03-01T12:00:00.123456"',
}


def _earliest(utc: datetime, zone: ZoneInfo) -> datetime:
    """Return the earliest local time that a clock of the zone shows from now on."""
    quarter, count = _SET_BACK
    last = utc - (utc - _EPOCH) % quarter
    moments = (utc, *(last + quarter * number for number in range(1, count + 1)))
    return min(moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None) for moment in moments)


def spark_text(value: str) -> str:
    """Return text as a literal of Spark's SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _moment(values: pa.Array, row: int) -> str:
    """Return a timestamp with all digits of its unit. Python's own times have no nanoseconds."""
    import pyarrow as pa

    digits = _UNITS[values.type.unit]
    count = values[row].cast(pa.int64()).as_py()
    seconds, rest = divmod(count, 10**digits)
    text = (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")
    return f"{text}.{rest:0{digits}}" if digits else text


@dataclass(frozen=True, slots=True)
class SqlFormatter:
    """Formats names and values of columns in the SQL of a `Dialect` or of Spark."""

    name: Callable[[str], str]
    value: Callable[[IncrementalColumn, Value], str]

    @staticmethod
    def spark() -> SqlFormatter:
        return SqlFormatter(lambda name: "`" + name.replace("`", "``") + "`", IncrementalColumn.spark_literal)

    @staticmethod
    def jdbc(dialect: Dialect) -> SqlFormatter:
        return SqlFormatter(dialect.name, lambda column, value: column.jdbc_literal(dialect, value))


def conditions(
    columns: Sequence[IncrementalColumn], after: Position | None, before: Value | None, formatter: SqlFormatter
) -> list[str]:
    """Return the conditions for rows behind a position, in the order of their columns: timestamp first, then number.

    `before` excludes rows whose timestamp is not older. One condition is a plain range of the first column, which an
    index serves. Rows with a null in one of the columns are never read.
    """
    first = columns[0]
    found = [f"{formatter.name(column.name)} IS NOT NULL" for column in (columns if after is None else columns[1:])]
    if after is not None:
        behind = [_behind(column, after[column.role], formatter) for column in columns]
        if len(columns) == 1:
            found.append(behind[0])
        else:
            # Equal to a comparison of tuples, for which not every database uses an index.
            from_here = f"{formatter.name(first.name)} >= {formatter.value(first, after[first.role])}"
            found += [from_here, f"({behind[0]} OR {behind[1]})"]
    if before is not None:
        found.append(f"{formatter.name(first.name)} < {formatter.value(first, before)}")
    return found


def _behind(column: IncrementalColumn, value: Value, formatter: SqlFormatter) -> str:
    following = column.following(value)
    sign, bound = (">", value) if following is None else (">=", following)
    return f"{formatter.name(column.name)} {sign} {formatter.value(column, bound)}"


def position_of(columns: Sequence[IncrementalColumn], offset: Mapping[str, Any] | None) -> Position | None:
    """Return the position of a committed offset, None if there is none. Raise ConnectError if the columns differ."""
    if offset is None:
        return None
    wanted, given = {column.role for column in columns}, {name for name, value in offset.items() if value is not None}
    if given != wanted:
        raise ConnectError(
            f"The offset holds {', '.join(sorted(given)) or 'nothing'}, but this mode needs "
            f"{' and '.join(sorted(wanted))}: reset the offset, or write one that fits"
        )
    return {column.role: column.checked(offset[column.role]) for column in columns}
