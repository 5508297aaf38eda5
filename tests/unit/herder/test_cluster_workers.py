# SPDX-License-Identifier: Apache-2.0
"""All workers of a group by the leader's members, by statuses where it does not answer, and their lags."""

from __future__ import annotations

import time
from collections.abc import Collection
from concurrent.futures import Future
from typing import Any

import pytest

from headrace.api.errors import RetriableError
from headrace.herder.cluster_workers import ClusterWorkers, WorkerSources
from headrace.herder.core.herder_state import HerderState, Membership
from headrace.herder.herder_queries import HerderQueries
from headrace.herder.worker_parts import WorkerParts
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import SparkCores, WorkersInfo
from headrace.model.state import ConnectorStatus, State, TaskStatus
from headrace.rest.api_schemas import SCHEMAS
from headrace.rest.entities import to_json
from headrace.worker.stages import Stages

OFFSET = 40
MEMBERS = ("http://here:1/", "http://idle:1/", "http://away:1/", "http://old:1/")


class Statuses:
    def connector(self, name: str) -> ConnectorStatus | None:
        return ConnectorStatus(name, State.RUNNING, "busy:1", 3)

    def tasks(self, connector: str) -> list[TaskStatus]:
        return [TaskStatus(ConnectorTaskId("c", 0), State.RUNNING, "here:1", 3)]


class Worker:
    def __init__(self) -> None:
        self.cores: Future[SparkCores | None] = Future()
        self.cores.set_result(SparkCores(1, 4, 3))

    def connector_names(self) -> frozenset[str]:
        return frozenset({"c"})

    def task_ids(self) -> frozenset[ConnectorTaskId]:
        return frozenset({ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)})

    def spark_cores(self) -> Future[SparkCores | None]:
        return self.cores


class Others:
    """Other workers: ``offset`` is how far ``idle:1`` has read, ``members`` what the leader says."""

    def __init__(self, offset: int = OFFSET, members: Collection[str] = MEMBERS) -> None:
        self.offset, self.members = offset, members

    def worker_report(self, worker_id: str) -> Any:
        if worker_id == "away:1":
            raise RetriableError("connection refused")
        if worker_id == "old:1":
            return {"worker_id": worker_id}
        own = sources("here:1", None)
        report = ClusterWorkers(*parts(own)).here()
        return {
            **report,
            "worker_id": worker_id,
            "spark": None,
            "config_offset": self.offset,
            "members": self.members,
            "of_a_later_version": 1,
        }


def sources(leader: str | None, others: Others | None, end: int | None = OFFSET, **more: Any) -> WorkerSources:
    """``end``: what a read of the config topic to its end finds; None if it cannot be read."""
    membership = leader and Membership(3, "m", "l", f"http://{leader}/", OFFSET, frozenset(), frozenset())
    state = HerderState(False, config=ClusterConfigState(offset=OFFSET), membership=membership or None)

    def refresh(timeout: float) -> ClusterConfigState:
        if end is None:
            raise RetriableError("the brokers do not answer")
        return ClusterConfigState(offset=end)

    return WorkerSources("http://here:1/", Worker(), lambda: state, refresh, others=others, **more)  # type: ignore[arg-type]


def parts(own: WorkerSources) -> tuple[HerderQueries, WorkerSources, WorkerParts, Stages]:
    config = ClusterConfigState(connector_configs={"c": {}})
    stages = Stages(time.monotonic)
    queries = HerderQueries(lambda: config, Statuses(), lambda _: "source", tuple, lambda: "id")  # type: ignore[arg-type]
    return queries, own, WorkerParts("here:1", stages, time.monotonic), stages


def found(own: WorkerSources) -> WorkersInfo:
    return ClusterWorkers(*parts(own)).all().result(20)


def lags(info: WorkersInfo) -> dict[str, int]:
    return {each.worker_id: each.config_lag for each in info.workers}


def test_the_leader_lists_its_members_also_those_that_run_nothing() -> None:
    info = found(sources("here:1", Others(OFFSET - 7), members=lambda: MEMBERS))
    assert (info.leader, info.config_end, lags(info)) == ("here:1", OFFSET, {"here:1": 0, "idle:1": 7})
    assert [each.leader for each in info.workers] == [True, False]
    own, idle = info.workers
    assert (own.connectors, own.tasks, own.spark, idle.spark) == (1, 2, SparkCores(1, 4, 3), None)
    assert own.memory_bytes > 1_000_000 and own.cpus > 0 and own.started_at > 1_600_000_000_000
    assert "connection refused" in info.missing["away:1"] and "another version" in info.missing["old:1"]
    shown = to_json(info)
    assert shown.keys() == SCHEMAS["Workers"]["properties"].keys()
    assert shown["workers"][0].keys() == SCHEMAS["Worker"]["properties"].keys()


def test_a_follower_asks_the_leader() -> None:
    info = found(sources("lead:1", Others(members=("http://lead:1/", "http://here:1/", "http://idle:1/"))))
    assert (info.leader, lags(info), info.missing) == ("lead:1", {"here:1": 0, "idle:1": 0, "lead:1": 0}, {})


@pytest.mark.parametrize("leader", ["away:1", "old:1", None])
def test_without_an_answer_of_the_leader_workers_are_those_of_the_statuses(leader: str | None) -> None:
    info = found(sources(leader, Others()))
    assert info.leader == leader and lags(info).keys() == {"here:1", "busy:1"}
    assert info.missing.keys() == {leader} - {None}


def test_what_lies_between_the_config_topics_end_and_the_herder_is_the_lag() -> None:
    assert lags(found(sources("here:1", None, end=OFFSET + 5))) == {"here:1": 5}
    # It cannot read the topic: the others know how far behind them it is.
    assert lags(found(sources("lead:1", Others(OFFSET + 3), end=None)))["here:1"] == 3
    assert lags(found(sources("here:1", None, end=None))) == {"here:1": 0}


def test_spark_that_does_not_answer_holds_nothing_up() -> None:
    own = sources("here:1", None)
    own.worker.cores = Future()  # type: ignore[attr-defined]
    assert [each.spark for each in found(own).workers] == [None]
