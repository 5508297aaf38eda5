# SPDX-License-Identifier: Apache-2.0
"""Which fault comes when, and to whom: a pure function of the seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum


class Kind(Enum):
    """A fault, named in the words of the report."""

    KILL_WORKER = "kill -9 of a worker"
    KILL_LEADER = "kill -9 of the leader"
    KILL_TASK = "kill -9 of a task's process"
    KILL_EXECUTOR = "kill -9 of Spark's JVM, the executor"
    STOP_WORKER = "a worker's own process stands still beyond its session"
    STOP_TREE = "a worker with all its processes stands still beyond its session"
    STOP_TASK = "a task's process stands still"
    STALE_OFFSETS = "kill -9 of a task's process while its worker hears of commits late"
    LATE_CONFIGS = "a worker hears late of new task configurations, which others start with"
    OVERTAKE = "a worker stands still while it starts a task, which others take over"
    BOUNCE_BROKER = "restart of the broker"
    CRASH_BROKER = "kill -9 and restart of the broker"
    LATE_COMMIT = "a commit's request is lost with its connection, and arrives within the next transaction"
    HOLD_ANSWER = "an answer comes late"
    DROP_ANSWER = "an answer is lost with its connection"
    RESET = "all of a worker's connections are lost"
    CUT = "nothing passes one way between a worker and the broker"
    FENCE = "a foreign client takes a task's transactional id over, again and again"
    RECONFIGURE = "another number of tasks"
    RECREATE = "the connector is deleted and created with fewer tasks, while a worker or former tasks stand still"


# How often each comes in a round, and the mean seconds that a cluster needs to take part in the next one.
_ROUND: dict[Kind, tuple[int, float]] = {
    Kind.KILL_WORKER: (1, 6.0),
    Kind.KILL_LEADER: (1, 6.0),
    Kind.KILL_TASK: (3, 1.0),
    Kind.KILL_EXECUTOR: (1, 6.0),
    Kind.STOP_WORKER: (1, 4.0),
    Kind.STOP_TREE: (1, 4.0),
    Kind.STOP_TASK: (2, 1.0),
    Kind.STALE_OFFSETS: (1, 2.0),
    Kind.LATE_CONFIGS: (1, 4.0),
    Kind.OVERTAKE: (1, 8.0),
    Kind.BOUNCE_BROKER: (1, 4.0),
    Kind.CRASH_BROKER: (1, 6.0),
    Kind.LATE_COMMIT: (3, 1.0),
    Kind.HOLD_ANSWER: (1, 1.0),
    Kind.DROP_ANSWER: (3, 1.0),
    Kind.RESET: (1, 1.0),
    Kind.CUT: (2, 3.0),
    Kind.FENCE: (2, 1.0),
    Kind.RECONFIGURE: (2, 2.0),
    Kind.RECREATE: (1, 6.0),
}
BOUNDARIES = ("connector", "interval", "poll")


@dataclass(frozen=True, slots=True)
class Fault:
    """At `at` seconds. `target` and `choice` are any numbers: a worker, a task, a request, in turn of what is there.

    `length` is between 0 and 1: the share of what the fault can last.
    """

    at: float
    kind: Kind
    target: int
    choice: int
    length: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run."""

    boundary: str
    faults: tuple[Fault, ...]


def plan(seed: int, seconds: float, kinds: Sequence[Kind] = tuple(Kind)) -> Plan:
    """The same for the same arguments, on every machine. All kinds come before any comes more often than its share."""
    chance = random.Random(seed)
    boundary = BOUNDARIES[seed % len(BOUNDARIES)]
    faults = []
    at = 0.0
    for kind in _in_turn(chance, kinds):
        at += chance.uniform(0.5, 2.0)
        if at >= seconds:
            break
        faults.append(Fault(at, kind, chance.randrange(1 << 16), chance.randrange(1 << 16), chance.random()))
        at += chance.uniform(0.5, 1.5) * _ROUND[kind][1]
    return Plan(boundary, tuple(faults))


def stretched(planned: Plan, times: float) -> Plan:
    """Return the plan with so many times the time between its faults, which last no longer than before."""
    return replace(planned, faults=tuple(replace(fault, at=fault.at * times) for fault in planned.faults))


def _in_turn(chance: random.Random, kinds: Sequence[Kind]) -> Iterator[Kind]:
    while True:
        turn = [kind for kind in kinds for _ in range(_ROUND[kind][0])]
        chance.shuffle(turn)
        yield from turn
