# SPDX-License-Identifier: Apache-2.0
"""A page that is open in a browser beside a worker at loopback tries to have the worker run its code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.model.ids import ConnectorTaskId
from headrace.storage import config_records
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic, send, wait_for_lines
from tests.support.worker_process import PLUGINS, ROOT, WorkerProcess

EVIL = "evil.example"
GROUP = "web-page"


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of the worker's plugin.path, in which nothing is."""
    return tmp_path_factory.mktemp("plugins")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of Python's path that plugin.path does not have; its module leaves a file when it is imported."""
    directory = tmp_path_factory.mktemp("elsewhere")
    (directory / "never_asked_for.py").write_text(
        "from headrace.connectors.file_stream.file_stream_sink import FileStreamSinkTask\n"
        f"open({str(directory / 'imported')!r}, 'w').close()\n"
        "class Task(FileStreamSinkTask): pass\n"
    )
    return directory


@pytest.fixture(scope="module")
def victim(
    broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory, plugins: Path, elsewhere: Path
) -> Iterator[WorkerProcess]:
    directory = tmp_path_factory.mktemp("victim")
    more = {"group.id": GROUP, "plugin.path": f"{PLUGINS},{plugins}", "connectors.denylist": "Verifiable*"}
    with WorkerProcess(directory, broker.bootstrap_servers, path=(elsewhere,), **more) as running:
        yield running


def creation(name: str, **config: str) -> bytes:
    return json.dumps({"name": name, "config": config}).encode()


def planted(name: str, file: Path) -> bytes:
    return creation(name, **{"connector.class": "FileStreamSink", "topics": name, "file": str(file)})


def asked(worker: WorkerProcess, method: str, path: str, body: bytes, **headers: str) -> httpx2.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return worker.rest.request(method, path, content=body, headers=given)


def test_a_page_that_has_rebound_its_name_gets_no_answer(victim: WorkerProcess, unique: str, tmp_path: Path) -> None:
    """Of the worker's own origin, as far as the browser knows: it asks first, and sends any header."""
    host = f"{EVIL}:{victim.port}"
    origin = {"Host": host, "Origin": f"http://{host}", "Sec_Fetch_Site": "same-origin"}
    for method, path in (("GET", "/connectors"), ("GET", "/"), ("OPTIONS", "/connectors"), ("GET", "/metrics")):
        answer = asked(victim, method, path, b"", **origin)
        assert answer.status_code == 421 and "rest.allowed.hosts" in answer.json()["message"]
    body = planted(unique, tmp_path / "x.py")
    for more in (
        {"Content_Type": "application/json"},
        {},
        {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "localhost"},
    ):
        assert asked(victim, "POST", "/connectors", body, **origin, **more).status_code == 421
    assert unique not in victim.connectors()


@pytest.mark.parametrize("origin", [f"http://{EVIL}", "null", "http://127.0.0.1:3000"])
def test_a_page_of_another_origin_changes_nothing(
    victim: WorkerProcess, unique: str, tmp_path: Path, origin: str
) -> None:
    """Also where the browser does not say which site asks."""
    body = planted(unique, tmp_path / "x.py")
    for more in ({"Content_Type": "application/json"}, {"Content_Type": "text/plain"}, {}):
        assert asked(victim, "POST", "/connectors", body, Origin=origin, **more).status_code == 403
    assert asked(victim, "PUT", "/admin/loggers/root", b"", Origin=origin).status_code == 403
    assert asked(victim, "POST", "/connectors", body, Sec_Fetch_Site="cross-site").status_code == 403
    assert asked(victim, "POST", "/connectors", body, Content_Type="text/plain").status_code == 415
    assert unique not in victim.connectors()


# ---- what a page, or any client, could have written


def test_nothing_becomes_a_plugin(
    victim: WorkerProcess, broker: EmbeddedBroker, unique: str, plugins: Path, tmp_path: Path
) -> None:
    """The whole way of the page: records that are Python, a sink that writes them to plugin.path, their class."""
    canary = tmp_path / "canary"
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, [f"open({str(canary)!r}, 'w').close()".encode()])
    answer = asked(victim, "POST", "/connectors", planted(unique, plugins / "x.py"), Content_Type="application/json")
    assert answer.status_code == 400, answer.text
    assert "for configuration file" in answer.json()["message"] and "belongs to the worker" in answer.json()["message"]
    code = creation(f"{unique}-x", **{"connector.class": "x:X"})
    assert asked(victim, "POST", "/connectors", code, Content_Type="application/json").status_code == 400
    assert list(plugins.iterdir()) == [] and not canary.exists()


def test_no_name_of_the_workers_files_leads_to_them(
    victim: WorkerProcess, unique: str, plugins: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(plugins)
    for place in (
        f"{tmp_path}/link/x.py", f"{plugins}/../{plugins.name}/x.py", f"/proc/self/root{plugins}/x.py",
        str(ROOT / "src" / "headrace" / "x.py"), f"{Path(httpx2.__file__).parent.parent}/x.pth",
        f"{Path(sys.executable).parent}/headrace", str(victim.properties_file),
    ):  # fmt: skip
        config = {"connector.class": "FileStreamSink", "topics": unique, "file": place}
        answer = victim.rest.put("/connector-plugins/FileStreamSink/config/validate", json={"name": unique, **config})
        assert "belongs to the worker" in str(reported(answer, "file")), place
    for property in ("path", "spark.option.path"):
        config = {
            "connector.class": "SparkSink",
            "topics": unique,
            "spark.format": "csv",
            "path": str(tmp_path / "free"),
        }
        given = {"name": unique, **config, property: f"file://{plugins}"}
        answer = victim.rest.put("/connector-plugins/SparkSink/config/validate", json=given)
        assert "belongs to the worker" in str(reported(answer, property)), answer.text


def test_a_link_that_is_made_later_stops_the_task(
    victim: WorkerProcess, broker: EmbeddedBroker, unique: str, plugins: Path, tmp_path: Path
) -> None:
    file = tmp_path / "out.txt"
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, [b"import os"])
    create_sink(victim, unique, unique, file)
    wait_for_lines(file, 1)
    victim.wait_for_tasks(unique)
    file.unlink()
    file.symlink_to(plugins / "x.py")
    assert victim.rest.post(f"/connectors/{unique}/tasks/0/restart").status_code == 204
    victim.wait_for_tasks(unique, "FAILED")
    assert "belongs to the worker" in victim.status(unique)["tasks"][0]["trace"]
    assert list(plugins.iterdir()) == []
    victim.delete(unique)


# ---- what is not to run


@pytest.mark.parametrize(
    "name",
    ["VerifiableSink", "org.apache.kafka.connect.tools.VerifiableSinkConnector",
     "headrace.connectors.verifiable_sink:VerifiableSinkConnector"],
)  # fmt: skip
def test_a_denied_connector_is_not_to_be_had(victim: WorkerProcess, unique: str, name: str) -> None:
    config = {"connector.class": name, "topics": unique}
    requests: list[tuple[str, str, object]] = [("POST", "/connectors", {"name": unique, "config": config})]
    requests += [("PUT", f"/connectors/{unique}/config", config)]
    requests += [("PUT", f"/connector-plugins/{name}/config/validate", config)]
    for method, path, body in requests:
        answer = victim.rest.request(method, path, json=body)
        assert answer.status_code == 400 and "connectors.denylist" in answer.json()["message"], answer.text
    listed = [plugin["class"] for plugin in victim.rest.get("/connector-plugins").json()]
    assert listed and not [name for name in listed if "Verifiable" in name]


def test_records_of_the_config_topic_run_nothing_else(
    victim: WorkerProcess, broker: EmbeddedBroker, unique: str, elsewhere: Path, tmp_path: Path
) -> None:
    """A task's class is not the connector's; a connector is denied, as if it was there before the list."""
    make_topic(broker.bootstrap_servers, unique)
    create_sink(victim, unique, unique, tmp_path / "out.txt")
    victim.wait_for_tasks(unique)
    task = {"task.class": "never_asked_for.Task", "topics": unique, "file": str(tmp_path / "other.txt")}
    denied = {"name": f"{unique}-denied", "connector.class": "VerifiableSink", "topics": unique, "tasks.max": "1"}
    for key, value in (
        *config_records.encode(config_records.TaskRecord(ConnectorTaskId(unique, 0), task)),
        *config_records.encode(config_records.CommitRecord(unique, 1)),
        *config_records.encode(config_records.ConnectorRecord(denied["name"], denied)),
    ):
        send(broker.bootstrap_servers, f"{GROUP}-configs", [value], key=key)
    victim.wait_for_tasks(unique, "FAILED")
    assert "for configuration task.class: it is no task of" in victim.status(unique)["tasks"][0]["trace"]
    wait_for(lambda: victim.status(denied["name"]).get("connector", {}).get("state") == "FAILED", 60, "the denied one")
    assert "connectors.denylist has 'Verifiable*'" in victim.status(denied["name"])["connector"]["trace"]
    assert not (elsewhere / "imported").exists()


def reported(answer: httpx2.Response, property: str) -> list[str]:
    values = [each["value"] for each in answer.json()["configs"]]
    return [text for value in values if value["name"] == property for text in value["errors"]]
