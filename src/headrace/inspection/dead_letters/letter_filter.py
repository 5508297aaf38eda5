# SPDX-License-Identifier: Apache-2.0
"""Filters of dead letters: ``stage=VALUE_CONVERTER``, ``exception~=Timeout``, ``offset=10-20``, ``since=2h``. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from headrace.herder.errors import BadRequestError
from headrace.inspection.dead_letters.letter import Letter

_HEADERS: Final[Mapping[str, str]] = {
    "stage": "stage",
    "exception": "exception.class.name",
    "message": "exception.message",
    "class": "class.name",
    "topic": "topic",
    "task": "task.id",
    "connector": "connector.name",
}
"""Names of filters, and the headers whose text they look at."""
_FILTER: Final = re.compile(r"([a-z]+)(~=|!=|=)(.*)", re.DOTALL)
_OFFSETS: Final = re.compile(r"(?:(\d+):)?(\d+)?(-)?(\d+)?")
_AGO: Final = re.compile(r"(\d+)([smhd])")
_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_MOST: Final = 20
_CONNECTOR: Final = "connector="
FILTERS: Final = (*_HEADERS, "offset", "since", "until")
Test = Callable[[Letter, Mapping[str, str]], bool]


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """A conjunction of filters; without any, all letters pass."""

    texts: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tests)

    @property
    def names_connector(self) -> bool:
        """True if letters of one connector are asked for: then it may be another one than whose letters are read."""
        return any(text.startswith(_CONNECTOR) for text in self.texts)

    def matches(self, letter: Letter) -> bool:
        if not self.tests:
            return True
        failure = letter.failure
        return all(test(letter, failure) for test in self.tests)


ALL: Final = LetterFilter()
"""Lets all letters pass."""


def parse_filter(texts: Sequence[str], now_ms: int) -> LetterFilter:
    """Parse filters, which have to match all. ``now_ms`` is what times such as ``2h`` are before.

    Raise BadRequestError for an unknown name, operator or value.
    """
    if len(texts) > _MOST:
        raise BadRequestError(f"{len(texts)} filters are given; at most {_MOST} can be")
    return LetterFilter(tuple(texts), tuple(_test(text, now_ms) for text in texts))


def _test(text: str, now_ms: int) -> Test:
    found = _FILTER.fullmatch(text)
    if found is None or found[1] not in FILTERS:
        raise BadRequestError(
            f"Invalid filter '{text[:200]}': expected NAME=VALUE, NAME!=VALUE or NAME~=PART, NAME one of "
            + ", ".join(FILTERS)
        )
    name, operator, value = found[1], found[2], found[3]
    if name in _HEADERS:
        return _header_test(_HEADERS[name], operator, value)
    if operator != "=":
        raise BadRequestError(f"Invalid filter '{text[:200]}': {name} can only have =")
    if name == "offset":
        return _offset_test(text, value)
    time = _time(text, value, now_ms)
    if name == "since":
        return lambda letter, _: letter.record.timestamp is not None and letter.record.timestamp >= time
    return lambda letter, _: letter.record.timestamp is not None and letter.record.timestamp < time


def _header_test(header: str, operator: str, value: str) -> Test:
    if operator == "=":
        return lambda _, failure: failure.get(header) == value
    if operator == "!=":
        return lambda _, failure: failure.get(header) != value
    # Not a regular expression: one that takes minutes for a text would block the whole worker meanwhile.
    part = value.casefold()
    return lambda _, failure: part in failure.get(header, "").casefold()


def _offset_test(text: str, value: str) -> Test:
    found = _OFFSETS.fullmatch(value)
    if found is None or (found[2] is None and found[4] is None) or (found[4] is not None and found[3] is None):
        raise BadRequestError(f"Invalid filter '{text[:200]}': expected offset=12, 10-20, 10-, -20, or 0:10-20")
    partition = None if found[1] is None else int(found[1])
    first = int(found[2] or 0)
    last = first if found[3] is None else (None if found[4] is None else int(found[4]))

    def test(letter: Letter, _: Mapping[str, str]) -> bool:
        record = letter.record
        if partition is not None and record.partition != partition:
            return False
        return first <= record.offset and (last is None or record.offset <= last)

    return test


def _time(text: str, value: str, now_ms: int) -> int:
    """Return milliseconds since the epoch. A time without an offset is in UTC."""
    if ago := _AGO.fullmatch(value):
        return now_ms - int(ago[1]) * _UNITS_MS[ago[2]]
    try:
        time = datetime.fromisoformat(value)
        return int((time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise BadRequestError(
            f"Invalid filter '{text[:200]}': expected a time as 2026-11-23T09:00:00Z, or how long ago as 90m, 2h or 3d"
        ) from error
