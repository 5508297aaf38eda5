# SPDX-License-Identifier: Apache-2.0
"""Marks that redrives leave in a dead letter topic: letters written again, and positions. Pure.

A consumer group's offsets expire (``offsets.retention.minutes``, 7 days by default, as the group never has members).
So each transaction also writes the positions to the dead letter topic, where they last as long as letters behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import orjson

KEPT: Final = "headrace.kept"
"""The header of a letter that was written again, as letters behind it were redriven, with its first position."""
PASSED: Final = "headrace.passed"
"""The header of a record that is no letter, but the position up to which a connector's letters are done with."""
RawHeader = tuple[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in a dead letter topic, and the connector whose redrive has written it."""

    connector: str
    topic: str
    partition: int
    offset: int

    def header(self, name: str) -> RawHeader:
        return name, self.to_bytes()

    def to_bytes(self) -> bytes:
        return orjson.dumps(asdict(self))


def find_mark(headers: Sequence[RawHeader], name: str, topic: str) -> Mark | None:
    """Return the mark of that name in a record of ``topic``; one that the record has brought from elsewhere is none."""
    found = (_parsed(value) for header, value in headers if header == name)
    return next((mark for mark in found if mark is not None and mark.topic == topic), None)


def _parsed(value: bytes | None) -> Mark | None:
    """Return the mark that a header's value is; None for what headrace has not written."""
    try:
        mark = Mark(**orjson.loads(value or b""))
    except (orjson.JSONDecodeError, TypeError):
        return None
    texts, numbers = (mark.connector, mark.topic), (mark.partition, mark.offset)
    valid = all(type(text) is str for text in texts) and all(type(number) is int for number in numbers)
    return mark if valid else None
