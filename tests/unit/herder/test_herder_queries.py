# SPDX-License-Identifier: Apache-2.0
"""Answers about connectors."""

from __future__ import annotations

import pytest

from headrace.herder.errors import NotFoundError
from headrace.herder.herder_queries import HerderQueries
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import PluginInfo, TaskInfo
from headrace.model.state import ConnectorStatus, State, TaskStatus

TASK = ConnectorTaskId("c", 0)
CONFIG = ClusterConfigState(
    connector_configs={"c": {"connector.class": "X"}, "b": {"connector.class": "X"}},
    task_counts={"c": 1},
    task_configs={TASK: {"k": "v"}},
)


class Statuses:
    def connector(self, name: str) -> ConnectorStatus | None:
        return ConnectorStatus("c", State.RUNNING, "w:1", 3, version="1") if name == "c" else None

    def tasks(self, connector: str) -> tuple[TaskStatus, ...]:
        failed = TaskStatus(ConnectorTaskId("c", 10), State.FAILED, "w:1", 3, trace="boom")
        return (failed, TaskStatus(ConnectorTaskId("c", 2), State.PAUSED, "w:1", 3))


@pytest.fixture
def queries() -> HerderQueries:
    plugins = (PluginInfo("X", "source", "1"), PluginInfo("Y", "converter", "1"))
    return HerderQueries(lambda: CONFIG, Statuses(), lambda config: "source", lambda: plugins, lambda: "id")


def test_what_is_known(queries: HerderQueries) -> None:
    assert queries.connectors() == ("b", "c")
    info = queries.connector_info("c")
    assert (info.config, info.tasks, info.type) == ({"connector.class": "X"}, (TASK,), "source")
    assert queries.task_infos("c") == (TaskInfo(TASK, {"k": "v"}),)
    assert queries.server_info().kafka_cluster_id == "id"
    assert [plugin.class_name for plugin in queries.connector_plugins(True)] == ["X"]


def test_status_has_tasks_in_order_with_their_traces(queries: HerderQueries) -> None:
    status = queries.connector_status("c")
    assert (status.connector.state, status.connector.version) == ("RUNNING", "1")
    assert [(task.id, task.state, task.trace) for task in status.tasks] == [(2, "PAUSED", None), (10, "FAILED", "boom")]


def test_workers_that_run_anything(queries: HerderQueries) -> None:
    assert queries.workers() == {"w:1"}


def test_what_is_not_there(queries: HerderQueries) -> None:
    for query in (queries.connector_info, queries.connector_status, queries.task_infos):
        with pytest.raises(NotFoundError, match="Connector x not found"):
            query("x")
    with pytest.raises(NotFoundError, match="No status found for connector b"):
        queries.connector_status("b")
