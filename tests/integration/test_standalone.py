# SPDX-License-Identifier: Apache-2.0
"""`headrace standalone` as a process, with real Spark and a real broker."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.standalone import offsets_file
from headrace.storage.offset_codec import encode_key
from tests.support.polling import wait_for
from tests.support.topics import values, wait_for_values
from tests.support.worker_process import WorkerProcess


@pytest.fixture
def offsets(tmp_path: Path) -> Path:
    return tmp_path / "offsets.json"


@pytest.fixture
def alone(broker: EmbeddedBroker, tmp_path: Path, offsets: Path) -> Iterator[WorkerProcess]:
    """The test starts it."""
    properties = {"offset.storage.file.filename": str(offsets), "exactly.once.source.support": "disabled"}
    process = WorkerProcess(tmp_path, broker.bootstrap_servers, **properties)
    process.command = ("standalone",)
    try:
        yield process
    finally:
        process.close()


def test_a_file_goes_on_where_it_was(
    alone: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, offsets: Path
) -> None:
    lines, bootstrap = tmp_path / "lines.txt", broker.bootstrap_servers
    lines.write_text("1\n2\n3\n")
    alone.command = ("standalone", str(_properties_file(tmp_path, unique, lines)))
    alone.start()
    assert wait_for_values(bootstrap, unique, 3) == [b"1", b"2", b"3"]
    alone.wait_for_tasks(unique)
    wait_for(lambda: f"headrace worker ready: http://127.0.0.1:{alone.port}" in alone.log, 10, "the worker ready")
    info = alone.rest.get(f"/connectors/{unique}").json()
    assert (info["type"], info["tasks"]) == ("source", [{"connector": unique, "task": 0}])
    assert alone.rest.get("/").json()["kafka_cluster_id"]
    partition = {"filename": str(lines)}
    expected = {"offsets": [{"partition": partition, "offset": {"position": 6}}]}
    wait_for(lambda: alone.rest.get(f"/connectors/{unique}/offsets").json() == expected, 20, lambda: alone.log[-3000:])

    # An orderly end commits what the last flush interval has not.
    with lines.open("a") as appending:
        appending.write("4\n")
    wait_for_values(bootstrap, unique, 4)
    assert alone.stop() == 0
    assert alone.leftovers() == []
    assert _position(offsets, unique, lines) == 8
    with lines.open("a") as appending:
        appending.write("5\n")
    alone.start()
    assert wait_for_values(bootstrap, unique, 5) == [b"1", b"2", b"3", b"4", b"5"]

    # A crash may repeat, but not lose.
    wait_for(lambda: _position(offsets, unique, lines) == 10, 20, "the offset of line 5")
    with lines.open("a") as appending:
        appending.write("6\n")
    alone.kill()
    with lines.open("a") as appending:
        appending.write("7\n")
    alone.start()
    wait_for(lambda: b"7" in values(bootstrap, unique), 60, "line 7")
    after = values(bootstrap, unique)[5:]
    assert after in ([b"6", b"7"], [b"6", b"6", b"7"])


def test_the_rest_api_serves_it(
    alone: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, offsets: Path
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("1\n")
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(lines), "topic": unique}
    alone.start()
    alone.create(unique, **config)
    wait_for_values(broker.bootstrap_servers, unique, 1)
    assert alone.rest.post("/connectors", json={"name": unique, "config": config}).status_code == 409
    assert alone.rest.put(f"/connectors/{unique}/pause").status_code == 202
    alone.wait_for_tasks(unique, "PAUSED")
    assert alone.rest.put(f"/connectors/{unique}/resume").status_code == 202
    alone.wait_for_tasks(unique)
    assert alone.rest.put(f"/connectors/{unique}/config", json=config | {"file": "/none"}).status_code == 200
    assert alone.rest.get(f"/connectors/{unique}/config").json()["file"] == "/none"
    alone.wait_for_tasks(unique)
    refused = alone.rest.put(f"/connectors/{unique}/config", json=config | {"exactly.once.support": "required"})
    assert (refused.status_code, refused.json()["error_code"]) == (400, 400)
    alone.delete(unique)
    assert alone.rest.get(f"/connectors/{unique}").status_code == 404
    assert alone.rest.get("/connectors").json() == []
    assert alone.task_processes() == []
    # As in a cluster, offsets survive.
    assert _position(offsets, unique, lines) == 2


def test_a_connector_that_is_refused_ends_the_worker(alone: WorkerProcess, unique: str, tmp_path: Path) -> None:
    file = tmp_path / "connector.json"
    file.write_text(json.dumps({"name": unique, "config": {"connector.class": "FileStreamSource", "tasks.max": "0"}}))
    alone.command = ("standalone", str(file))
    process = alone.launch()
    try:
        code = process.wait(60)
    except subprocess.TimeoutExpired:
        raise AssertionError(alone.log[-3000:]) from None
    errors = [line for line in alone.log.splitlines() if line.startswith("Error: ")]
    assert code == 2
    assert len(errors) == 1 and errors[0].startswith(
        f"Error: Connector file {file}: Connector configuration is invalid"
    )
    assert "tasks.max" in errors[0]
    assert "Traceback" not in alone.log


def _properties_file(directory: Path, name: str, lines: Path) -> Path:
    file = directory / "connector.properties"
    file.write_text(f"name={name}\nconnector.class=FileStreamSource\ntasks.max=1\nfile={lines}\ntopic={name}\n")
    return file


def _position(offsets: Path, connector: str, lines: Path) -> int | None:
    stored = offsets_file.parse(offsets.read_bytes()) if offsets.exists() else {}
    value = stored.get(encode_key(connector, {"filename": str(lines)}))
    return json.loads(value)["position"] if value else None
