# SPDX-License-Identifier: Apache-2.0
"""State diagrams of the transition tables, as Mermaid, in `docs/ARCHITECTURE.md`.

`diagrams.py` writes them into the page (`make diagrams`); a test fails while the page differs from the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Final, TypeVar

from headrace.kafka.data import transactional_producer
from headrace.kafka.data.transactional_producer import ProducerState
from headrace.spark.task import attempt_machine
from headrace.spark.task.attempt_state import Phase
from headrace.worker.tasks import task_phase
from headrace.worker.tasks.task_phase import TaskPhase

PAGE: Final = Path(__file__).parents[1] / "docs" / "ARCHITECTURE.md"
_BLOCK: Final = re.compile(r"(<!-- diagram: ([\w-]+) -->\n).*?(<!-- end of diagram -->)", re.DOTALL)

E = TypeVar("E", bound=Enum)
Move = tuple[str, str, str]
"""From, to, and the event's name, which may be empty."""


def diagrams() -> Mapping[str, str]:
    """Return the Mermaid text of each diagram by its name in the page."""
    return {
        "task": _state_diagram(TaskPhase.LAUNCHED.name, TaskPhase.STOPPED.name, _task_moves()),
        "attempts": _state_diagram(Phase.NEW.name, Phase.ENDED.name, _reachable(attempt_machine.TRANSITIONS)),
        "producer": _state_diagram(
            ProducerState.NEW.name, ProducerState.CLOSED.name, _reachable(transactional_producer.TRANSITIONS)
        ),
    }


def updated(page: str) -> str:
    """Return the page's text with each marked diagram as the tables say it."""
    known = diagrams()
    return _BLOCK.sub(lambda block: f"{block[1]}\n```mermaid\n{known[block[2]]}```\n\n{block[3]}", page)


def _task_moves() -> Iterator[Move]:
    for (phase, event), (to, _) in task_phase.TRANSITIONS.items():
        yield phase.name, to.name, event.name


def _reachable(table: Mapping[E, frozenset[E]]) -> Iterator[Move]:
    for state, reachable in table.items():
        for to in sorted(reachable, key=lambda each: each.name):
            yield state.name, to.name, ""


def _state_diagram(first: str, last: str, moves: Iterable[Move]) -> str:
    """Draw each pair of states once, with all events that lead from one to the other; events that stay are left out."""
    events: dict[tuple[str, str], list[str]] = {}
    for start, to, event in moves:
        if start != to:
            events.setdefault((start, to), []).append(event)
    lines = [f"    {start} --> {to}{_label(names)}" for (start, to), names in events.items()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {first}", *lines, f"    {last} --> [*]", ""])


def _label(names: list[str]) -> str:
    return f" : {', '.join(names)}" if any(names) else ""


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
