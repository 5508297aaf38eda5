# SPDX-License-Identifier: Apache-2.0
"""The states in answers about connectors: rows for tables, and whether a wanted one is reached. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

Json = Mapping[str, Any]

HEADINGS: Final = ("NAME", "TYPE", "STATE", "TASKS", "WORKER")
NONE: Final = "-"


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
    """Return the line of a stack trace that says what went wrong: Python's last one, Java's last cause."""
    lines = [line.strip() for line in (trace or "").splitlines() if line.strip()]
    if not lines:
        return "no reason is known"
    if any(line.startswith("Traceback ") for line in lines):
        return lines[-1]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return causes[-1] if causes else lines[0]
