# SPDX-License-Identifier: Apache-2.0
"""Which statuses are of something that does not exist."""

from __future__ import annotations

import pytest

from headrace.herder.engine.statuses import is_stray
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.storage.status_records import StatusKey

CONFIG = ClusterConfigState(
    connector_configs={"c": {}, "new": {}, "torn": {}},
    task_counts={"c": 2, "torn": 1},
    inconsistent=frozenset({"torn"}),
)


@pytest.mark.parametrize(
    "key",
    ["c", "new", ConnectorTaskId("c", 0), ConnectorTaskId("c", 1), ConnectorTaskId("torn", 5), ("c", "topic")],
)
def test_what_exists_or_may_come_back(key: StatusKey) -> None:
    assert not is_stray(key, CONFIG)


@pytest.mark.parametrize(
    "key",
    ["x", ConnectorTaskId("x", 0), ConnectorTaskId("c", 2), ConnectorTaskId("new", 0), ("x", "topic")],
)
def test_what_does_not_exist(key: StatusKey) -> None:
    assert is_stray(key, CONFIG)
