# SPDX-License-Identifier: Apache-2.0
"""Dead letters grouped by the causes of their failures, with counts. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.inspection.dead_letters.letter import Cause, Letter, cause_of

_TOPICS: int = 20
_MOST_GROUPS: int = 1_000


@dataclass(slots=True)
class _Group:
    example: str | None
    first: dict[str, int]
    count: int = 0
    redriven: int = 0
    oldest: int | None = None
    newest: int | None = None
    topics: set[str] = field(default_factory=set)


class LetterGroups:
    """Counts letters one after another. One thread."""

    def __init__(self) -> None:
        self.count = 0
        self.redriven = 0
        """Letters whose records were redriven before."""
        self.oldest: int | None = None
        self._groups: dict[Cause, _Group] = {}

    def add(self, letter: Letter) -> None:
        failure, record = letter.failure, letter.record
        cause = cause_of(failure)
        if cause not in self._groups and len(self._groups) >= _MOST_GROUPS:
            cause = Cause(cause.stage, cause.exception, cause.executing_class, None)
        first = {"partition": record.partition, "offset": record.offset}
        group = self._groups.setdefault(cause, _Group(failure.get("exception.message"), first))
        again = letter.redriven > 0
        group.count += 1
        group.redriven += again
        self.count += 1
        self.redriven += again
        if (topic := failure.get("topic")) is not None and len(group.topics) < _TOPICS:
            group.topics.add(topic)
        if record.timestamp is not None:
            group.oldest = record.timestamp if group.oldest is None else min(group.oldest, record.timestamp)
            group.newest = record.timestamp if group.newest is None else max(group.newest, record.timestamp)
            self.oldest = group.oldest if self.oldest is None else min(self.oldest, record.timestamp)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the groups, the largest first."""
        ordered = sorted(self._groups.items(), key=lambda entry: -entry[1].count)
        return [
            {
                "count": group.count,
                "stage": cause.stage,
                "exception": cause.exception,
                "class": cause.executing_class,
                "message": group.example,
                "topics": sorted(group.topics),
                "redriven": group.redriven,
                "oldest": group.oldest,
                "newest": group.newest,
                "first": group.first,
            }
            for cause, group in ordered
        ]
