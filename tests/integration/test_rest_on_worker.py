# SPDX-License-Identifier: Apache-2.0
"""Every endpoint on a real worker, and what it writes into the internal topics: as Kafka Connect answers and writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from headrace import KAFKA_VERSION, __version__
from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.topics import committed_offsets, read_committed, values, wait_for_values
from tests.support.worker_process import WorkerProcess
from tests.vectors.reader import DIRECTORY

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
LINES = "first line\nsecond line\nthe third\n..\n"
VARYING = {"worker_id", "generation", "version", "discoverTimestamp"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "lines.txt"
    file.write_text(LINES)
    return file


@pytest.fixture
def connector(worker: WorkerProcess, unique: str, file: Path) -> Iterator[str]:
    """A running FileStreamSource of `file` into the topic of its own name."""
    worker.create(unique, **config(file, unique))
    worker.wait_for_tasks(unique)
    yield unique
    worker.rest.delete(f"/connectors/{unique}")


def config(file: Path, topic: str) -> dict[str, str]:
    return {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": topic}


def assert_error(answer: httpx2.Response, status: int, message: str) -> None:
    assert answer.status_code == status
    assert answer.json() == {"error_code": status, "message": message}


# ---- the worker


def test_root_shows_version_and_cluster(worker: WorkerProcess) -> None:
    wait_for(lambda: worker.rest.get("/").json()["kafka_cluster_id"], 20, "the cluster's id, which is read meanwhile")
    answer = worker.rest.get("/").json()
    assert answer.keys() == {"version", "commit", "kafka_cluster_id", "headrace_version"}
    assert (answer["version"], answer["headrace_version"]) == (KAFKA_VERSION, __version__)
    assert all(isinstance(text, str) and text for text in answer.values())


def test_connector_plugins(worker: WorkerProcess) -> None:
    plugins = worker.rest.get("/connector-plugins").json()
    (found,) = [plugin for plugin in plugins if plugin["class"] == FILE_SOURCE]
    assert found.keys() == {"class", "type", "version"} and found["type"] == "source"


@pytest.mark.parametrize("path", ["/nothing", "/connectors/x/nothing", "/connectors/x/tasks-config"])
def test_a_path_that_is_none(path: str, worker: WorkerProcess) -> None:
    assert_error(worker.rest.get(path), 404, "HTTP 404 Not Found")


@pytest.mark.parametrize(
    ("method", "below"),
    [
        ("GET", ""),
        ("GET", "/config"),
        ("GET", "/status"),
        ("GET", "/tasks"),
        ("GET", "/offsets"),
        ("PUT", "/pause"),
        ("PUT", "/resume"),
        ("DELETE", ""),
    ],
)
def test_a_connector_that_is_none(method: str, below: str, worker: WorkerProcess) -> None:
    assert_error(worker.rest.request(method, f"/connectors/none{below}"), 404, "Connector none not found")


# ---- a connector's life


def test_create_answers_201_with_its_location_and_once_only(worker: WorkerProcess, unique: str, file: Path) -> None:
    request = {"name": unique, "config": config(file, unique)}
    answer = worker.rest.post("/connectors", json=request)
    assert answer.status_code == 201
    assert answer.headers["location"] == f"{str(worker.rest.base_url).rstrip('/')}/connectors/{unique}"
    assert answer.headers["content-type"] == "application/json"
    complete = {**config(file, unique), "name": unique}
    assert answer.json() == {"name": unique, "config": complete, "tasks": [], "type": "source"}
    assert_error(worker.rest.post("/connectors", json=request), 409, f"Connector {unique} already exists")
    assert unique in worker.rest.get("/connectors").json()
    worker.delete(unique)


def test_reports_about_a_running_connector(
    worker: WorkerProcess, connector: str, file: Path, broker: EmbeddedBroker
) -> None:
    url, complete = f"/connectors/{connector}", {**config(file, connector), "name": connector}
    task = {"connector": connector, "task": 0}
    assert worker.rest.get(url).json() == {"name": connector, "config": complete, "tasks": [task], "type": "source"}
    assert worker.rest.get(f"{url}/config").json() == complete
    (answer,) = worker.rest.get(f"{url}/tasks").json()
    assert answer == {
        "id": task,
        "config": {**complete, "task.class": "org.apache.kafka.connect.file.FileStreamSourceTask"},
    }
    running = {"state": "RUNNING", "worker_id": f"127.0.0.1:{worker.port}"}
    status = worker.rest.get(f"{url}/status").json()
    version = KAFKA_VERSION
    assert status == {
        "name": connector,
        "connector": {**running, "version": version},
        "tasks": [{"id": 0, **running, "version": version}],
        "type": "source",
    }
    wait_for_values(broker.bootstrap_servers, connector, 4)
    assert worker.rest.get(f"{url}/offsets").json() == {
        "offsets": [{"partition": {"filename": str(file)}, "offset": {"position": len(LINES)}}]
    }


def test_pause_and_resume(worker: WorkerProcess, connector: str, file: Path, broker: EmbeddedBroker) -> None:
    url = f"/connectors/{connector}"
    wait_for_values(broker.bootstrap_servers, connector, 4)
    for _ in range(2):  # asked again, it is paused already
        paused = worker.rest.put(f"{url}/pause")
        assert (paused.status_code, paused.content) == (202, b"")
    worker.wait_for_tasks(connector, "PAUSED")
    assert worker.status(connector)["connector"]["state"] == "PAUSED"
    with file.open("a") as lines:
        lines.write("while paused\n")
    resumed = worker.rest.put(f"{url}/resume")
    assert (resumed.status_code, resumed.content) == (202, b"")
    worker.wait_for_tasks(connector)
    assert wait_for_values(broker.bootstrap_servers, connector, 5)[4:] == [b"while paused"]


def test_initial_state(worker: WorkerProcess, unique: str, file: Path, broker: EmbeddedBroker) -> None:
    request = {"name": unique, "config": config(file, unique), "initial_state": "PAUSED"}
    assert worker.rest.post("/connectors", json=request).status_code == 201
    wait_for(lambda: worker.status(unique).get("connector", {}).get("state") == "PAUSED", 30, "the connector's pause")
    assert worker.rest.put(f"/connectors/{unique}/resume").status_code == 202
    worker.wait_for_tasks(unique)
    wait_for_values(broker.bootstrap_servers, unique, 4)
    worker.delete(unique)


def test_put_config_creates_and_then_reconfigures_the_running_task(
    worker: WorkerProcess, unique: str, file: Path, broker: EmbeddedBroker
) -> None:
    """The task goes on in the new topic from where it was: offsets belong to the file, not to the topic."""
    url, first, second = f"/connectors/{unique}/config", f"{unique}-first", f"{unique}-second"
    created = worker.rest.put(url, json=config(file, first))
    assert created.status_code == 201
    assert created.headers["location"].endswith(f"/connectors/{unique}")
    wait_for_values(broker.bootstrap_servers, first, 4)
    updated = worker.rest.put(url, json=config(file, second))
    complete = {**config(file, second), "name": unique}
    assert updated.status_code == 200 and "location" not in updated.headers
    body = updated.json()
    assert body == {
        "name": unique,
        "config": complete,
        "tasks": [{"connector": unique, "task": 0}],
        "type": "source",
    }
    wait_for(
        lambda: [task["config"]["topic"] for task in worker.rest.get(f"/connectors/{unique}/tasks").json()] == [second],
        30,
        "the new task config",
    )
    with file.open("a") as lines:
        lines.write("for the second topic\n")
    assert wait_for_values(broker.bootstrap_servers, second, 1) == [b"for the second topic"]
    assert len(values(broker.bootstrap_servers, first)) == 4
    worker.wait_for_tasks(unique)
    worker.delete(unique)


def test_delete_ends_the_task_and_keeps_the_offsets(
    worker: WorkerProcess, unique: str, file: Path, broker: EmbeddedBroker
) -> None:
    worker.create(unique, **config(file, unique))
    wait_for_values(broker.bootstrap_servers, unique, 4)
    processes = len(worker.task_processes())
    deleted = worker.rest.delete(f"/connectors/{unique}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert unique not in worker.rest.get("/connectors").json()
    wait_for(lambda: len(worker.task_processes()) < processes, 30, "the end of the task's process")
    wait_for(lambda: worker.rest.get(f"/connectors/{unique}/status").status_code == 404, 30, "the end of its status")
    # Created again, it goes on where it was.
    with file.open("a") as lines:
        lines.write("afterwards\n")
    worker.create(unique, **config(file, unique))
    assert wait_for_values(broker.bootstrap_servers, unique, 5)[4:] == [b"afterwards"]
    worker.delete(unique)


# ---- the internal topics


def test_a_creation_writes_what_java_writes(
    worker: WorkerProcess, connector: str, file: Path, broker: EmbeddedBroker
) -> None:
    """Keys and values of Java's, in Java's order; beside its own task count record stands the KIP's."""
    wait_for_values(broker.bootstrap_servers, connector, 4)
    java = java_writes({"file-source": connector, "input.txt": str(file), "eos-lines": connector})
    ours = written(worker, broker, "config", connector)
    count = (f"tasks-count-{connector}", {"tasks": 1})
    assert count in ours
    assert [record for record in ours if record != count] == java["config"]
    assert written(worker, broker, "offset", connector) == java["offsets"]

    def statuses() -> dict[str, Any]:
        return {key: stable(value) for key, value in written(worker, broker, "status", connector)}

    wanted = {key: stable(value) for key, value in java["status"]}
    wait_for(lambda: statuses() == wanted, 10, lambda: f"the statuses {wanted}, not {statuses()}")


def java_writes(names: dict[str, str]) -> dict[str, list[tuple[str, Any]]]:
    """What Java's worker wrote when it was asked to create a FileStreamSource, with our names and our file's size."""
    lines = (DIRECTORY / "write_sequences.jsonl").read_text(encoding="utf-8").split("\n")
    line = next(line for line in lines if '"write_sequences/eos-01-create-source"' in line)
    for theirs, ours in names.items():
        line = line.replace(theirs, ours)
    line = line.replace('{"position":35}', json.dumps({"position": len(LINES)}))
    writes = json.loads(line)["output"]["writes"]
    return {topic: [(record["key"], record["value"]) for record in records] for topic, records in writes.items()}


def written(worker: WorkerProcess, broker: EmbeddedBroker, kind: str, connector: str) -> list[tuple[str, Any]]:
    """The records of an internal topic that name the connector, in order; keys as bytes say, values as JSON."""
    records = read_committed(broker.bootstrap_servers, worker.properties[f"{kind}.storage.topic"])
    named = [(record.key or b"").decode() for record in records]
    return [
        (key, json.loads(record.value) if record.value else None)
        for key, record in zip(named, records, strict=True)
        if connector in key
    ]


def stable(status: Any) -> Any:
    """A status without what differs from run to run, but with the names of that."""
    if "topic" in status:
        return {"topic": stable(status["topic"])}
    return {**{key: value for key, value in status.items() if key not in VARYING}, "varying": VARYING & status.keys()}


def test_a_deleted_connectors_offsets_stay_in_the_topic(
    worker: WorkerProcess, connector: str, file: Path, broker: EmbeddedBroker
) -> None:
    wait_for_values(broker.bootstrap_servers, connector, 4)
    worker.delete(connector)
    kept = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], connector)
    assert kept == {json.dumps({"filename": str(file)}): {"position": len(LINES)}}
    live = {key for key, value in dict(written(worker, broker, "config", connector)).items() if value is not None}
    assert live == {f"tasks-count-{connector}", f"tasks-fencing-{connector}"}, "all else has its tombstone"
