# SPDX-License-Identifier: Apache-2.0
"""Requests about a connector in any order, to either worker, and the kills of workers between them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import Rule, RuleBasedStateMachine, RuleStrategy, initialize, precondition, rule

from tests.faults.rest_cluster import CLASS, RestCluster
from tests.faults.rest_model import PARTITIONS, PAUSED, RUNNING, STOPPED, Cut, Model
from tests.faults.rest_watch import ALL, Watch
from tests.support.sinks import make_topic

_names = (f"c{number}" for number in itertools.count())

_WORKER = st.integers(0, 1)
_TASKS = st.integers(1, PARTITIONS + 1)
_STOP_MS = st.sampled_from([0, 600, 1500])
"""How long the last task takes to stop: beyond a second it is killed."""
_OFFSETS = st.dictionaries(st.sampled_from(ALL), st.none() | st.integers(0, 40), min_size=1)
_WAIT = st.sampled_from([True, True, False])
"""Whether everything is looked at after the step; else the next step follows at once."""
_KILLS, _FREEZES = 1, 2
"""At most in an example: they take far longer than requests."""


def _is(self: RestStateMachine) -> bool:
    return self.watch.model.exists


def _is_not(self: RestStateMachine) -> bool:
    return not self.watch.model.exists


def _none_frozen(self: RestStateMachine) -> bool:
    return not self.watch.frozen


class _AnyRule(RuleStrategy):
    """Each possible step is as likely as any other; by itself Hypothesis leaves some kinds out of each example."""

    def _rule_is_enabled(self, r: Rule) -> bool:
        return bool(self.is_valid(r))


class RestStateMachine(RuleBasedStateMachine):
    """One connector, created again after each deletion.

    Where the outcome of a request depends on how far the one before has come, what it asked for is waited for first.
    """

    cluster: ClassVar[RestCluster]

    def __init__(self) -> None:
        super().__init__()
        self._rules_strategy = _AnyRule(self)
        self.name = next(_names)
        self.watch = Watch(self.cluster, self.name)
        self.stop_ms = 0
        self.kills = self.freezes = 0
        make_topic(self.cluster.bootstrap, self.name, PARTITIONS)

    # ---- requests

    @initialize(worker=_WORKER, tasks=_TASKS, stop_ms=_STOP_MS, example=st.integers(0, 2**32))
    def first(self, worker: int, tasks: int, stop_ms: int, example: int) -> None:
        """No two examples begin alike: Hypothesis takes for granted that what does goes on alike; races do not.

        The simplest example, which is the same step over and over, is left out.
        """
        assume(example)
        self.create(worker, tasks, stop_ms)

    @precondition(_is_not)
    @rule(worker=_WORKER, tasks=_TASKS, stop_ms=_STOP_MS, state=st.sampled_from([RUNNING, PAUSED, STOPPED]), wait=_WAIT)
    def create(self, worker: int, tasks: int, stop_ms: int = 0, state: str = RUNNING, wait: bool = True) -> None:
        self.stop_ms = stop_ms
        self.watch.may_write()
        self.model = self.model.created(state, tasks)
        body = {"name": self.name, "config": self._config(tasks), "initial_state": state}
        self._ask(worker, "POST /connectors", 201, body=body, wait=wait)

    @precondition(_is)
    @rule(worker=_WORKER, tasks=_TASKS, stop_ms=_STOP_MS, wait=_WAIT)
    def update_config(self, worker: int, tasks: int, stop_ms: int, wait: bool) -> None:
        self.stop_ms = stop_ms
        self._configured(tasks)
        self._ask(worker, f"PUT /connectors/{self.name}/config", 200, body=self._config(tasks), wait=wait)

    @precondition(_is)
    @rule(worker=_WORKER, tasks=_TASKS, wait=_WAIT)
    def change_tasks_max(self, worker: int, tasks: int, wait: bool) -> None:
        self._configured(tasks)
        patch = {key: text for key, text in self._config(tasks).items() if key in ("tasks.max", "label")}
        self._ask(worker, f"PATCH /connectors/{self.name}/config", 200, body=patch, wait=wait)

    @precondition(_is)
    @precondition(_none_frozen)
    @rule(worker=_WORKER)
    def pause(self, worker: int) -> None:
        self.watch.settle()
        self.model = self.model.paused()
        self._ask(worker, f"PUT /connectors/{self.name}/pause", 202)

    @precondition(_is)
    @rule(worker=_WORKER, wait=_WAIT)
    def stop(self, worker: int, wait: bool = True) -> None:
        self.watch.replaced(ALL)
        self.model = self.model.stopped()
        self._ask(worker, f"PUT /connectors/{self.name}/stop", 204, wait=wait)

    @precondition(_is)
    @rule(worker=_WORKER, wait=_WAIT)
    def resume(self, worker: int, wait: bool) -> None:
        self.watch.may_write()
        self.model = self.model.resumed()
        self._ask(worker, f"PUT /connectors/{self.name}/resume", 202, wait=wait)

    @precondition(_is)
    @rule(worker=_WORKER, with_offsets=st.booleans(), wait=_WAIT)
    def delete(self, worker: int, with_offsets: bool = False, wait: bool = True) -> None:
        self.watch.replaced(ALL)
        self.model = self.model.deleted(with_offsets)
        query = "?includeOffsets=true" if with_offsets else ""
        self._ask(worker, f"DELETE /connectors/{self.name}{query}", 204, wait=wait)

    @precondition(_is)
    @rule(worker=_WORKER, include_tasks=st.booleans(), only_failed=st.booleans())
    def restart(self, worker: int, include_tasks: bool, only_failed: bool) -> None:
        self.watch.settle()
        if include_tasks and not only_failed:
            self.watch.replaced(range(self.model.running))
        wanted = {"includeTasks": include_tasks, "onlyFailed": only_failed}
        query = "&".join(f"{name}={str(value).lower()}" for name, value in wanted.items())
        code = 202 if include_tasks or only_failed else 204
        self._ask(worker, f"POST /connectors/{self.name}/restart?{query}", code)

    @precondition(_is)
    @rule(worker=_WORKER, task=st.sampled_from(ALL))
    def restart_task(self, worker: int, task: int) -> None:
        """A task that there is not, or no more, is refused at once."""
        self.watch.settle()
        exists = task < self.model.running
        if exists:
            self.watch.replaced([task])
        self._ask(worker, f"POST /connectors/{self.name}/tasks/{task}/restart", *((204,) if exists else (404, 409)))

    @precondition(_is)
    @rule(worker=_WORKER, offsets=_OFFSETS)
    def alter_offsets(self, worker: int, offsets: Mapping[int, int | None]) -> None:
        """Of a connector that is stopped, or has just been asked to stop."""
        self._change_offsets(worker, "PATCH", offsets, _altered(offsets))

    @precondition(_is)
    @rule(worker=_WORKER)
    def reset_offsets(self, worker: int) -> None:
        """As above."""
        self._change_offsets(worker, "DELETE", dict.fromkeys(ALL))

    @precondition(_is)
    @precondition(lambda self: self.model.state != STOPPED)
    @rule(worker=_WORKER)
    def change_offsets_too_early(self, worker: int) -> None:
        """Refused, as only those of a stopped connector can be changed."""
        self.watch.settle()
        self._ask(worker, f"PATCH /connectors/{self.name}/offsets", 400, body=_altered({0: 7}))
        self._ask(worker, f"DELETE /connectors/{self.name}/offsets", 400)

    # ---- faults

    @precondition(_is)
    @precondition(_none_frozen)
    @precondition(lambda self: self.model.state == RUNNING and self.freezes < _FREEZES)
    @rule(partition=st.sampled_from(ALL))
    def freeze_task(self, partition: int) -> None:
        """The process of the task that has this partition stands still within a transaction, and never goes on."""
        self.freezes += 1
        self.watch.settle()
        self.watch.freeze(partition)
        _say(f"{self.watch.frozen}")

    @precondition(lambda self: len(self.cluster.up) == 2 and self.kills < _KILLS)
    @rule(worker=_WORKER)
    def kill_worker(self, worker: int) -> None:
        """SIGKILL; if a task's process stands still, of the worker that has it."""
        self.kills += 1
        self.watch.settle()
        frozen, tasks = self.watch.frozen, self._tasks_by_worker()
        if frozen:
            worker = next(number for number, own in tasks.items() if frozen.task in own)
        self.watch.replaced(tasks[worker])
        self.cluster.kill(worker)
        _say(f"worker {worker} is killed")
        self._looked_at()

    @precondition(lambda self: len(self.cluster.up) == 1)
    @precondition(_none_frozen)
    @rule()
    def start_worker(self) -> None:
        self.watch.settle()
        self.cluster.start(1 - next(iter(self.cluster.up)))
        _say("the worker is started again")
        self._looked_at()

    # ---- what steps have in common

    @property
    def model(self) -> Model:
        return self.watch.model

    @model.setter
    def model(self, model: Model) -> None:
        self.watch.model = model

    def _config(self, tasks_max: int) -> dict[str, str]:
        return {
            "name": self.name,
            "connector.class": CLASS,
            "tasks.max": f"{tasks_max}",
            "topic": self.name,
            "partitions": f"{PARTITIONS}",
            "label": f"{self.model.label}",
            "journal": str(self.watch.journal),
            "stop.ms": f"{self.stop_ms}",
            "transaction.boundary": "interval",
            "transaction.boundary.interval.ms": "400",
        }

    def _configured(self, tasks_max: int) -> None:
        if self.model.state == RUNNING:
            self.watch.replaced(ALL)
        self.model = self.model.configured(tasks_max)

    def _ask(self, worker: int, request: str, *codes: int, body: Any = None, wait: bool = True) -> None:
        self.watch.failed = True
        answer = self.cluster.ask(worker, request, body)
        _say(f"worker {worker}: {request}: {answer.status_code}{'' if wait else ', and on'}")
        assert answer.status_code in codes, f"{request}: expected {codes}, seen {answer.status_code} {answer.text}"
        self.watch.failed = False
        self._looked_at(wait)

    def _looked_at(self, wait: bool = True) -> None:
        self.watch.in_doubt = True
        if wait:
            self.watch.settle()

    def _change_offsets(self, worker: int, method: str, offsets: Mapping[int, int | None], body: Any = None) -> None:
        """From its answer on no former task can write, and all workers report the new offsets."""
        if self.model.state != STOPPED:
            self.stop(worker, wait=False)
        self._ask(worker, f"{method} /connectors/{self.name}/offsets", 200, body=body, wait=False)
        self.watch.refuse_zombies()
        records = self.cluster.records(self.name)
        self.model = self.model.cut(
            {
                partition: Cut(0 if seqno is None else seqno + 1, index=len(records.get(partition, ())))
                for partition, seqno in offsets.items()
            }
        )
        reported = self.watch.offsets_reported()
        assert not reported, reported

    def _tasks_by_worker(self) -> dict[int, list[int]]:
        """Which tasks run where, by the connector's status."""
        found: dict[int, list[int]] = {number: [] for number in self.cluster.up}
        if self.model.exists:
            addresses = self.cluster.addresses()
            for task in self.cluster.running()[0].status(self.name)["tasks"]:
                found[addresses[task["worker_id"]]].append(task["id"])
        return found

    def teardown(self) -> None:
        """The last look, and one more after a deletion; then there are two workers for the next example."""
        failed = self.watch.failed
        try:
            if not failed:
                self.watch.settle()
            if self.model.exists:
                self.delete(0, wait=not failed)
        finally:
            self.watch.close()
            if len(self.cluster.up) == 1:
                self.cluster.start(1 - next(iter(self.cluster.up)))


def _altered(offsets: Mapping[int, int | None]) -> dict[str, Any]:
    """The body of a request to alter them."""
    return {
        "offsets": [
            {"partition": {"partition": partition}, "offset": None if seqno is None else {"seqno": seqno}}
            for partition, seqno in offsets.items()
        ]
    }


def _say(what: str) -> None:
    """For who looks for the cause of a failure: when what was done."""
    print(f"{datetime.now():%H:%M:%S.%f} {what}")
