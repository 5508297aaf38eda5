# SPDX-License-Identifier: Apache-2.0
"""The runs of connectors: which events follow from what a worker has now. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from headrace.api.datasets import Dataset

INTERVAL: Final = 60.0
"""Seconds between RUNNING events of a run whose datasets do not change."""


class RunState(Enum):
    """OpenLineage's states of a run that are used here, by their names."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"


class Condition(Enum):
    """The condition of a connector with its tasks."""

    UP = "up"
    FAILED = "failed"
    """It, or one of its tasks, has failed."""
    DOWN = "down"
    """It is stopped."""
    UNCLEAR = "unclear"
    """It is between others, as while it starts."""


@dataclass(frozen=True, slots=True)
class SeenConnector:
    """A connector on this worker; ``starts`` counts the starts of its instances here. ``error`` is a trace."""

    starts: int
    condition: Condition
    inputs: tuple[Dataset, ...] = ()
    outputs: tuple[Dataset, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a connector, ``open`` until it is complete or has failed. ``reported`` is the time of its last event."""

    id: str
    seen: SeenConnector
    reported: float
    open: bool = True


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event about a run."""

    connector: str
    run_id: str
    state: RunState
    seen: SeenConnector


Runs = Mapping[str, Run]


def step(
    runs: Runs, seen: Mapping[str, SeenConnector], now: float, new_id: Callable[[], str]
) -> tuple[Runs, list[RunEvent]]:
    """Return the runs by connector after what was seen at ``now``, in seconds, and the events that follow from it."""
    events: list[RunEvent] = []
    after: dict[str, Run] = {}
    for name in sorted({*runs, *seen}):
        run = _step_one(name, runs.get(name), seen.get(name), now, new_id, events)
        if run is not None:
            after[name] = run
    return after, events


def _step_one(
    name: str,
    run: Run | None,
    seen: SeenConnector | None,
    now: float,
    new_id: Callable[[], str],
    events: list[RunEvent],
) -> Run | None:
    """Return the connector's run, and add its events."""
    if seen is None or seen.condition is Condition.DOWN:
        if run is not None and run.open:
            events.append(RunEvent(name, run.id, RunState.COMPLETE, run.seen))
        return None
    if seen.condition is Condition.UNCLEAR:
        return run
    same = run is not None and run.seen.starts == seen.starts
    if run is not None and run.open and not same:
        events.append(RunEvent(name, run.id, RunState.COMPLETE, run.seen))
    # A run that has failed is followed by another one when nothing is FAILED any more.
    if run is None or not same or (not run.open and seen.condition is Condition.UP):
        run = Run(new_id(), seen, now)
        events.append(RunEvent(name, run.id, RunState.START, seen))
    elif run.open and seen.condition is Condition.UP and (_changed(run.seen, seen) or now - run.reported >= INTERVAL):
        run = replace(run, seen=seen, reported=now)
        events.append(RunEvent(name, run.id, RunState.RUNNING, seen))
    if run.open and seen.condition is Condition.FAILED:
        events.append(RunEvent(name, run.id, RunState.FAIL, seen))
        run = replace(run, seen=seen, reported=now, open=False)
    return run


def _changed(before: SeenConnector, now: SeenConnector) -> bool:
    return (before.inputs, before.outputs) != (now.inputs, now.outputs)
