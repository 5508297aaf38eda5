# SPDX-License-Identifier: Apache-2.0
"""`python -m bench.group_simulation`: rebalances of a large group, by the real assignor and without processes.

After each event the group's rounds continue until nothing moves any more. It is an error if a connector or task is with
two workers at once, if one is with none at the end, if the shares differ by more than one, or if more work moves from
one worker that stays to another than has to.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from headrace.distributed.group.assignors import NOTHING, Round, Share, with_work
from headrace.distributed.group.connect_protocol import (
    ConnectProtocol,
    MemberMetadata,
    encode_assignment,
    encode_metadata,
)
from headrace.model.assignment import Assignment
from tests.unit.distributed.simulated_group import Group, Worker, work_of

DELAY: Final = 300.0
LEADER: Final = "connect-1-4f0c2f5e-9f0b-4c53-8f0e-3b6a1d2c7e90"
BROKER_LIMIT: Final = 1_048_588
"""Bytes of a record that a broker takes by default (``message.max.bytes``)."""


@dataclass
class Outcome:
    """What an event has led to: its rounds, the most CPU seconds of one, what moved, and bytes in Kafka."""

    event: str
    must_move: int = 0
    """Connectors and tasks that have to move between workers that stay."""
    rounds: int = 0
    longest: float = 0.0
    moved: int = 0
    group_bytes: int = 0
    """Metadata and assignments of all members in one round, which are one record of the broker's."""
    member_bytes: int = 0


@dataclass
class Simulation:
    """A group, the sizes of its connectors, and what has happened to it so far."""

    dice: random.Random
    tasks: dict[str, int]
    group: Group = field(default_factory=lambda: Group(DELAY))
    outcomes: list[Outcome] = field(default_factory=list)
    _number: int = 0

    def begin(self, workers: int) -> None:
        """Start all workers at once, with all connectors there."""
        self.group.work = work_of(self.tasks)
        for number in range(workers):
            self.group.join(f"http://connect-{number}.example.com:8083")
        self._settle(Outcome("all workers start"))

    def event(self) -> None:
        """Let one thing happen, drawn by chance, and wait for its end."""
        kind = self.dice.choice((self._join, self._kill, self._kill_leader, self._return, self._change, self._remove))
        self._settle(kind())

    def _join(self) -> Outcome:
        self._number += 1
        self.group.join(f"http://more-{self._number}.example.com:8083")
        workers, work = len(self.group.workers), self.group.work
        return Outcome("a worker joins", must_move=len(work.connectors) // workers + len(work.tasks) // workers)

    def _kill(self) -> Outcome:
        others = sorted(self.group.workers.keys() - {self.group.leader})
        self.group.kill(self.dice.choice(others))
        return Outcome("a worker goes for good")

    def _kill_leader(self) -> Outcome:
        assert self.group.leader is not None
        self.group.kill(self.group.leader)
        return Outcome("the leader goes")

    def _return(self) -> Outcome:
        gone = self.dice.choice(sorted(self.group.workers.keys() - {self.group.leader}))
        url = self.group.workers[gone].url
        self.group.kill(gone)
        self.group.round()
        self.group.now += DELAY / 2
        self.group.join(url)
        return Outcome("a worker returns in time")

    def _change(self) -> Outcome:
        self._number += 1
        self.tasks[f"orders-{self._number}-added"] = self.dice.randint(1, 100)
        self.group.work = work_of(self.tasks)
        return Outcome("a connector is created")

    def _remove(self) -> Outcome:
        count = self.tasks.pop(self.dice.choice(sorted(self.tasks)))
        self.group.work = work_of(self.tasks)
        return Outcome("a connector is deleted", must_move=1 + count)

    def _settle(self, outcome: Outcome) -> None:
        before = {id: worker.owned for id, worker in self.group.workers.items()}
        for _ in range(20):
            joining = {id: _metadata_bytes(worker) for id, worker in self.group.workers.items()}
            made = self.group.round()
            outcome.longest = max(outcome.longest, self.group.cpu_seconds)
            self._count(outcome, made, joining)
            self.group.check_nothing_twice()
            leaving = [id for id, worker in self.group.workers.items() if worker.leaving]
            for id in leaving:
                self.group.stop_what_leaves(id)
            if not leaving and self.group.due is None:
                break
            if not leaving and self.group.due is not None:
                self.group.now = max(self.group.now, self.group.due)
        self.group.check_settled()
        stay = {id: share & self.group.work for id, share in before.items()}
        outcome.moved = sum(len(share - self.group.workers[id].owned) for id, share in stay.items())
        assert outcome.moved <= outcome.must_move, outcome
        self.outcomes.append(outcome)

    def _count(self, outcome: Outcome, made: Round, joining: dict[str, int]) -> None:
        outcome.rounds += 1
        sizes = [
            size + _assignment_bytes(made.changes[id].given, made.changes[id].revoked) for id, size in joining.items()
        ]
        outcome.group_bytes = max(outcome.group_bytes, sum(sizes))
        outcome.member_bytes = max(outcome.member_bytes, *sizes)


def _metadata_bytes(worker: Worker) -> int:
    owned = with_work(Assignment("", "", -1), worker.owned, NOTHING)
    return len(encode_metadata(MemberMetadata(worker.url, 0, owned), ConnectProtocol.SESSIONED))


def _assignment_bytes(given: Share, revoked: Share) -> int:
    assignment = with_work(Assignment(LEADER, "http://connect-1.example.com:8083", 0), given, revoked)
    return len(encode_assignment(assignment, ConnectProtocol.SESSIONED))


def simulate(workers: int, connectors: int, tasks: int, events: int, seed: int) -> list[Outcome]:
    """Return what the events of a seed have led to; AssertionError if a rule is broken."""
    simulation = Simulation(random.Random(seed), {f"orders-{n:05}-source": tasks for n in range(connectors)})
    simulation.begin(workers)
    for _ in range(events):
        simulation.event()
    return simulation.outcomes


def main(
    workers: Annotated[int, typer.Option(min=3, help="Workers at the beginning.")] = 200,
    connectors: Annotated[int, typer.Option(min=1, help="Connectors at the beginning.")] = 10_000,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks of each.")] = 5,
    events: Annotated[int, typer.Option(min=0, help="Things that happen, for each seed.")] = 20,
    seeds: Annotated[int, typer.Option(min=1, help="Histories.")] = 3,
) -> None:
    """Simulate a large group and print what each kind of event costs at most."""
    outcomes = [each for seed in range(seeds) for each in simulate(workers, connectors, tasks, events, seed)]
    table = Table(title=f"{workers} workers, {connectors:,} connectors, {connectors * tasks:,} tasks, {seeds} seeds")
    for title in ("event", "times", "rounds", "CPU of a round", "most", "moved", "largest member", "group's record"):
        table.add_column(title, justify="left" if title == "event" else "right")
    for event in dict.fromkeys(each.event for each in outcomes):
        table.add_row(event, *_cells([each for each in outcomes if each.event == event]))
    Console().print(table)
    largest = max(each.group_bytes for each in outcomes)
    print(f"A broker takes {BROKER_LIMIT:,} bytes by default: {largest / BROKER_LIMIT:.0%} of that are needed.")


def _cells(outcomes: list[Outcome]) -> tuple[str, ...]:
    def most(of: Callable[[Outcome], float]) -> float:
        return max(map(of, outcomes))

    return (
        str(len(outcomes)),
        f"{most(lambda each: each.rounds):.0f}",
        f"{median(each.longest for each in outcomes) * 1000:.0f} ms",
        f"{most(lambda each: each.longest) * 1000:.0f} ms",
        f"{most(lambda each: each.moved):,.0f}",
        f"{most(lambda each: each.member_bytes):,.0f} B",
        f"{most(lambda each: each.group_bytes):,.0f} B",
    )


if __name__ == "__main__":
    typer.run(main)
