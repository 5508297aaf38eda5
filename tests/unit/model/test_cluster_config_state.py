# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId


def test_a_connector_has_the_tasks_that_are_listed_and_none_while_it_is_inconsistent() -> None:
    config = ClusterConfigState(task_counts={"a": 2, "b": 1}, inconsistent=frozenset({"b"}))
    for name in ("a", "b", "c"):
        for number in range(-1, 4):
            id = ConnectorTaskId(name, number)
            assert config.has_task(id) == (id in config.tasks(name))
    assert config.has_task(ConnectorTaskId("a", 1))
