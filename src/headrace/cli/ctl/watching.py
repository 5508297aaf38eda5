# SPDX-License-Identifier: Apache-2.0
"""Changes of states and verdicts between two answers about connectors. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headrace.cli.ctl.statuses import NONE, Json, parts, reason

Key = tuple[str, str]
"""A connector's name, and "connector" or "task 0"."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A connector's or task's state and verdict, with the reason of either. ``verdict`` is None on Java's workers."""

    state: str
    verdict: str | None = None
    why: str = ""

    def differs(self, other: Seen | None) -> bool:
        """Return True for another state or verdict: the reason has times in it, and is never the same for long."""
        return other is None or (self.state, self.verdict) != (other.state, other.verdict)

    @property
    def text(self) -> str:
        words = [self.state, *([self.verdict] if self.verdict else []), *([self.why] if self.why else [])]
        return "  ".join(words)


DELETED = Seen("deleted")


def seen_parts(answer: Json) -> Iterator[tuple[Key, Seen]]:
    """Yield all connectors and tasks of ``GET /connectors?expand=status&expand=health``."""
    for name, known in answer.items():
        judged = dict(parts(known["health"])) if known.get("health") else {}
        for part, content in parts(known.get("status", {})):
            health = judged.get(part, {})
            yield (name, part), _seen(content, health.get("verdict"), health.get("why") or "")


def _seen(content: Json, verdict: str | None, why: str) -> Seen:
    if content.get("trace"):
        why = reason(content["trace"])
    elif verdict == "healthy":
        why = ""
    return Seen(content.get("state") or NONE, verdict, why)


def changed_parts(before: Mapping[Key, Seen], now: Mapping[Key, Seen]) -> Iterator[tuple[Key, Seen]]:
    """Yield what is new, or differs, or is gone, in the order of names."""
    for key in sorted(before.keys() | now.keys()):
        part = now.get(key, DELETED)
        if part.differs(before.get(key)):
            yield key, part
