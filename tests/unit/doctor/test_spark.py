# SPDX-License-Identifier: Apache-2.0
"""The findings about Spark's master and cores, and about connectors."""

from __future__ import annotations

import pytest

from headrace.doctor.findings import Level
from headrace.doctor.security import connector_findings
from headrace.doctor.spark import Cores, cluster_findings, local_findings, master_cores
from headrace.doctor.subject import Connector


@pytest.mark.parametrize(
    ("master", "tasks", "levels", "expected"),
    [
        ("local[256,4]", 3, [Level.OK], "256 at once at most; the group has 3 tasks"),
        ("local[2,4]", 3, [Level.WARNING], "the group has 3 tasks"),
        ("local[*,4]", None, [Level.OK], "8 at once at most"),
        ("local[4]", 1, [Level.OK, Level.WARNING], "4 at once"),
        ("local", 2, [Level.WARNING, Level.WARNING], "1 at once"),
        ("local[four]", 1, [Level.PROBLEM], "is no master"),
    ],
)
def test_local_masters(master: str, tasks: int | None, levels: list[Level], expected: str) -> None:
    found = [*local_findings(master, tasks, machine_cores=8)]
    assert [each.level for each in found] == levels
    assert expected in found[0].found
    assert all(each.remedy for each in found if each.level is not Level.OK)


@pytest.mark.parametrize(
    ("tasks", "cores", "level", "expected"),
    [
        (2, Cores(8, 3), Level.OK, "3 of 8 cores are free; the group has 2 tasks"),
        (9, Cores(8, 3), Level.WARNING, "the group has 9 tasks"),
        (None, None, Level.OK, "its cores are not known"),
    ],
)
def test_clusters(tasks: int | None, cores: Cores | None, level: Level, expected: str) -> None:
    (found,) = cluster_findings("spark://m:7077", tasks, cores)
    assert found.level is level and expected in found.found


def test_cores_of_a_master_without_a_page_are_not_known() -> None:
    assert master_cores("k8s://https://m:443") is None
    assert master_cores("spark://nowhere.invalid:7077") is None


def connector(**config: str) -> Connector:
    full = {"name": "c", **{name.replace("_", "."): text for name, text in config.items()}}
    return Connector("c", "source", full, full, 1)


def test_connectors() -> None:
    (secret,) = connector_findings([connector(connection_password="hidden", token="${file:/f:t}")])
    assert secret.level is Level.WARNING and "connection.password" in secret.found
    assert "hidden" not in secret.found and "token" not in secret.found
    (files,) = connector_findings([connector(connector_class="a.FileStreamSinkConnector")])
    assert "FileStream" in files.found
    assert [each.level for each in connector_findings([connector()])] == [Level.OK]
    assert [each.found for each in connector_findings([])] == ["no connector yet"]
