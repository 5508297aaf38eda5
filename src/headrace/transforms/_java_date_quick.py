# SPDX-License-Identifier: Apache-2.0
"""A fast parser of dates: one regular expression per pattern, for the usual texts.

Texts that it does not match, such as signs, blanks before numbers, or names of zones, are left to the complete parser.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from headrace.transforms import _java_date_names as names
from headrace.transforms._java_calendar import first_of_month

_FIRST_YEAR: Final = 1583
"""The first year that is Gregorian as a whole."""
_MINUTE: Final = 60_000
_HALF_DAY: Final = 12

_first_of_month: Final = functools.lru_cache(maxsize=1024)(functools.partial(first_of_month, julian=False))


def _any_of(table: Mapping[str, int]) -> str:
    return f"(?i:{'|'.join(sorted(table, key=len, reverse=True))})"


def _lookup(table: Mapping[str, int], first: int, times: int) -> Callable[[str], int]:
    """Return the function from a name, in any case, to `times` its number in the table, which counts from `first`."""
    numbers = {name.lower(): (number + first) * times for name, number in table.items()}
    return lambda text: numbers[text.lower()]


def _zone_millis(text: str) -> int:
    if text == "Z":
        return 0
    minutes = int(text[1:3]) * 60 + int(text[-2:] if len(text) > 3 else 0)
    return -minutes * _MINUTE if text[0] == "-" else minutes * _MINUTE


# The expressions and functions of letters for numbers.
_NUMBERS: Final[Mapping[str, tuple[str, Callable[[str], int]]]] = {
    "y": ("year", int),
    "M": ("month", int),
    "d": ("day", int),
    "H": ("hour", int),
    "h": ("hour", lambda text: 0 if int(text) == _HALF_DAY else int(text)),
    "m": ("minute", int),
    "s": ("second", int),
    "S": ("millis", int),
}
_MONTH: Final = ("month", _lookup(names.MONTHS, 1, 1))
_HALF: Final = ("half", _lookup(names.HALVES, 0, _HALF_DAY))
_ZONE: Final = ("zone", _zone_millis)


class QuickReader:
    """A parser of texts of one pattern. Stateless."""

    def __init__(self, expression: str, groups: Sequence[tuple[str, Callable[[str], int]]]) -> None:
        """Compile the expression; `groups` are the names of its groups, with the function that parses each."""
        self._match = re.compile(expression, re.ASCII).match
        self._names = [name for name, _ in groups]
        self._readers = [read for _, read in groups]

    def read(self, text: str) -> int | None:
        """Return the moment in ms since 1970; None for a text that needs the complete parser."""
        found = self._match(text)
        if found is None:
            return None
        values = [read(part) for read, part in zip(self._readers, found.groups(), strict=True)]
        get = dict(zip(self._names, values, strict=True)).get
        year, month = get("year", 1970), get("month", 1)
        if year < _FIRST_YEAR or not 1 <= month <= 12:
            return None
        hours = (_first_of_month(year, month) + get("day", 1) - 1) * 24 + get("hour", 0) + get("half", 0)
        seconds = (hours * 60 + get("minute", 0)) * 60 + get("second", 0)
        return seconds * 1000 + get("millis", 0) - get("zone", 0)


def quick_reader(tokens: Sequence[tuple[str, int]], abuts: Sequence[bool]) -> QuickReader | None:
    """Return a pattern's parser; None if it has uncommon letters. `abuts`: a number follows the token directly."""
    letters = [letter for letter, count in tokens if count]
    present = set(letters)
    if len(present) < len(letters) or {"H", "h"} <= present or {"X", "Z"} <= present:
        return None  # one field twice
    if ("h" in present) != ("a" in present) or ("E" in present and "d" not in present):
        return None
    parts, groups = [], []
    for (letter, count), close in zip(tokens, abuts, strict=True):
        if not count:
            parts.append(re.escape(letter))
        elif letter == "E":
            parts.append(_any_of(names.WEEKDAYS))  # the day of the month prevails
        else:
            part = _part(letter, count, close)
            if part is None:
                return None
            parts.append(f"({part[0]})")
            groups.append(part[1])
    return QuickReader("".join(parts), groups) if groups else None


def _part(letter: str, count: int, abuts: bool) -> tuple[str, tuple[str, Callable[[str], int]]] | None:
    """Return the expression of a token and its group; None for an uncommon token."""
    if letter in ("X", "Z"):
        minutes = {1: "", 3: r":[0-5]\d"}.get(count if letter == "X" else 2, r"[0-5]\d")
        return rf"[+-](?:[01]\d|2[0-3]){minutes}{'|Z' if letter == 'X' else ''}", _ZONE
    if letter == "a":
        return _any_of(names.HALVES), _HALF
    if letter == "M" and count > 2:
        return _any_of(names.MONTHS), _MONTH
    if letter not in _NUMBERS or (letter == "y" and count <= 2):
        return None
    return rf"\d{{{count}}}" if abuts else r"\d{1,9}(?!\d)", _NUMBERS[letter]


__all__ = ["QuickReader", "quick_reader"]
