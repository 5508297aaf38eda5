# SPDX-License-Identifier: Apache-2.0
"""Waits until a connector and all reports about it are as in the model, and shows the differences side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import psutil

from tests.faults.rest_cluster import GROUP, RestCluster, Zombie, look, read_journal
from tests.faults.rest_model import PARTITIONS, PAUSED, RUNNING, STOPPED, Model

ALL: Final = range(PARTITIONS)
"""All source partitions, and at least all tasks."""
_SETTLING_S: Final = 30
"""A worker that was started again may have to start Spark first."""
_FENCED: Final = (47, 90)
"""The broker's errors INVALID_PRODUCER_EPOCH and PRODUCER_FENCED."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """A task whose process stands still within a transaction; as soon as it is replaced, its producer is a zombie."""

    task: int
    process: psutil.Process
    partitions: tuple[int, ...]
    producer: Zombie


class Watch:
    """Of one connector and the topic of its name. `in_doubt` is set by the caller that requests something."""

    def __init__(self, cluster: RestCluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.journal = cluster.directory / f"{name}.journal"
        self.model = Model()
        self.frozen: Frozen | None = None
        self.in_doubt = False
        self.failed = False
        self._zombies: list[Zombie] = []
        self._stood_still: list[psutil.Process] = []
        self._renewed: dict[int, int] = {}
        """For tasks that had to start again: how long the journal was before."""
        self._flowed: dict[int, int] = {}
        """How many records of each partition were seen at the last look."""
        self._still: dict[int, int] | None = None
        """The same, if there may be no more while it is paused."""

    def replaced(self, tasks: Iterable[int]) -> None:
        """These tasks end, or start again."""
        tasks = set(tasks)
        self._renewed.update(dict.fromkeys(tasks, len(read_journal(self.journal))))
        if self.frozen and self.frozen.task in tasks:
            self._zombies.append(self.frozen.producer)
            self._stood_still.append(self.frozen.process)
            self.frozen = None

    def may_write(self) -> None:
        """It is paused no longer."""
        self._still = None

    def freeze(self, partition: int) -> None:
        """Suspend the process that writes this partition, when it has records in a transaction and no offsets yet."""
        start = next(one for one in reversed(read_journal(self.journal)) if partition in one.own)
        process = psutil.Process(start.pid)
        id = f"{GROUP}-{self.name}-{start.task}"
        found: list[Zombie] = []

        def within_a_transaction() -> bool:
            process.suspend()
            producer = self.cluster.open_transaction(id, self.name)
            if producer is None:
                process.resume()
            else:
                found.append(producer)
            return bool(found)

        look(within_a_transaction, 20, lambda: f"a transaction of {id} that holds records and no offsets")
        self.frozen = Frozen(start.task, process, start.own, found[0])

    def close(self) -> None:
        """End the processes that still stand still."""
        for process in (*self._stood_still, *([self.frozen.process] if self.frozen else [])):
            if process.is_running():
                process.kill()

    # ---- what has to be

    def settle(self) -> None:
        """Wait until everything is as the model says. AssertionError if it never is."""
        if not self.in_doubt:
            return
        last = [""]

        def settled() -> bool:
            last[0] = self._difference()
            return not last[0]

        self.failed = True
        look(settled, _SETTLING_S, lambda: f"{last[0]}\n{self.model}\n{self.cluster.logs()}")
        self.failed = self.in_doubt = False

    def _difference(self) -> str:
        """The first thing that is not as the model says, by now."""
        looks: tuple[Callable[[], str], ...] = (
            self._shown,
            self._status_topic,
            self._starts,
            self._successors,
            self._flow,
            self._offsets,
        )
        return next((found for one in looks if (found := one())), "")

    def _shown(self) -> str:
        """No ghost: every worker shows the connector and its tasks as they are."""
        expected = {"connector": self.model.state if self.model.exists else "404"}
        expected |= {f"task {task}": self.model.state for task in range(self.model.running)}
        for number in sorted(self.cluster.up):
            found = same(expected, self._shown_by(number))
            if found:
                return f"GET /connectors/{self.name}/status of worker {number}:\n{found}"
        return ""

    def _shown_by(self, number: int) -> dict[str, str]:
        answer = self.cluster.workers[number].rest.get(f"/connectors/{self.name}/status")
        if answer.status_code != 200:
            return {"connector": f"{answer.status_code}"}
        status = answer.json()
        addresses = self.cluster.addresses()

        def state(one: Mapping[str, str]) -> str:
            return one["state"] if one["worker_id"] in addresses else f"{one['state']} on a worker that is gone"

        return {
            "connector": state(status["connector"]),
            **{f"task {task['id']}": state(task) for task in status["tasks"]},
        }

    def _status_topic(self) -> str:
        """No ghost: the status topic's newest records agree, and name nothing that does not exist."""
        seen = self.cluster.statuses(self.name)
        if self.model.exists:
            seen = {key: state for key, state in seen.items() if not key.startswith("status-topic-")}
        found = same(self.model.statuses(self.name), seen)
        return f"the status topic:\n{found}" if found else ""

    def _starts(self) -> str:
        """The tasks that run are those of the newest task configurations, started since they had to be."""
        if not self._writes:
            return ""
        starts = list(enumerate(read_journal(self.journal)))
        expected = {task: self.model.task_label for task in range(self.model.running)}
        seen = {one.task: one.label for at, one in starts if at >= self._renewed.get(one.task, 0)}
        found = same(expected, {task: label for task, label in seen.items() if task in expected})
        return f"labels of the newest starts of tasks:\n{found}" if found else ""

    @property
    def _writes(self) -> bool:
        return self.model.exists and self.model.state == RUNNING

    def _successors(self) -> str:
        """No zombie commit: those that have successors can write no more."""
        if self._writes:
            self.refuse_zombies()
        return ""

    def refuse_zombies(self) -> None:
        """Assert that the broker refuses what former tasks have left on the way."""
        for zombie in self._zombies:
            code = self.cluster.commit(zombie)
            assert code in _FENCED, f"expected: an error {_FENCED}; seen: {code}, to the commit of replaced {zombie}"
        self._zombies.clear()

    def _flow(self) -> str:
        """No zombie commit: all is in order; and the tasks that are to write do, and others do not."""
        records = self.cluster.records(self.name)
        disorder = self.model.disorder(records)
        assert not disorder, "\n".join((*disorder, f"{self.model}", *map(str, read_journal(self.journal))))
        counts = {partition: len(records.get(partition, ())) for partition in ALL}
        if self._still is not None:
            assert counts == self._still, (
                f"records of each partition, written while paused:\n{same(self._still, counts)}"
            )
        if self._writes:
            owners = {partition: one.start for one in read_journal(self.journal) for partition in one.own}
            frozen = self.frozen.partitions if self.frozen else ()
            expected = {partition: owners[partition] for partition in ALL if partition not in frozen}
            seen = {p: records[p][-1].start for p in expected if counts[p] > self._flowed.get(p, 0)}
            found = same(expected, seen)
            if found:
                return f"who wrote the newest record of each partition, since the last look:\n{found}"
        self._flowed = counts
        self._still = counts if self.model.exists and self.model.state == PAUSED else None
        return ""

    def _offsets(self) -> str:
        """What was committed is kept, reported while the connector is stopped, and outlives it."""
        if self.model.exists:
            return self.offsets_reported() if self.model.state == STOPPED else ""
        expected = self.model.offsets(self.cluster.records(self.name))
        found = same(expected, self.cluster.stored_offsets(self.name))
        return f"source offsets of the deleted connector, in the topic:\n{found}" if found else ""

    def offsets_reported(self) -> str:
        """Return what is wrong with the offsets of the stopped connector that the workers report."""
        for number in sorted(self.cluster.up):
            answer = self.cluster.workers[number].rest.get(f"/connectors/{self.name}/offsets")
            reported = {one["partition"]["partition"]: one["offset"]["seqno"] for one in answer.json()["offsets"]}
            found = same(self.model.offsets(self.cluster.records(self.name)), reported)
            if found:
                return f"GET /connectors/{self.name}/offsets of worker {number}:\n{found}"
        return ""


def same(expected: Mapping[Any, Any], seen: Mapping[Any, Any]) -> str:
    """Nothing if they are equal, else both side by side."""
    if expected == seen:
        return ""
    keys = sorted(expected.keys() | seen.keys(), key=str)
    rows = [
        ("", "expected", "seen"),
        *((str(key), str(expected.get(key, "-")), str(seen.get(key, "-"))) for key in keys),
    ]
    first, second = (max(len(row[column]) for row in rows) for column in range(2))
    return "\n".join(
        f"  {key:{first}}  {wanted:{second}}  {found}{'' if wanted == found or not key else '   <--'}"
        for key, wanted, found in rows
    )
