# SPDX-License-Identifier: Apache-2.0
"""A failed connector as lineage sees it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

import pytest

from headrace.api.datasets import Dataset
from headrace.api.errors import ConnectError
from headrace.herder.config_infos import ConfigKeyInfo
from headrace.lineage.lineage_runs import Condition
from headrace.lineage.lineage_view import LineageView
from headrace.model.futures import failed_future
from headrace.model.ids import ConnectorTaskId
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

    def __init__(self, kind: str = "source", config: Mapping[str, str] = CONFIG, *datasets: Dataset) -> None:
        self.kind = kind
        self.config = config
        self.datasets = datasets
        self.observed: dict[Any, Any] = {}

    def connector_info(self, name: str) -> ConnectorInfo:
        return ConnectorInfo(name, self.config, (), self.kind)

    def connector_status(self, name: str) -> ConnectorStateInfo:
        return ConnectorStateInfo(name, ConnectorState("FAILED", "w:1", TRACE), (), self.kind)

    def connector_plugin_config(self, plugin: str) -> Any:
        """The property `door` is of type PASSWORD, whatever it is called."""
        if plugin == "broken":
            return failed_future(ConnectError("no such class"))
        keys = [ConfigKeyInfo("door", "PASSWORD", False, None, "LOW", "", None, -1, "NONE", "door", ())]
        future: Future[Any] = Future()
        future.set_result(keys)
        return future

    def active_topics(self, name: str) -> tuple[str, ...]:
        return ("t",) if self.observed else ()

    def connector_names(self) -> set[str]:
        return {"c"}

    def record_schemas(self) -> dict[Any, Any]:
        return self.observed

    def connector_datasets(self, name: str, topics: Any) -> Any:
        if not self.datasets:
            raise TimeoutError
        future: Future[Any] = Future()
        future.set_result(self.datasets)
        return future

    def connector_starts(self, name: str) -> int:
        return 1


def test_a_trace_that_leaves_the_cluster_has_no_secrets() -> None:
    cluster: Any = Cluster()
    seen = LineageView(cluster, cluster, "b:1").connectors()["c"]
    assert seen.condition is Condition.FAILED
    hidden = "[hidden], [hidden], [hidden] at jdbc:db://me:[hidden]@db/a"
    assert seen.error == f"OSError: no login with {hidden}\n  File x"


@pytest.mark.parametrize(
    ("kind", "transforms", "outside", "in_kafka"),
    [
        ("source", "", True, True),
        ("source", "t", False, True),
        ("sink", "", True, True),
        ("sink", "t", True, False),
    ],
)
def test_columns_are_those_of_records_on_their_side_of_the_transformations(
    kind: str, transforms: str, outside: bool, in_kafka: bool
) -> None:
    columns = (("a", "int32"),)
    table, own = Dataset("db", "table", topics=frozenset("t")), Dataset("db", "own", (("x", "y"),), frozenset("t"))
    cluster: Any = Cluster(kind, {"transforms": transforms}, table, own, Dataset("file", "/other"))
    cluster.observed = {ConnectorTaskId("c", 0): {"t": columns}}
    seen = LineageView(cluster, cluster, "b:1").connectors()["c"]
    there, (topic,) = (seen.inputs, seen.outputs) if kind == "source" else (seen.outputs, seen.inputs)
    assert [each.fields for each in there] == [columns if outside else (), (("x", "y"),), ()]
    assert topic.fields == (columns if in_kafka else ())
