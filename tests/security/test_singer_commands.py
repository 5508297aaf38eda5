# SPDX-License-Identifier: Apache-2.0
"""Connectors' configurations start no programs: not by a request, and not by records of the config topic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.model.ids import ConnectorTaskId
from headrace.storage import config_records
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic, send
from tests.support.worker_process import WorkerProcess

GROUP = "singer-commands"
REFUSED = "may not start this program: the worker's singer.commands.allowed does not have it"
TASK = "headrace.connectors.singer.singer_source.SingerSourceTask"


@pytest.fixture(scope="module")
def victim(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    with WorkerProcess(tmp_path_factory.mktemp("victim"), broker.bootstrap_servers, **{"group.id": GROUP}) as running:
        yield running


def tap(name: str, file: Path) -> dict[str, str]:
    """A source whose command makes the file, when its connector starts (`streams.apart`) or its task does."""
    return {
        "name": name,
        "connector.class": "SingerSource",
        "tasks.max": "1",
        "singer.command": f"touch {file}",
        "streams.apart": "true",
    }


def test_requests(victim: WorkerProcess, unique: str, tmp_path: Path) -> None:
    config = tap(unique, tmp_path / "made")
    for method, path, body in (
        ("POST", "/connectors", {"name": unique, "config": config}),
        ("PUT", f"/connectors/{unique}/config", config),
        ("POST", "/connector-plugins/SingerSource/config/preview", config),
    ):
        answer = victim.rest.request(method, path, json=body)
        assert (answer.status_code, f"connector {unique} {REFUSED}" in answer.text) == (400, True), answer.text
    answer = victim.rest.put("/connector-plugins/SingerSource/config/validate", json=config)
    errors = {each["value"]["name"]: each["value"]["errors"] for each in answer.json()["configs"]}
    assert [REFUSED in error for error in errors["singer.command"]] == [True]
    assert unique not in victim.connectors()
    assert not (tmp_path / "made").exists()


def test_records_of_the_config_topic(
    victim: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """A connector, and a task of Singer's for a connector of another class."""
    make_topic(broker.bootstrap_servers, unique)
    create_sink(victim, unique, unique, tmp_path / "out.txt")
    victim.wait_for_tasks(unique)
    planted = tap(f"{unique}-tap", tmp_path / "made")
    task = {"task.class": TASK, "singer.command": planted["singer.command"], "topics": unique}
    for key, value in (
        *config_records.encode(config_records.TaskRecord(ConnectorTaskId(unique, 0), task)),
        *config_records.encode(config_records.CommitRecord(unique, 1)),
        *config_records.encode(config_records.ConnectorRecord(planted["name"], planted)),
    ):
        send(broker.bootstrap_servers, f"{GROUP}-configs", [value], key=key)
    victim.wait_for_tasks(unique, "FAILED")
    trace = victim.status(unique)["tasks"][0]["trace"]
    assert f"connector {unique} {REFUSED}" in trace and "\n" not in trace.strip(), trace
    state = lambda: victim.status(planted["name"]).get("connector", {})  # noqa: E731
    wait_for(lambda: state().get("state") == "FAILED", 60, "the planted connector's failure")
    assert f"connector {planted['name']} {REFUSED}" in state()["trace"]
    assert not (tmp_path / "made").exists()
