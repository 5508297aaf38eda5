# SPDX-License-Identifier: Apache-2.0
"""A page that is open in a browser beside a worker at loopback tries to have the worker run its code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from headrace.kafka.embedded_broker import EmbeddedBroker
from tests.support.worker_process import PLUGINS, WorkerProcess

EVIL = "evil.example"


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of the worker's plugin.path, in which nothing is."""
    return tmp_path_factory.mktemp("plugins")


@pytest.fixture(scope="module")
def victim(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory, plugins: Path) -> Iterator[WorkerProcess]:
    directory = tmp_path_factory.mktemp("victim")
    more = {"group.id": "web-page", "plugin.path": f"{PLUGINS},{plugins}"}
    with WorkerProcess(directory, broker.bootstrap_servers, **more) as running:
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
