# SPDX-License-Identifier: Apache-2.0
"""A dead letter as it is in its topic, and the facts about its failure that its headers have. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headrace.task.errors.processing_context import ConsumedRecord
from headrace.task.errors.redriven import redriven_count
from headrace.task.errors.reporters import PREFIX

KEPT: Final = "headrace.kept"
"""The header of a letter that was written again, as letters behind it were redriven: its first position."""
_NUMBERS: Final = re.compile(r"\d+")
_LONGEST: Final = 10_000
"""Characters of a header's text; stack traces can be longer."""
RawHeader = tuple[str, bytes | None]


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
            name.removeprefix(PREFIX): (value or b"").decode("utf-8", "replace")[:_LONGEST]
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
        found = next((value for name, value in self.record.headers if name == KEPT), None)
        return found.decode("utf-8", "replace") if found is not None else None


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
        headers.append((KEPT, f"{record.topic}-{record.partition}@{record.offset}".encode()))
    return headers
