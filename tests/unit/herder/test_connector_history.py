# SPDX-License-Identifier: Apache-2.0
"""The history of connectors put together from this worker's part and those of others."""

from __future__ import annotations

import time
from typing import Any

from headrace.api.errors import RetriableError
from headrace.herder.connector_history import ConnectorHistory, HistoryServices
from headrace.herder.herder_queries import HerderQueries
from headrace.herder.worker_parts import WorkerParts
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TaskStatus
from headrace.rest.api_schemas import SCHEMAS
from headrace.worker.rate_history import PERIOD_S, POINTS, History
from headrace.worker.stages import Stages

NONE = (None,) * (POINTS - 1)
UNTIL = 4000 * PERIOD_S


def part(value: float) -> History:
    return History(UNTIL, (*NONE, value), (*NONE, None))


class Statuses:
    def connector(self, name: str) -> ConnectorStatus | None:
        return ConnectorStatus(name, State.RUNNING, "there:1", 3) if name == "c" else None

    def tasks(self, connector: str) -> list[TaskStatus]:
        workers = ("here:1", "there:1", "away:1", "") if connector == "c" else ()
        return [TaskStatus(ConnectorTaskId("c", n), State.RUNNING, worker, 3) for n, worker in enumerate(workers)]


class Others:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    def worker_history(self, worker_id: str, connector: str | None) -> Any:
        self.asked.append((worker_id, connector))
        if worker_id == "away:1":
            raise RetriableError("connection refused")
        return part(10).to_json()


def history(others: Others | None) -> ConnectorHistory:
    config = ClusterConfigState(connector_configs={"c": {}, "d": {}}, task_counts={}, task_configs={})
    queries = HerderQueries(lambda: config, Statuses(), lambda _: "source", tuple, lambda: "id")
    stages = Stages(time.monotonic)
    services = HistoryServices("here:1", lambda connector: part(1 if connector else 2), others)
    return ConnectorHistory(queries, services, WorkerParts("here:1", stages, time.monotonic), stages)


def test_all_workers_are_asked_and_their_parts_added() -> None:
    others = Others()
    found = history(others).of("c").result(20)
    assert found.keys() == SCHEMAS["History"]["properties"].keys()
    assert (found["until"], found["period"]) == (UNTIL * 1000, PERIOD_S * 1000)
    assert found["records_per_second"] == (*NONE, 11)
    assert found["lag"] == (*NONE, None)
    assert sorted(others.asked) == [("away:1", "c"), ("there:1", "c")]
    assert list(found["missing"]) == ["away:1"] and "connection refused" in found["missing"]["away:1"]
    assert history(others).of(None).result(20)["records_per_second"] == (*NONE, 12)


def test_a_worker_that_is_alone_asks_no_other() -> None:
    found = history(None).of(None).result(20)
    assert (found["records_per_second"], found["missing"]) == ((*NONE, 2), {})
    assert history(None).here("c") == part(1).to_json()
