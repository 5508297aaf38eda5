# SPDX-License-Identifier: Apache-2.0
"""Requests without a sensible meaning, to the whole API over a real herder: never a 5xx, and the worker serves on."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support.polling import wait_for
from tests.support.worker_process import once_settled

JSON = {"content-type": "application/json"}
SOURCE = {"connector.class": "VerifiableSource", "topic": "t", "throughput": "1"}


@pytest.fixture
def connector(idle_api: httpx2.Client, unique: str) -> Iterator[str]:
    """A connector that is stopped, so that its offsets may be changed."""
    created = idle_api.post("/connectors", json={"name": unique, "config": SOURCE, "initial_state": "STOPPED"})
    assert created.status_code == 201, created.text
    yield unique
    idle_api.delete(f"/connectors/{unique}")


def assert_error(answer: httpx2.Response, status: int, part: str = "") -> None:
    assert answer.status_code == status, answer.text
    assert answer.json().keys() == {"error_code", "message"} and answer.json()["error_code"] == status
    assert part in answer.json()["message"] and "Internal error" not in answer.text


def request_of(name: str, **config: Any) -> bytes:
    return json.dumps({"name": name, "config": SOURCE | config}).encode()


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (rb'{"name": "\ud800", "config": {"connector.class": "VerifiableSource"}}', r"\ud800 is half a character"),
        (rb'{"name": "x", "config": {"connector.class": "\udfff"}}', r"\udfff is half a character"),
        (rb'{"name": "x", "config": {"\udfff": ""}}', r"\udfff is half a character"),
        (rb'{"name": "x", "config": {}, "\udfff": ""}', r"\udfff is half a character"),
        (b'{"name": "\xed\xa0\x80", "config": {}}', "Malformed JSON"),
        (b'{"name": "\xc3\x28", "config": {}}', "Malformed JSON"),
        (b'{"name": "x", "config": {"tasks.max": NaN}}', "NaN is not allowed"),
        (b'{"name": "x", "config": {"tasks.max": -Infinity}}', "-Infinity is not allowed"),
        (b'{"name": "x", "config": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}", "nested too deeply"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        (b'{"name": "x", "config": {"a": [1]}}', "property 'a'"),
        (b'{"name": "x", "config": {}} {}', "Malformed JSON"),
        (b'{"name": "x", "config": {}, "initial_state": 1}', "initial_state"),
        (b'{"name": ["x"], "config": {}}', "'name'"),
        (request_of("n" * 200_000), "too long for a URL"),
        (request_of("a\x1b[31m"), "name"),
        (request_of("\u0085"), "name"),
        (request_of("x", **{"tasks.max": "9" * 5000}), "tasks.max"),
        (request_of("x", **{"tasks.max": 1.5}), "tasks.max"),
    ],
    ids=lambda value: value[:30].decode(errors="replace") if isinstance(value, bytes) else "",
)
def test_creations_that_cannot_be(idle_api: httpx2.Client, body: bytes, part: str) -> None:
    before = idle_api.get("/connectors").json()
    assert_error(idle_api.post("/connectors", content=body, headers=JSON), 400, part)
    assert idle_api.get("/connectors").json() == before


def test_a_config_that_no_topic_takes(idle_api: httpx2.Client, unique: str) -> None:
    assert_error(idle_api.post("/connectors", content=request_of(unique, x="y" * 3_000_000), headers=JSON), 400, unique)
    assert unique not in idle_api.get("/connectors").json()
    created = idle_api.post("/connectors", content=request_of(unique), headers=JSON)
    assert created.status_code == 201, "the leader writes on"
    idle_api.delete(f"/connectors/{unique}")


def test_what_is_odd_but_can_be_meant(idle_api: httpx2.Client, unique: str) -> None:
    """A key that stands twice counts the last time, as in Java; numbers are the texts they are written as."""
    config = '{"connector.class": "VerifiableSource", "topic": "t", "tasks.max": 1, "x": 1.50, "y": 1e400, "": ""}'
    body = f'\ufeff{{"name": "other", "name": "{unique}", "config": {config}}}'
    created = idle_api.post("/connectors", content=body.encode(), headers=JSON)
    assert created.status_code == 201, created.text
    shown = idle_api.get(f"/connectors/{unique}/config").json()
    assert (shown["tasks.max"], shown["x"], shown["y"], shown[""]) == ("1", "1.50", "1e400", "")
    assert idle_api.delete(f"/connectors/{unique}").status_code == 204


@pytest.mark.parametrize(
    ("offsets", "part"),
    [
        (b"", "Malformed JSON"),
        (b'[{"partition": {"id": NaN}, "offset": {"seqno": 1}}]', "Malformed JSON"),
        (b'[{"partition": {"id": 1}, "offset": {"seqno": 1e999}}]', "Malformed JSON"),
        (b'[{"partition": {"id": 1}, "offset": {"seqno": ' + b"9" * 5000 + b"}}]", "Malformed JSON"),
        (b'[{"partition": {"id": 1}, "offset": {"seqno": 9223372036854775808}}]', "up to 64 bits"),
        (b'[{"partition": {"id": -99999999999999999999}, "offset": {"seqno": 1}}]', "up to 64 bits"),
        (rb'[{"partition": {"id": "\ud800"}, "offset": {"seqno": 1}}]', "half a character"),
        (b'[{"partition": {"id": "\xc3\x28"}, "offset": {"seqno": 1}}]', "Malformed JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 900 + b"]" * 900, ""),
        (b'[{"partition": 1, "offset": {}}]', "'partition'"),
        (b'[{"partition": {"id": 1}, "offset": 1}]', "'offset'"),
        (b'[{"partition": {"id": 1}, "offset": null, "x": 1}]', "'x'"),
        (b'[{"partition": {"id": "a"}, "offset": {"seqno": "b"}}]', "seqno"),
    ],
    ids=lambda value: value[:40].decode(errors="replace") if isinstance(value, bytes) else "",
)
def test_offsets_that_cannot_be(idle_api: httpx2.Client, connector: str, offsets: bytes, part: str) -> None:
    body = b'{"offsets": ' + offsets + b"}"
    url = f"/connectors/{connector}/offsets"
    assert_error(once_settled(lambda: idle_api.patch(url, content=body, headers=JSON)), 400, part)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("DELETE", "/connectors/{}?includeOffsets=2", 400),
        ("DELETE", "/connectors/{}/offsets?dryRun=%00", 400),
        ("GET", "/connectors/{}/tasks/-1/status", 404),
        ("GET", "/connectors/{}/tasks/%D9%A3/status", 404),
        ("GET", "/connectors/{}/tasks/" + "9" * 5000 + "/status", 404),
        ("POST", "/connectors/{}/tasks/" + "9" * 5000 + "/restart", 404),
        ("GET", "/connectors/%ED%A0%80", 400),
        ("GET", "/connectors/" + "x" * 8000, 404),
        ("PUT", "/connectors/a%0Ab/config", 400),
        ("PUT", "/connectors/%20/config", 400),
        ("PUT", "/connectors/" + "x" * 8000 + "/config", 400),
        ("PUT", "/connector-plugins/%00/config/validate", 400),
        ("PUT", "/connector-plugins/a%2Fb/config/validate", 400),
        ("GET", "/connector-plugins/%00/config", 404),
        ("PATCH", "/connectors/{}", 405),
        ("OPTIONS", "/connectors/{}", 200),
        ("BREW", "/connectors/{}", 405),
        ("GET", "/connectors/{}/", 200),
        ("GET", "/connectors?expand=nothing&expand=", 200),
        ("POST", "/connectors/{}/offsets", 405),
    ],
    ids=lambda value: value[:50] if isinstance(value, str) else "",
)
def test_paths_and_queries_that_cannot_be(
    idle_api: httpx2.Client, connector: str, method: str, path: str, status: int
) -> None:
    body = json.dumps(SOURCE) if method == "PUT" else None
    answer = idle_api.request(method, path.format(connector), content=body, headers=JSON if body else None)
    if status == 200:
        assert answer.status_code == 200, answer.text
    else:
        assert_error(answer, status)
    assert ("allow" in answer.headers) is (status == 405 or method == "OPTIONS")


@pytest.mark.parametrize(
    "media_type", ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "\xff"]
)
def test_bodies_of_another_type(idle_api: httpx2.Client, connector: str, media_type: str) -> None:
    headers = [(b"content-type", media_type.encode("latin-1"))]
    body = request_of("x")
    for method, path in [
        ("POST", "/connectors"),
        ("PUT", f"/connectors/{connector}/config"),
        ("PATCH", f"/connectors/{connector}/offsets"),
        ("PUT", f"/connectors/{connector}/pause"),
        ("PUT", "/connector-plugins/VerifiableSource/config/validate"),
    ]:
        assert_error(
            idle_api.request(method, path, content=body, headers=headers), 415, "Content-Type: application/json"
        )


def test_a_request_whose_connection_breaks_changes_nothing(
    idle_api: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    url = urlsplit(str(idle_api.base_url))
    before = idle_api.get("/connectors").json()
    for chunked in (False, True):
        length = "Transfer-Encoding: chunked" if chunked else "Content-Length: 1000"
        part = '{"name": "half", "config": {'
        sent = f"{len(part):x}\r\n{part}\r\n" if chunked else part
        head = f"POST /connectors HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
        with socket.create_connection((url.hostname, url.port), timeout=5) as connection:
            connection.sendall((head + sent).encode())
    wait_for(lambda: idle_api.get("/connectors").status_code == 200, 5, "an answer to the next request")
    assert idle_api.get("/connectors").json() == before
    assert not [record for record in caplog.records if record.levelname == "ERROR"], caplog.text
