# SPDX-License-Identifier: Apache-2.0
"""A dead letter as it is in its topic: facts about its failure in its headers, and marks that redrives leave. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import orjson

from headrace.api.error_text import clean_text
from headrace.task.errors.processing_context import ConsumedRecord
from headrace.task.errors.reporters import PREFIX, redriven_count

KEPT: Final = "headrace.kept"
"""The header of a letter that was written again, as letters behind it were redriven, with its first position."""
PASSED: Final = "headrace.passed"
"""The header of a record that is no letter, but the position up to which a connector's letters are done with."""
RawHeader = tuple[str, bytes | None]
_NUMBERS: Final = re.compile(r"\d+")
_LONGEST: Final = 10_000
"""Characters of a header's text; stack traces can be longer."""
_OWNER: Final = "connector.name"


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in a dead letter topic, and the connector whose redrive has written it.

    A consumer group's offsets expire (``offsets.retention.minutes``, 7 days by default, as the group never has
    members). So each transaction also writes the positions to the dead letter topic, where they last as long as letters
    behind them.
    """

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


@dataclass(frozen=True, slots=True)
class Cause:
    """The facts that letters of one group share; numbers in messages do not count. None where no header has one."""

    stage: str | None
    exception: str | None
    executing_class: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter of ``connector``."""

    connector: str
    record: ConsumedRecord

    @property
    def failure(self) -> dict[str, str]:
        """The texts of the headers about the failure, by their names after the prefix."""
        return {
            name.removeprefix(PREFIX): clean_text((value or b"").decode("utf-8", "replace"), _LONGEST)
            for name, value in self.record.headers
            if name.startswith(PREFIX)
        }

    @property
    def redriven(self) -> int:
        """The number of times that the record was redriven before it came back."""
        return redriven_count(self.record.headers, self.connector)

    @property
    def kept_from(self) -> str | None:
        """The letter's first position, ``topic-partition@offset``, if it was written again."""
        mark = find_mark(self.record.headers, KEPT, self.record.topic)
        return f"{mark.topic}-{mark.partition}@{mark.offset}" if mark is not None else None

    @property
    def owner(self) -> str | None:
        """The connector whose letter it is, by its headers; connectors may share a topic."""
        return self.failure.get(_OWNER)

    @property
    def of_another(self) -> bool:
        """True if its headers name another connector."""
        return self.owner not in (None, self.connector)


def cause_of(failure: dict[str, str]) -> Cause:
    """Return the cause that a letter's headers name, by which letters are grouped."""
    message = failure.get("exception.message")
    return Cause(
        failure.get("stage"),
        failure.get("exception.class.name"),
        failure.get("class.name"),
        None if message is None else _NUMBERS.sub("#", message),
    )


def original_headers(headers: Sequence[RawHeader]) -> list[RawHeader]:
    """Return the headers that the record had before it failed.

    Of each name about a failure only the last header goes: a record may have come out of another dead letter topic.
    """
    last = {name: number for number, (name, _) in enumerate(headers) if name.startswith(PREFIX)}
    return [header for number, header in enumerate(headers) if header[0] != KEPT and last.get(header[0]) != number]


def kept_headers(letter: Letter) -> list[RawHeader]:
    """Return the headers of a letter that is written again: its own, and its first position."""
    headers, record = list(letter.record.headers), letter.record
    if letter.kept_from is None:
        headers.append(Mark(letter.connector, record.topic, record.partition, record.offset).header(KEPT))
    return headers


def is_letter(letter: Letter) -> bool:
    """Return False for a position, and for what a redrive of another connector has written again.

    That connector alone has passed the first one of such a letter; for all others it is where it was.
    """
    headers, topic = letter.record.headers, letter.record.topic
    if find_mark(headers, PASSED, topic) is not None:
        return False
    kept = find_mark(headers, KEPT, topic)
    return kept is None or kept.connector == letter.connector
