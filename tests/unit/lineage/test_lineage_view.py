# SPDX-License-Identifier: Apache-2.0
"""A failed connector as lineage sees it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from headrace.api.errors import ConnectError
from headrace.herder.config_infos import ConfigKeyInfo
from headrace.lineage.lineage_runs import Condition
from headrace.lineage.lineage_view import LineageView
from headrace.model.futures import failed_future
from headrace.model.info import ConnectorInfo, ConnectorState, ConnectorStateInfo

CONFIG = {
    "connector.class": "x",
    "db.password": "correct-horse",
    "door": "swordfish",
    "value.converter": "y",
    "value.converter.door": "halibut",
    "key.converter": "broken",
}
TRACE = "OSError: no login with correct-horse, swordfish, halibut at jdbc:db://me:staple@db/a\n  File x"


class Cluster:
    """The herder, and its worker."""

    def connector_info(self, name: str) -> ConnectorInfo:
        return ConnectorInfo(name, CONFIG, (), "source")

    def connector_status(self, name: str) -> ConnectorStateInfo:
        return ConnectorStateInfo(name, ConnectorState("FAILED", "w:1", TRACE), (), "source")

    def connector_plugin_config(self, plugin: str) -> Any:
        """The property `door` is of type PASSWORD, whatever it is called."""
        if plugin == "broken":
            return failed_future(ConnectError("no such class"))
        keys = [ConfigKeyInfo("door", "PASSWORD", False, None, "LOW", "", None, -1, "NONE", "door", ())]
        future: Future[Any] = Future()
        future.set_result(keys)
        return future

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
    hidden = "[hidden], [hidden], [hidden] at jdbc:db://me:[hidden]@db/a"
    assert seen.error == f"OSError: no login with {hidden}\n  File x"
