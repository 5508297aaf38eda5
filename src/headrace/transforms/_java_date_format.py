# SPDX-License-Identifier: Apache-2.0
"""Java's `SimpleDateFormat` in UTC and US English, lenient as it is by default: one object per pattern.

Unlike in Java, a zone in a text (`PST`) applies to that text only. The known names are the common ones of
`_java_date_names`, while Java knows the zones of the whole world.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from headrace.transforms import _java_date_names as names
from headrace.transforms._java_calendar import (
    MILLIS_PER_DAY,
    CalendarField,
    civil,
    day_of_week,
    first_of_month,
    first_of_year,
    millis_of,
    week_in_period,
    week_of,
)
from headrace.transforms._java_date_quick import quick_reader

F = CalendarField
_LETTERS: Final = "GyMdkHmsSEDFwWahKzZYuXL"
_TOKEN: Final = re.compile(r"''|'((?:[^']|'')*)'|(([a-zA-Z])\3*)|([^a-zA-Z']+)", re.S)
_NUMBER: Final = re.compile(r"-?\d+")
_MINUTE: Final = 60_000

# The parts that a letter formats: day, ms of the day, year, month, day of the month.
_Moment = tuple[int, int, int, int, int]
_SHOWN: Final[Mapping[str, Callable[[_Moment], int]]] = {
    "y": lambda at: at[2] if at[2] > 0 else 1 - at[2],
    "Y": lambda at: week_of(at[0], at[2])[1],
    "M": lambda at: at[3],
    "L": lambda at: at[3],
    "d": lambda at: at[4],
    "D": lambda at: at[0] - first_of_year(at[2]) + 1,
    "F": lambda at: (at[4] - 1) // 7 + 1,
    "w": lambda at: week_of(at[0], at[2])[0],
    "W": lambda at: week_in_period(at[0], at[0] - at[4] + 1),
    "u": lambda at: (at[0] + 3) % 7 + 1,
    "H": lambda at: at[1] // 3_600_000,
    "k": lambda at: at[1] // 3_600_000 or 24,
    "K": lambda at: at[1] // 3_600_000 % 12,
    "h": lambda at: at[1] // 3_600_000 % 12 or 12,
    "m": lambda at: at[1] // _MINUTE % 60,
    "s": lambda at: at[1] // 1000 % 60,
    "S": lambda at: at[1] % 1000,
}
_READ: Final[Mapping[str, CalendarField]] = {
    "y": F.YEAR,
    "Y": F.WEEK_YEAR,
    "M": F.MONTH,
    "L": F.MONTH,
    "d": F.DAY_OF_MONTH,
    "D": F.DAY_OF_YEAR,
    "F": F.DAY_OF_WEEK_IN_MONTH,
    "w": F.WEEK_OF_YEAR,
    "W": F.WEEK_OF_MONTH,
    "u": F.DAY_OF_WEEK,
    "H": F.HOUR_OF_DAY,
    "k": F.HOUR_OF_DAY,
    "K": F.HOUR,
    "h": F.HOUR,
    "m": F.MINUTE,
    "s": F.SECOND,
    "S": F.MILLISECOND,
}
_READ_NAMES: Final[Mapping[str, tuple[CalendarField, Sequence[Mapping[str, int]]]]] = {
    "G": (F.ERA, [names.ERAS]),
    "M": (F.MONTH, [names.MONTHS]),
    "L": (F.MONTH, [names.MONTHS]),
    "E": (F.DAY_OF_WEEK, [names.WEEKDAYS]),
    "a": (F.AM_PM, [names.HALVES]),
}
_STEPS: Final = {"S": 1, "s": 1000, "m": _MINUTE, "H": 3_600_000, "k": 3_600_000, "K": 3_600_000, "h": 3_600_000,
                 "a": 3_600_000}  # fmt: skip


class _NoMatch(Exception):
    """The text does not match the pattern at this position."""


class JavaDateFormat:
    """A compiled pattern. Stateless after construction."""

    def __init__(self, pattern: str, now: datetime.datetime | None = None) -> None:
        """Compile a pattern; raise ValueError if it is wrong.

        Years of two digits are within 80 years before `now` and 20 after it.
        """
        self.pattern = pattern
        self._tokens = _tokens(pattern)
        letters = [letter for letter, count in self._tokens if count]
        self.step: int = min((_STEPS.get(letter, MILLIS_PER_DAY) for letter in letters), default=MILLIS_PER_DAY)
        """Milliseconds; moments in the same step have the same text."""
        self._template = "".join(_placeholder(letter, count) for letter, count in self._tokens)
        self._shown = [_show(letter, count) for letter, count in self._tokens if count and letter not in "zZX"]
        self._abuts = [_is_number(*self._tokens[index : index + 1]) for index in range(1, len(self._tokens) + 1)]
        self._quick = quick_reader(self._tokens, self._abuts)
        self._century_start = _eighty_years_before(now or datetime.datetime.now(datetime.UTC))

    def format(self, millis: int) -> str:
        """Return the text of a moment, in ms since 1970."""
        day, rest = divmod(millis, MILLIS_PER_DAY)
        at = (day, rest, *civil(day))
        return self._template % tuple([show(at) for show in self._shown])

    def parse(self, text: str) -> int:
        """Return the moment that a text begins with, in ms since 1970. Raise ValueError if there is none."""
        millis = None if self._quick is None else self._quick.read(text)
        return self._read(text) if millis is None else millis

    def _read(self, text: str) -> int:
        reader = _Reader(text, self._century_start)
        try:
            for (letter, count), abuts in zip(self._tokens, self._abuts, strict=True):
                if count:
                    reader.read(letter, count, abuts)
                else:
                    reader.skip(letter)
        except _NoMatch:
            reader.position = 0
        if reader.position == 0:
            raise ValueError(f"value ({text}) does not match pattern ({self.pattern})")
        return reader.millis()


class _Reader:
    """A parser of one text. `fields` are in the order of their last setting."""

    def __init__(self, text: str, century_start: int) -> None:
        self.position = 0
        self._text = text
        self._century_start = century_start
        self._century_year = civil(century_start // MILLIS_PER_DAY)[0]
        self._ambiguous = False
        self._fields: dict[CalendarField, int] = {}
        self._zone = 0
        self._daylight = 0

    def millis(self) -> int:
        millis = millis_of(self._fields) - self._zone - self._daylight
        if self._ambiguous and millis < self._century_start:
            later = {f: value + 100 if f in (F.YEAR, F.WEEK_YEAR) else value for f, value in self._fields.items()}
            millis = millis_of(later) - self._zone - self._daylight
        return millis

    def skip(self, literal: str) -> None:
        if not self._text.startswith(literal, self.position):
            raise _NoMatch
        self.position += len(literal)

    def read(self, letter: str, count: int, abuts: bool) -> None:
        """Parse the part for one run of letters. `abuts`: a number follows directly, so `count` limits the digits."""
        start = self.position
        first = start
        while self._text[first : first + 1] in (" ", "\t"):
            first += 1
        if first >= len(self._text):
            raise _NoMatch
        if letter in "zZ":
            self._read_zone(start, first)
        elif letter == "X":
            self._read_iso_zone(first, count)
        elif letter in _READ_NAMES and (letter not in "ML" or count > 2):
            self._read_name(start, letter)
        else:
            self._read_number(start, first, letter, count, abuts)

    def _read_name(self, start: int, letter: str) -> None:
        field, tables = _READ_NAMES[letter]
        for table in tables:
            best = max((name for name in table if self._has(start, name)), key=len, default=None)
            if best is not None:
                self._set(field, table[best])
                self.position = start + len(best)
                return
        raise _NoMatch

    def _read_number(self, start: int, first: int, letter: str, count: int, abuts: bool) -> None:
        end = start + count if abuts else len(self._text)
        found = _NUMBER.match(self._text, first, end) if end <= len(self._text) else None
        if found is None:
            raise _NoMatch
        self.position = found.end()
        value = _to_int32(int(found[0]))
        if letter in "yY" and count <= 2 and len(found[0]) == 2 and value >= 0:
            value = self._full_year(value)
        elif letter in "ML":
            value -= 1
        elif (letter == "k" and value == 24) or (letter == "h" and value == 12):
            value = 0
        elif letter == "u" and 1 <= value <= 7:
            value = value % 7 + 1
        self._set(_READ[letter], value)

    def _full_year(self, value: int) -> int:
        century, start = divmod(self._century_year, 100)
        self._ambiguous = value == start
        return value + 100 * (century + (value < start))

    def _read_zone(self, start: int, first: int) -> None:
        """Parse `+0100`, `GMT`, `GMT+1:00`, or the name of a zone."""
        sign = self._text[first]
        if sign in "+-":
            self._read_offset(first, 0, colon=False)
        elif sign in "Gg" and self._has(start, "GMT"):
            self.position = start + 3
            if self._text[self.position : self.position + 1] in ("+", "-"):
                self._read_offset(self.position, 0, colon=True)
            else:
                self._zone = self._daylight = 0
        else:
            for name, standard, daylight in names.ZONES:
                if self._has(first, name):
                    self._zone, self._daylight = standard * _MINUTE, daylight * _MINUTE
                    self.position = first + len(name)
                    return
            raise _NoMatch

    def _read_iso_zone(self, first: int, count: int) -> None:
        if self._text[first] == "Z":
            self._zone = self._daylight = 0
            self.position = first + 1
        elif self._text[first] in "+-":
            self._read_offset(first, count, colon=count == 3)
        else:
            raise _NoMatch

    def _read_offset(self, first: int, count: int, colon: bool) -> None:
        """Parse hours of two digits (one is enough after GMT), and minutes unless the count is 1."""
        hours = r"\d\d?" if colon and not count else r"\d\d"
        minutes = "()" if count == 1 else r":(\d\d)" if colon else r"(\d\d)"
        found = re.compile(rf"([+-])({hours}){minutes}", re.ASCII).match(self._text, first)
        if found is None or int(found[2]) > 23 or int(found[3] or 0) > 59:
            raise _NoMatch
        offset = (int(found[2]) * 60 + int(found[3] or 0)) * _MINUTE
        self._zone, self._daylight = -offset if found[1] == "-" else offset, 0
        self.position = found.end()

    def _has(self, start: int, name: str) -> bool:
        return self._text[start : start + len(name)].lower() == name.lower()

    def _set(self, field: CalendarField, value: int) -> None:
        self._fields.pop(field, None)
        self._fields[field] = value


def _tokens(pattern: str) -> list[tuple[str, int]]:
    """Split a pattern into runs of a letter with their length, and literal text with length 0."""
    tokens: list[tuple[str, int]] = []
    position = 0
    while position < len(pattern):
        found = _TOKEN.match(pattern, position)
        if found is None:
            raise ValueError(f"Unterminated quote in the date pattern {pattern}")
        position = found.end()
        letter = found[3]
        if letter is None:
            literal = "'" if found[0] == "''" else found[4] if found[1] is None else found[1].replace("''", "'")
            tokens.append((literal, 0))
            continue
        if letter not in _LETTERS:
            raise ValueError(f"Illegal pattern character '{letter}' in the date pattern {pattern}")
        if letter == "X" and len(found[2]) > 3:
            raise ValueError(f"Invalid ISO 8601 zone of {len(found[2])} letters in the date pattern {pattern}")
        tokens.append((letter, len(found[2])))
    return tokens


def _placeholder(letter: str, count: int) -> str:
    """Return a token's placeholder in the template of `format`."""
    if not count:
        return letter.replace("%", "%%")
    if letter in "zZX":
        utc = {"z": names.UTC_SHORT if count < 4 else names.UTC_LONG, "Z": "+0000", "X": "Z"}
        return utc[letter]
    return "%s" if _is_named(letter, count) else f"%0{count}d"


def _is_named(letter: str, count: int) -> bool:
    return letter in "GEa" or (letter in "ML" and count > 2)


def _show(letter: str, count: int) -> Callable[[_Moment], Any]:
    """Return the function that formats a token with its own placeholder."""
    table = names.shown(letter, long=count >= 4)
    if letter == "G":
        return lambda at: table[at[2] > 0]
    if letter == "E":
        return lambda at: table[day_of_week(at[0]) - 1]
    if letter == "a":
        return lambda at: table[at[1] >= MILLIS_PER_DAY // 2]
    if _is_named(letter, count):
        return lambda at: table[at[3] - 1]
    number = _SHOWN[letter]
    if letter in "yY" and count == 2:
        return lambda at: number(at) % 100
    return number


def _is_number(*next_token: tuple[str, int]) -> bool:
    """Return True if there is a token and it is parsed as a number."""
    return any(count and letter in _READ and (letter not in "ML" or count <= 2) for letter, count in next_token)


def _to_int32(value: int) -> int:
    """Narrow a number to int as Java's number parser does: a long wraps, a larger number becomes the nearest int."""
    if -(1 << 63) <= value < 1 << 63:
        return (value + (1 << 31)) % (1 << 32) - (1 << 31)
    return (1 << 31) - 1 if value > 0 else -(1 << 31)


def _eighty_years_before(now: datetime.datetime) -> int:
    day = first_of_month(now.year - 80, now.month, julian=False) + now.day - 1
    millis = ((now.hour * 60 + now.minute) * 60 + now.second) * 1000 + now.microsecond // 1000
    return day * MILLIS_PER_DAY + millis


__all__ = ["JavaDateFormat"]
