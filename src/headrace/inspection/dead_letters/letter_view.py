# SPDX-License-Identifier: Apache-2.0
"""The answer about dead letters: groups of all that are pending, and a page of single ones. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.herder.errors import BadRequestError
from headrace.inspection.dead_letters.letter import Letter
from headrace.inspection.dead_letters.letter_filter import ALL, LetterFilter
from headrace.inspection.dead_letters.letter_groups import LetterGroups

MOST_LETTERS: Final = 500
_PAGE_BYTES: Final = 8 << 20
Hide = Callable[[str], str]
_AFTER: Final = re.compile(r"\d{1,9}:\d{1,18}(,\d{1,9}:\d{1,18})*")


@dataclass(frozen=True, slots=True)
class LetterQuery:
    """A query of pending letters. ``after`` has the offsets by partition where the page begins."""

    filter: LetterFilter = ALL
    limit: int = 20
    after: Mapping[int, int] = field(default_factory=dict)
    decode: bool = True


def parse_after(text: str | None) -> dict[int, int]:
    """Parse the ``next`` of a former answer. Raise BadRequestError for another text."""
    if not text:
        return {}
    if _AFTER.fullmatch(text) is None:
        raise BadRequestError(f"Invalid value '{text[:200]}' for after: expected the next of a former answer")
    return {int(partition): int(offset) for partition, offset in (part.split(":") for part in text.split(","))}


class LetterPage:
    """Collects the answer from all pending letters, one after another. One thread."""

    def __init__(self, query: LetterQuery) -> None:
        self.complete = True
        """False if not all pending letters were looked at."""
        self.letters: list[Letter] = []
        self._query = query
        self._groups = LetterGroups()
        self._seen = 0
        self._bytes = 0
        self._next = dict(query.after)
        self._more = False

    def add(self, letter: Letter) -> None:
        if letter.of_another and not self._query.filter.names_connector:
            return
        self._seen += 1
        if not self._query.filter.matches(letter):
            return
        self._groups.add(letter)
        record = letter.record
        if record.offset < self._next.get(record.partition, 0):
            return
        if len(self.letters) >= self._query.limit or self._bytes > _PAGE_BYTES:
            self._more = True
            return
        self._bytes += len(record.key or b"") + len(record.value or b"")
        self.letters.append(letter)
        self._next[record.partition] = record.offset + 1

    def to_json(self, estimate: int, decoded: Sequence[Mapping[str, Any]] | None, hide: Hide) -> dict[str, Any]:
        """Return the answer; ``estimate`` are the offsets that are pending, ``decoded`` the letters' records.

        ``hide`` returns an error's text without the values that the connector's configuration refers to.
        """
        shown = [
            letter_facts(letter, decoded[number] if decoded is not None else None, hide)
            for number, letter in enumerate(self.letters)
        ]
        following = ",".join(f"{partition}:{offset}" for partition, offset in sorted(self._next.items()))
        return {
            "pending": self._seen if self.complete else estimate,
            "complete": self.complete,
            "matching": self._groups.count,
            "redriven": self._groups.redriven,
            "oldest": self._groups.oldest,
            "groups": [{**group, "message": _hidden(group["message"], hide)} for group in self._groups.to_json()],
            "letters": shown,
            "next": following if self._more and following else None,
        }


def letter_facts(letter: Letter, decoded: Mapping[str, Any] | None, hide: Hide) -> dict[str, Any]:
    """Return a letter as JSON."""
    failure, record = letter.failure, letter.record
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "stage": failure.get("stage"),
        "exception": failure.get("exception.class.name"),
        "class": failure.get("class.name"),
        "message": _hidden(failure.get("exception.message"), hide),
        "stacktrace": _hidden(failure.get("exception.stacktrace"), hide),
        "task": failure.get("task.id"),
        "origin": {
            name: failure.get(header)
            for name, header in (
                ("topic", "topic"),
                ("partition", "partition"),
                ("offset", "offset"),
                ("source_partition", "source.partition"),
                ("source_offset", "source.offset"),
            )
        },
        "redriven": letter.redriven,
        "kept_from": letter.kept_from,
        "record": dict(decoded) if decoded is not None else None,
    }


def _hidden(text: str | None, hide: Hide) -> str | None:
    return None if text is None else hide(text)
