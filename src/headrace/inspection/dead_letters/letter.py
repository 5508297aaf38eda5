# SPDX-License-Identifier: Apache-2.0
"""A dead letter as it is in its topic, and the facts about its failure that its headers have. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headrace.api.error_text import clean_text
from headrace.inspection.dead_letters.letter_marks import KEPT, PASSED, Mark, RawHeader, find_mark
from headrace.task.errors.processing_context import ConsumedRecord
from headrace.task.errors.redriven import redriven_count
from headrace.task.errors.reporters import PREFIX

_NUMBERS: Final = re.compile(r"\d+")
_LONGEST: Final = 10_000
"""Characters of a header's text; stack traces can be longer."""
_OWNER: Final = "connector.name"


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
