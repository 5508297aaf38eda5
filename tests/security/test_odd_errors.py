# SPDX-License-Identifier: Apache-2.0
"""Plugins raise unusual errors: SystemExit, errors without a text, with half a character or 100 MB of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess, once_settled

EXPECTED = {
    "exit": "SystemExit: 7",
    "interrupt": "KeyboardInterrupt: ctrl-c",
    "base": "Bare: bare",
    "mute": "Mute",
    "mute-config": "MuteConfigError",
    "half": r"half \ud83d of a pair",
    "huge": "characters left out",
    "dressed": "dressed",
    "group": "both",
}
_LONGEST = 100_000


@pytest.fixture(scope="module")
def attacked(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """One worker for the whole module, which is to live through all of it."""
    group = {"group.id": "odd-errors"}
    with WorkerProcess(tmp_path_factory.mktemp("odd-errors"), broker.bootstrap_servers, **group) as running:
        yield running
        assert running.launched.poll() is None


def config(name: str, where: str, odd: str, **more: str) -> dict[str, str]:
    source = {"connector.class": "odd_errors.OddSource", "tasks.max": "1", "topic": name}
    return {**source, "where": where, "odd": odd, **more}


def serves(worker: WorkerProcess) -> None:
    assert worker.rest.get("/health").status_code == 200
    assert worker.rest.get("/connectors?expand=status&expand=info").status_code == 200


@pytest.mark.parametrize("odd", ["exit", "interrupt", "mute-config", "half"])
def test_a_connector_that_cannot_start_is_failed(attacked: WorkerProcess, unique: str, odd: str) -> None:
    attacked.rest.post("/connectors", json={"name": unique, "config": config(unique, "start", odd)})

    def failed() -> str:
        connector = attacked.status(unique).get("connector", {})
        return connector.get("trace", "") if connector.get("state") == "FAILED" else ""

    trace = wait_for(failed, 20, lambda: f"{attacked.status(unique)}\n{attacked.log[-3000:]}")
    assert EXPECTED[odd] in trace
    assert len(trace) < _LONGEST
    serves(attacked)
    attacked.delete(unique)


@pytest.mark.parametrize("odd", ["exit", "base", "mute", "mute-config", "half", "huge", "dressed", "group"])
def test_a_task_that_cannot_poll_is_failed(attacked: WorkerProcess, unique: str, odd: str) -> None:
    attacked.create(unique, **config(unique, "poll", odd))
    attacked.wait_for_tasks(unique, "FAILED", seconds=30)
    trace = attacked.status(unique)["tasks"][0]["trace"]
    assert EXPECTED[odd] in trace
    assert len(trace) < _LONGEST
    serves(attacked)
    attacked.delete(unique)


@pytest.mark.parametrize("where", ["validate", "exactly_once_support"])
@pytest.mark.parametrize("odd", ["exit", "mute", "half"])
def test_a_validation_is_answered(attacked: WorkerProcess, unique: str, where: str, odd: str) -> None:
    asked = {**config(unique, where, odd), "name": unique, "exactly.once.support": "required"}
    answer = attacked.rest.put("/connector-plugins/odd_errors.OddSource/config/validate", json=asked)
    assert EXPECTED[odd] in answer.json().get("message", "") + str(answer.json()).replace("\\\\", "\\")
    serves(attacked)


def test_a_plugin_whose_version_raises_system_exit_fails_only_the_request(attacked: WorkerProcess, unique: str) -> None:
    body = {"name": unique, "config": {**config(unique, "", ""), "connector.class": "odd_errors.ExitingVersion"}}
    answer = attacked.rest.post("/connectors", json=body)
    assert answer.status_code == 500
    assert "ExitingVersion.version failed: SystemExit: 3" in answer.json()["message"]
    serves(attacked)


@pytest.mark.parametrize(("where", "state"), [("task_configs", "connector"), ("stop", ""), ("alter_offsets", "")])
def test_other_methods_of_a_connector(attacked: WorkerProcess, unique: str, where: str, state: str) -> None:
    attacked.rest.post("/connectors", json={"name": unique, "config": config(unique, where, "exit")})
    if state:
        wait_for(lambda: attacked.status(unique).get("connector", {}).get("state") == "FAILED", 20)
        assert "SystemExit: 7" in attacked.status(unique)["connector"]["trace"]
    else:
        attacked.wait_for_tasks(unique)
    attacked.rest.put(f"/connectors/{unique}/stop")
    wait_for(lambda: attacked.status(unique).get("connector", {}).get("state") == "STOPPED", 20)
    if where == "alter_offsets":
        wait_for(lambda: attacked.status(unique)["tasks"] == [], 20)
        answer = once_settled(lambda: attacked.rest.delete(f"/connectors/{unique}/offsets"))
        assert answer.status_code == 500
        assert "SystemExit: 7" in answer.json()["message"]
    serves(attacked)
    attacked.delete(unique)


@pytest.mark.parametrize(
    ("where", "odd"),
    [("commit", "exit"), ("commit", "mute"), ("task.stop", "exit"), ("transformation", "huge"), ("converter", "mute")],
)
def test_other_code_of_a_task(attacked: WorkerProcess, unique: str, where: str, odd: str) -> None:
    parts = {
        "transformation": {"transforms": "t", "transforms.t.type": "odd_errors.OddStep", "transforms.t.odd": odd},
        "converter": {"value.converter": "odd_errors.OddConverter", "value.converter.odd": odd},
    }
    attacked.create(unique, **config(unique, where, odd, **parts.get(where, {})))
    if where == "task.stop" or (where == "commit" and odd != "exit"):  # whose errors are logged, no more
        attacked.wait_for_tasks(unique)
    else:
        attacked.wait_for_tasks(unique, "FAILED", seconds=30)
        trace = attacked.status(unique)["tasks"][0]["trace"]
        assert EXPECTED[odd] in trace
        assert len(trace) < _LONGEST
    serves(attacked)
    attacked.delete(unique)
    wait_for(lambda: not attacked.task_processes(), 20)
