# SPDX-License-Identifier: Apache-2.0
"""The states and the health in answers about connectors: texts, rows, changes, goals that are reached. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

Json = Mapping[str, Any]

HEADINGS: Final = ("NAME", "TYPE", "STATE", "TASKS", "WORKER")
NONE: Final = "-"
_PACKAGE: Final = re.compile(r"^(?:\w+\.)+(?=[\w$]+(?:: |$))")
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_AGES: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
Key = tuple[str, str]
"""A connector's name, and "connector" or "task 0"."""


class Goal(Enum):
    """A state of a connector that a user waits for."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    GONE = "deleted"


def row(name: str, status: Json) -> tuple[str, ...]:
    """Return a connector's cells below ``HEADINGS``."""
    connector = status.get("connector", {})
    state, worker = connector.get("state") or NONE, connector.get("worker_id") or NONE
    return (name, status.get("type") or NONE, state, tasks_text(status), worker)


def tasks_text(status: Json) -> str:
    """Return how many tasks run, and how many have failed: "1/2 running, 1 failed"."""
    states = [task.get("state") for task in status.get("tasks", [])]
    failed = states.count("FAILED")
    text = f"{states.count('RUNNING')}/{len(states)} running"
    return f"{text}, {failed} failed" if failed else text


def parts(status: Json) -> Iterator[tuple[str, Json]]:
    """Yield the connector and its tasks, each with its name in sentences."""
    yield "connector", status.get("connector", {})
    for task in status.get("tasks", []):
        yield f"task {task.get('id')}", task


def states_text(status: Json | None) -> str:
    """Return all states in a line: "connector RUNNING, task 0 FAILED"."""
    if status is None:
        return "no status"
    return ", ".join(f"{name} {part.get('state')}" for name, part in parts(status))


def is_reached(goal: Goal, status: Json | None) -> bool:
    """Return True if all parts are as wanted. RUNNING needs a task; a stopped connector has none."""
    if goal is Goal.GONE or status is None:
        return goal is Goal.GONE and status is None
    states = {part.get("state") for _, part in parts(status)}
    if goal is Goal.STOPPED:
        return states == {goal.value} and not status.get("tasks")
    return states == {goal.value} and (goal is not Goal.RUNNING or bool(status.get("tasks")))


def failures(status: Json | None) -> list[str]:
    """Return a sentence for each part that has FAILED."""
    found = parts(status) if status is not None else iter(())
    return [f"{name} FAILED: {reason(part.get('trace'))}" for name, part in found if part.get("state") == "FAILED"]


def reason(trace: str | None) -> str:
    """Return the line of a stack trace that says what went wrong: Python's last one, Java's last cause.

    An error's class is without its package.
    """
    return _PACKAGE.sub("", _decisive_line(trace))


def _decisive_line(trace: str | None) -> str:
    lines = [line.strip() for line in (trace or "").splitlines() if line.strip()]
    if not lines:
        return "no reason is known"
    if any(line.startswith("Traceback ") for line in lines):
        return lines[-1]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return causes[-1] if causes else lines[0]


def age_text(ms: float | None) -> str:
    """Return a time in its largest whole unit: "42 s", "3 min"."""
    if ms is None:
        return NONE
    unit, name = next(((unit, name) for unit, name in _AGES if ms >= unit), (1, "ms"))
    return f"{ms // unit:.0f} {name}"


def rate_text(per_second: float | None) -> str:
    """Return a rate with one decimal below 100."""
    if per_second is None:
        return NONE
    return f"{per_second:,.1f}" if 0 < per_second < 100 else f"{per_second:,.0f}"


def bytes_text(count: float | None) -> str:
    """Return a number of bytes in a unit in which it is below 1,024."""
    if count is None:
        return NONE
    power = 0
    while count >= 1024 and power < len(_UNITS) - 1:
        count, power = count / 1024, power + 1
    return f"{count:,.0f} {_UNITS[power]}" if power == 0 else f"{count:,.1f} {_UNITS[power]}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as "1 change" or "2 changes"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def count_text(count: int | None) -> str:
    return NONE if count is None else f"{count:,}"


def lag_text(amount: int | None, unit: str | None) -> str:
    """Return a lag; records, the usual unit, are not named."""
    if amount is None or unit is None:
        return NONE
    return bytes_text(amount) if unit == "bytes" else f"{amount:,}" if unit == "records" else f"{amount:,} {unit}"


def lag_of(task: Json) -> tuple[int, str] | None:
    """Return the lag in the health of a task, with its unit."""
    lag = task.get("lag")
    return None if lag is None else (lag[lag["unit"]], lag["unit"])


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
