# SPDX-License-Identifier: Apache-2.0
"""A failed connector as lineage sees it."""

from __future__ import annotations

from typing import Any

from headrace.lineage.lineage_runs import Condition
from headrace.lineage.lineage_view import LineageView
from headrace.model.info import ConnectorInfo, ConnectorState, ConnectorStateInfo

CONFIG = {"connector.class": "x", "db.password": "correct-horse"}
TRACE = "OSError: no login with correct-horse at jdbc:db://me:staple@db/a\n  File x"


class Cluster:
    """The herder, and its worker."""

    def connector_info(self, name: str) -> ConnectorInfo:
        return ConnectorInfo(name, CONFIG, (), "source")

    def connector_status(self, name: str) -> ConnectorStateInfo:
        return ConnectorStateInfo(name, ConnectorState("FAILED", "w:1", TRACE), (), "source")

    def active_topics(self, name: str) -> tuple[str, ...]:
        return ()

    def connector_names(self) -> set[str]:
        return {"c"}

    def record_schemas(self) -> dict[Any, Any]:
        return {}

    def connector_datasets(self, name: str, topics: Any) -> Any:
        raise TimeoutError

    def connector_starts(self, name: str) -> int:
        return 1


def test_a_trace_that_leaves_the_cluster_has_no_secrets() -> None:
    cluster: Any = Cluster()
    seen = LineageView(cluster, cluster, "b:1").connectors()["c"]
    assert seen.condition is Condition.FAILED
    assert seen.error == "OSError: no login with [hidden] at jdbc:db://me:[hidden]@db/a\n  File x"
