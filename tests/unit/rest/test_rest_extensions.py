# SPDX-License-Identifier: Apache-2.0
"""REST extensions: what they may use, in which order requests pass them, and what becomes of those that fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from headrace.api.errors import ConfigError, ConnectError
from headrace.api.rest_extension import (
    ASGIApp,
    ConnectorHealth,
    ConnectRestExtension,
    ConnectRestExtensionContext,
    Health,
)
from headrace.plugins.discovery import Plugins
from headrace.rest.app import create_app

Serve = Callable[..., Any]
events: list[str] = []


class Recording(ConnectRestExtension):
    """Notes what happens to it, and adds a header of its own to answers."""

    fails_at = ""
    context: ConnectRestExtensionContext

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._note("configure", configs["custom"])

    def register(self, context: ConnectRestExtensionContext) -> None:
        self._note("register", "")
        type(self).context = context
        context.add_middleware(self._wrap)

    def close(self) -> None:
        self._note("close", "")

    def _note(self, what: str, more: str) -> None:
        events.append(f"{type(self).__name__} {what} {more}".strip())
        if self.fails_at == what:
            raise OSError("oops")

    def _wrap(self, app: ASGIApp) -> ASGIApp:
        async def noting(scope: Any, receive: Any, send: Any) -> None:
            self._note("request", scope["path"])
            await app(scope, receive, send)

        return noting


class First(Recording): ...


class Second(Recording): ...


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    events.clear()
    kinds = {"First": First, "Second": Second}
    monkeypatch.setattr(Plugins, "rest_extension", lambda self, name, property: kinds[name])


@pytest.fixture
def properties() -> dict[str, str]:
    return {"rest.extension.classes": "First,Second", "custom": "of mine"}


def test_requests_pass_extensions_in_their_order(serve_api: Serve, properties: dict[str, str]) -> None:
    api = serve_api(properties)
    assert httpx2.get(f"{api.url}/x").status_code == 200
    api.stop()
    assert events == [
        *("First configure of mine", "Second configure of mine", "First register", "Second register"),
        *("First request /x", "Second request /x", "Second close", "First close"),
    ]


def test_they_stand_before_admin_too(serve_api: Serve, properties: dict[str, str]) -> None:
    regular, admin = serve_api({**properties, "admin.listeners": "http://127.0.0.1:0"}).urls
    for url in (f"{regular}/admin/x", f"{admin}/admin/x", f"{admin}/y"):
        events.clear()
        httpx2.get(url)
        path = url[url.index("/", 8) :]
        assert events == [f"First request {path}", f"Second request {path}"]


def test_what_they_know_of_the_cluster(serve_api: Serve, herder: Any, properties: dict[str, str]) -> None:
    herder.configs["c"] = {"k": "v"}
    herder.trace = "boom"
    serve_api(properties, herder=herder)
    state = First.context.cluster_state
    assert (state.connectors(), state.kafka_cluster_id()) == (("c",), "cluster")
    assert state.connector_config("c") == {"k": "v"}
    running, failed = Health("RUNNING", "h:8083"), Health("FAILED", "h:8083", "boom")
    assert state.connector_health("c") == ConnectorHealth("c", "source", running, {0: failed})
    with pytest.raises(ConnectError, match="not found"):
        state.connector_health("none")


def test_one_that_fails_at_a_request_answers_as_the_api_does(
    serve_api: Serve, properties: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = serve_api(properties).url
    monkeypatch.setattr(Second, "fails_at", "request")
    answer = httpx2.get(url)
    assert (answer.status_code, answer.headers["connection"]) == (500, "close")
    assert answer.json() == {"error_code": 500, "message": "Internal error: a REST extension failed: OSError"}


def test_an_error_of_the_api_itself_comes_through_them(
    serve_api: Serve, herder: Any, properties: dict[str, str]
) -> None:
    herder.error = ValueError("a defect")
    api = serve_api(properties, lambda endpoints: create_app(herder), herder)
    answer = httpx2.get(f"{api.url}/connectors/c")
    assert (answer.status_code, answer.json()["message"]) == (500, "Internal error: ValueError: a defect")


@pytest.mark.parametrize("at", ["configure", "register"])
def test_one_that_cannot_start_ends_the_start(
    serve_api: Serve, properties: dict[str, str], monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    monkeypatch.setattr(Second, "fails_at", at)
    with pytest.raises(ConfigError, match=r"'Second' .*rest\.extension\.classes: .* cannot start: OSError: oops$"):
        serve_api(properties)
    assert events[-2:] == ["Second close", "First close"]


def test_one_that_cannot_close_does_not_keep_the_others_from_it(
    serve_api: Serve, properties: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    api = serve_api(properties)
    monkeypatch.setattr(Second, "fails_at", "close")
    api.stop()
    assert events[-2:] == ["Second close", "First close"]


def test_the_example_of_the_guide(serve_api: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "rest-security.md").read_text()
    example: dict[str, Any] = {}
    exec(guide.partition("```python\n")[2].partition("```")[0], example)
    monkeypatch.setattr(Plugins, "rest_extension", lambda self, name, property: example[name])
    with pytest.raises(ConfigError, match="is needed"):
        serve_api({"rest.extension.classes": "TokenExtension"})
    url = serve_api({"rest.extension.classes": "TokenExtension", "token.extension.token": "t"}).url
    answers = [httpx2.get(url, headers={"Authorization": f"Bearer {token}"}).status_code for token in ("t", "x")]
    assert answers == [200, 401]
