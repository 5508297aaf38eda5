# SPDX-License-Identifier: Apache-2.0
"""Columns whose values grow, and the place that a reader has reached in them, as source offsets hold it. Pure.

Offsets are JSON. Whole numbers stand in them as they are; decimals, moments and text as text, so that each digit is
kept: `{"timestamp": "2026-03-01T12:00:00.123456Z", "incrementing": 17}`.
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
"""Clocks are set back at full quarters of an hour, by no more than so many of them."""
_UNITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}


class Kind(Enum):
    """What a growing column holds; the value is a pattern of what stands in offsets."""

    INTEGER = r"-?\d+"
    DECIMAL = r"-?\d+(\.\d+)?"
    TEXT = r"(?s:.*)"
    DATE = r"\d{4}-\d\d-\d\d"
    MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z"
    """A moment, wherever one is."""
    LOCAL = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?"
    """What a clock and a calendar show, without a zone."""

    @staticmethod
    def of_spark(column: str, type: object) -> Kind:
        """By the type that the JSON of a schema of Spark's names. ConfigError for one whose values cannot be kept."""
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
"""The values of the growing columns, by role: that of their fields in offsets."""


@dataclass(frozen=True, slots=True)
class GrowingColumn:
    """`role` is the name of its field in offsets."""

    role: str
    name: str
    kind: Kind

    @property
    def examples(self) -> str:
        """What it holds, in a user's words."""
        return _EXAMPLES[self.kind]

    def checked(self, value: Any) -> Value:
        """A value of an offset. ConnectError unless it is one of this column's."""
        wanted = int if self.kind is Kind.INTEGER else str
        if type(value) is not wanted or not re.fullmatch(self.kind.value, str(value)):
            raise ConnectError(
                f"The offset's field '{self.role}' is {value!r}, which is no value of column {self.name}: it holds "
                f"{self.examples}. The offset may stem from another mode or column: reset it, or correct it"
            )
        checked: Value = value
        return checked

    def encoded(self, values: pa.Array, row: int) -> Value:
        """A value of the column as it stands in offsets, with all its digits."""
        if self.kind in (Kind.MOMENT, Kind.LOCAL):
            return _moment(values, row) + ("Z" if self.kind is Kind.MOMENT else "")
        value = values[row].as_py()
        if self.kind is Kind.INTEGER:
            return int(value)
        if isinstance(value, Decimal):
            return f"{value:f}"
        return value.isoformat() if isinstance(value, date) else str(value)

    def at(self, moment_us: int, zone: ZoneInfo) -> Value:
        """Microseconds since the epoch as a value of this column, which holds times; `zone` is what its clock shows.

        A clock that will soon be set back will show earlier times than now: the earliest of them is given.
        """
        utc = _EPOCH + timedelta(microseconds=moment_us)
        if self.kind is Kind.MOMENT:
            return utc.isoformat(timespec="microseconds") + "Z"
        local = _earliest(utc, zone)
        return local.date().isoformat() if self.kind is Kind.DATE else local.isoformat(timespec="microseconds")

    def following(self, value: Value) -> Value | None:
        """Of a timestamp the next one that Spark can tell from it; None for other values, and where there is none.

        A database may know finer ones, which Spark cuts off: with what it gives, they all are one.
        """
        if self.kind not in (Kind.MOMENT, Kind.LOCAL):
            return None
        text = str(value)
        try:
            following = datetime.fromisoformat(text.removesuffix("Z")) + _LEAST
        except (OverflowError, ValueError):
            return None
        return following.isoformat(timespec="microseconds") + text[len(text.removesuffix("Z")) :]

    def of_spark(self, value: Value) -> str:
        """A value as a literal of Spark's SQL."""
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

    def of_jdbc(self, dialect: Dialect, value: Value) -> str:
        """A value as a literal of a database's SQL."""
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
    """What a clock shows that shows the least from now on."""
    quarter, count = _SET_BACK
    last = utc - (utc - _EPOCH) % quarter
    moments = (utc, *(last + quarter * number for number in range(1, count + 1)))
    return min(moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None) for moment in moments)


def spark_text(value: str) -> str:
    """Text as a literal of Spark's SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _moment(values: pa.Array, row: int) -> str:
    """A timestamp with as many digits as its unit has. Python's own times know no nanoseconds."""
    import pyarrow as pa

    digits = _UNITS[values.type.unit]
    count = values[row].cast(pa.int64()).as_py()
    seconds, rest = divmod(count, 10**digits)
    text = (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")
    return f"{text}.{rest:0{digits}}" if digits else text


@dataclass(frozen=True, slots=True)
class Writing:
    """How names and values of columns are written: `Dialect`'s or Spark's way."""

    name: Callable[[str], str]
    value: Callable[[GrowingColumn, Value], str]

    @staticmethod
    def spark() -> Writing:
        return Writing(lambda name: "`" + name.replace("`", "``") + "`", GrowingColumn.of_spark)

    @staticmethod
    def jdbc(dialect: Dialect) -> Writing:
        return Writing(dialect.name, lambda column, value: column.of_jdbc(dialect, value))


def conditions(
    columns: Sequence[GrowingColumn], after: Position | None, before: Value | None, writing: Writing
) -> list[str]:
    """What the rows behind a position fulfil, in the order of their columns: timestamp first, then number.

    `before` keeps rows out whose timestamp is not older. There is a plain range of the first column, which an index
    serves. Rows with a null in one of the columns are never read.
    """
    first = columns[0]
    found = [f"{writing.name(column.name)} IS NOT NULL" for column in (columns if after is None else columns[1:])]
    if after is not None:
        behind = [_behind(column, after[column.role], writing) for column in columns]
        if len(columns) == 1:
            found.append(behind[0])
        else:
            # The same as a comparison of tuples, which not every database can look up in an index.
            from_here = f"{writing.name(first.name)} >= {writing.value(first, after[first.role])}"
            found += [from_here, f"({behind[0]} OR {behind[1]})"]
    if before is not None:
        found.append(f"{writing.name(first.name)} < {writing.value(first, before)}")
    return found


def _behind(column: GrowingColumn, value: Value, writing: Writing) -> str:
    following = column.following(value)
    sign, bound = (">", value) if following is None else (">=", following)
    return f"{writing.name(column.name)} {sign} {writing.value(column, bound)}"


def position_of(columns: Sequence[GrowingColumn], offset: Mapping[str, Any] | None) -> Position | None:
    """The position of a committed offset; None where there is none. ConnectError if these columns do not fit it."""
    if offset is None:
        return None
    wanted, given = {column.role for column in columns}, {name for name, value in offset.items() if value is not None}
    if given != wanted:
        raise ConnectError(
            f"The offset holds {', '.join(sorted(given)) or 'nothing'}, but this mode needs "
            f"{' and '.join(sorted(wanted))}: reset the offset, or write one that fits"
        )
    return {column.role: column.checked(offset[column.role]) for column in columns}
