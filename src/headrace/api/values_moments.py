# SPDX-License-Identifier: Apache-2.0
"""Dates, times of day and timestamps for `headrace.api.values`: their text, and conversions between them.

Java has one class for all three, and reads and writes them in the time zone of its process; here they have different
Python types, and the zone is UTC.
"""

from __future__ import annotations

import datetime
import re
from typing import Any, Final

from headrace.api.converter import SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.logical import MILLIS_PER_DAY, from_logical, to_logical
from headrace.api.schema import DATE, TIME, TIMESTAMP, Schema
from headrace.api.values_numbers import as_long, wrapped

_EPOCH: Final = datetime.date(1970, 1, 1)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_GREGORIAN_FROM: Final = datetime.date(1582, 10, 15).toordinal()
# A field of Java's SimpleDateFormat: blanks, then as many digits as come, also below zero.
_FIELD: Final = r"[ \t]*(-?\d+)"
_DAY: Final = "-".join([_FIELD] * 3)
_CLOCK: Final = rf"{_FIELD}:{_FIELD}:{_FIELD}\.{_FIELD}Z"
# By the length of the text, as in Java; text after the last field is ignored.
_PATTERNS: Final = {
    len("yyyy-MM-dd"): (Schema.DATE, re.compile(_DAY)),
    len("HH:mm:ss.SSSZ"): (Schema.TIME, re.compile(_CLOCK)),
    len("yyyy-MM-ddTHH:mm:ss.SSSZ"): (Schema.TIMESTAMP, re.compile(f"{_DAY}T{_CLOCK}")),
}


def parse_moment(text: str) -> SchemaAndValue | None:
    """Return the date, time or timestamp that `text` is in ISO 8601 with milliseconds; None if it is none.

    Colons may be escaped. Lenient as Java: month 13 is the next January. Raise DataError for a moment beyond the range
    of Python's types.
    """
    text = text.replace("\\:", ":")
    schema, pattern = _PATTERNS.get(len(text), (None, None))
    match = pattern.match(text) if pattern is not None else None
    if schema is None or match is None:
        return None
    fields = [int(field) for field in match.groups()]
    day = _epoch_day(*fields[:3]) if schema is not Schema.TIME else 0
    if schema is Schema.DATE:
        return SchemaAndValue(schema, to_logical(schema, day))
    hours, minutes, seconds, millis = fields[-4:]
    clock = ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis
    return SchemaAndValue(schema, to_logical(schema, day * MILLIS_PER_DAY + clock))


def moment_text(value: datetime.date | datetime.time) -> str:
    """Return the text of a moment in the format that Java chooses by its size.

    Before 1970-01-02 that is the time of day, without the date; at midnight the date; otherwise both.
    """
    millis = _instant(value)
    if millis < MILLIS_PER_DAY:
        return _clock_text(millis % MILLIS_PER_DAY)
    days, rest = divmod(millis, MILLIS_PER_DAY)
    day = datetime.date.fromordinal(days + _EPOCH_DAY).isoformat()
    return f"{day}T{_clock_text(rest)}" if rest else day


def to_date(schema: Schema | None, value: Any) -> datetime.date:
    """Return the date of a date, a timestamp (cut towards 1970), or a number of days since 1970-01-01."""
    name = schema.name if schema is not None else None
    if isinstance(value, datetime.date) and (schema is None or name == DATE):
        return value
    if isinstance(value, datetime.datetime) and name == TIMESTAMP:
        millis = _instant(value)
        days = millis // MILLIS_PER_DAY if millis >= 0 else -(-millis // MILLIS_PER_DAY)
    else:
        days = as_long(schema, value)
    date: datetime.date = to_logical(Schema.DATE, wrapped(days, 32))
    return date


def to_time(schema: Schema | None, value: Any) -> datetime.time:
    """Return the time of day of a time, a timestamp, or milliseconds since midnight."""
    name = schema.name if schema is not None else None
    if isinstance(value, datetime.time) and (schema is None or name == TIME):
        return value
    if isinstance(value, datetime.datetime) and (schema is None or name == TIMESTAMP):
        millis = _instant(value) % MILLIS_PER_DAY
    else:
        millis = wrapped(as_long(schema, value), 32)
    time: datetime.time = to_logical(Schema.TIME, millis)
    return time


def to_timestamp(schema: Schema | None, value: Any) -> datetime.datetime:
    """Return the timestamp of a timestamp, a date, a time of 1970-01-01, or milliseconds since then."""
    name = schema.name if schema is not None else None
    moment = isinstance(value, (datetime.date, datetime.time))
    if isinstance(value, datetime.datetime) and (schema is None or name == TIMESTAMP):
        return value
    instant = moment and (schema is None or name in (DATE, TIME))
    timestamp: datetime.datetime = to_logical(Schema.TIMESTAMP, _instant(value) if instant else as_long(schema, value))
    return timestamp


def _instant(value: datetime.date | datetime.time) -> int:
    """Return milliseconds since 1970-01-01 UTC, the value of Java's `Date`."""
    if isinstance(value, datetime.datetime):
        millis: int = from_logical(Schema.TIMESTAMP, value)
    elif isinstance(value, datetime.time):
        millis = from_logical(Schema.TIME, value)
    else:
        millis = from_logical(Schema.DATE, value) * MILLIS_PER_DAY
    return millis


def _clock_text(millis: int) -> str:
    seconds, rest = divmod(millis, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}Z"


def _epoch_day(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a lenient date; before 1582-10-15 it is of the Julian calendar."""
    carry, month_index = divmod(month - 1, 12)
    year += carry
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise DataError(f"The year {year} is outside the years 1 to 9999")
    gregorian = datetime.date(year, month_index + 1, 1).toordinal() + day - 1
    if gregorian >= _GREGORIAN_FROM:
        return gregorian - _EPOCH_DAY
    # A month's position in its year differs by leap years only: use a year that is leap if the Julian one is.
    alike = datetime.date(2000 + year % 4, month_index + 1, 1).timetuple().tm_yday
    julian = 365 * (year - 1) + (year - 1) // 4 + alike + day - 1 - 2
    return julian - _EPOCH_DAY
