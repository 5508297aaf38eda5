# SPDX-License-Identifier: Apache-2.0
"""Without a user, a worker with users serves the console's files, and nothing of the cluster."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx2
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.security.least_roles import LEAST_ROLES
from tests.support.worker_process import WorkerProcess

NAME: Final = "pay-canary"
PAGES: Final = ("/console", "/docs")
BROWSER: Final = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
TRICKS: Final = (
    *(f"/console/static/{way}connectors" for way in ("../../", "%2e%2e/%2e%2e/", "..%2f..%2f", "//", "x/../../../")),
    *(f"/console/{way}connectors" for way in ("../", "%2e%2e/", "..%2f", "/", "..;/")),
    *("//console", "/console//", "/CONSOLE", "/console;a", "/console%2f", "/console/static", "/console/statics/x"),
    *("/docs/x", "/docs/../connectors", "/docs%2f..%2fconnectors", "/console?x=/connectors", "/connectors?/console"),
    *("/openapi.json", "/metrics", "/health", "/", "/admin/loggers", f"/connectors/{NAME}", "/internal/health"),
)


@pytest.fixture(scope="module")
def guarded(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    directory: Path = tmp_path_factory.mktemp("pages")
    (directory / "users").write_text("root=rootpw\n")
    (directory / "users").chmod(0o600)
    (directory / "rules.yaml").write_text("rules: [{users: [root], role: admin}]")
    properties = {
        "group.id": "open-pages",
        "rest.authentication": "basic",
        "rest.basic.auth.credentials.file": str(directory / "users"),
        "rest.authorization.file": str(directory / "rules.yaml"),
        "rest.audit.file": str(directory / "audit.jsonl"),
    }
    worker = WorkerProcess(directory, broker.bootstrap_servers, **properties)
    worker.rest.auth = ("root", "rootpw")
    with worker:
        worker.await_answer(path="/connectors")
        worker.create(NAME, **{"connector.class": "MockSourceConnector"})
        yield worker


def ask(worker: WorkerProcess, method: str, target: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """An answer to a target that is sent as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=30)
    try:
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, named, answer.read().decode()
    finally:
        connection.close()


def files_of(worker: WorkerProcess) -> set[str]:
    pages = [ask(worker, "GET", page)[2] for page in PAGES]
    return {f"/{path}" for page in pages for path in re.findall(r'(?:src|href)="([^"]+)"', page)}


def test_pages_and_their_files_are_open_and_say_nothing_of_the_cluster(guarded: WorkerProcess) -> None:
    cluster = guarded.rest.get("/").json()["kafka_cluster_id"]
    files = files_of(guarded)
    assert len(files) > 30
    for target in (*PAGES, *sorted(files)):
        status, headers, text = ask(guarded, "GET", target)
        assert status == 200 and "x-headrace-role" not in headers, target
        assert text == guarded.rest.get(target).text, target
        assert NAME not in text and cluster not in text, target
        assert ask(guarded, "GET", target, Authorization="Basic cm9vdDp3cm9uZw==")[0] == 200, target
        assert ask(guarded, "HEAD", target)[0] == 200
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            assert ask(guarded, method, target)[0] == 401, (method, target)
    assert '"path": "/console", "connector": null, "rule": null, "result": "allowed"' in audit(guarded)


def test_nothing_else_is_open(guarded: WorkerProcess) -> None:
    described = {operation.partition(" ")[2] for operation in LEAST_ROLES}
    concrete = {re.sub(r"{connector}", NAME, path) for path in described}
    for target in (*TRICKS, *sorted(re.sub(r"{\w+}", "0", path) for path in concrete)):
        status, headers, text = ask(guarded, "GET", target)
        below = target.startswith("/console/static/")  # no file of this name; the API is not reached by it
        expected = (400, 401, 404) if below else (400, 401)
        assert status in expected or target == "/console?x=/connectors", (target, status)
        assert NAME not in text and "x-headrace-role" not in headers, target


def test_a_browser_is_led_to_the_page_and_learns_nothing(guarded: WorkerProcess) -> None:
    status, headers, text = ask(guarded, "GET", "/", **BROWSER)
    assert (status, headers["location"], text) == (303, "console", "")
    assert "x-headrace-role" not in headers
    assert ask(guarded, "GET", "/connectors", **BROWSER)[0] == 401
    assert ask(guarded, "POST", "/", **BROWSER)[0] == 401


def test_only_the_page_hides_the_challenge(guarded: WorkerProcess) -> None:
    url = f"http://127.0.0.1:{guarded.port}/connectors"
    usual, hidden = httpx2.get(url), httpx2.get(url, headers={"X-Headrace-Challenge": "hidden"})
    assert usual.status_code == hidden.status_code == 401 and usual.json() == hidden.json()
    assert usual.headers["www-authenticate"] == hidden.headers["x-headrace-challenge"]
    assert "www-authenticate" not in hidden.headers and "x-headrace-challenge" not in usual.headers


def audit(worker: WorkerProcess) -> str:
    return Path(worker.properties["rest.audit.file"]).read_text()
