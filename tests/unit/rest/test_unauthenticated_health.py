# SPDX-License-Identifier: Apache-2.0
"""The answers to probes without a password."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from headrace.rest.app import create_app

Serve = Callable[..., Any]
ANNA = ("anna", "secret")


@pytest.fixture
def serve(serve_api: Serve, served: tuple[Any, Any], tmp_path: Path) -> Callable[..., tuple[str, Any]]:
    """The URL of an API with basic auth, and the herder behind it."""
    users = tmp_path / "users.properties"
    users.write_text("anna=secret\n")

    def start(**properties: str) -> tuple[str, Any]:
        herder = type(served[0])()
        basic = {
            "rest.extension.classes": "BasicAuthSecurityRestExtension",
            "rest.basic.auth.credentials.file": str(users),
        }
        api = serve_api({**basic, **properties}, lambda _: create_app(herder, request_timeout=0.3), herder)
        return api.url, herder

    return start


def test_by_default_nothing_is_answered_without_a_password(serve: Callable[..., tuple[str, Any]]) -> None:
    url, _ = serve()
    assert httpx2.get(f"{url}/health").status_code == 401


def test_probes_get_the_status_and_users_its_cause(serve: Callable[..., tuple[str, Any]]) -> None:
    url, herder = serve(**{"rest.health.unauthenticated": "true"})
    healthy = httpx2.get(f"{url}/health")
    assert (healthy.status_code, healthy.json()) == (200, {"status": "healthy"})
    assert httpx2.head(f"{url}/health/").status_code == 200
    herder.hangs = True
    unhealthy = httpx2.get(f"{url}/health")
    assert (unhealthy.status_code, unhealthy.json()) == (500, {"status": "unhealthy"})
    assert "waiting for task_configs" in httpx2.get(f"{url}/health", auth=ANNA).json()["message"]
    herder.started = False
    starting = httpx2.get(f"{url}/health")
    assert (starting.status_code, starting.json()) == (503, {"status": "starting"})


def test_everything_else_needs_a_user_as_ever(serve: Callable[..., tuple[str, Any]]) -> None:
    url, _ = serve(**{"rest.health.unauthenticated": "true"})
    for method, path in (
        ("GET", "/"),
        ("GET", "/connectors"),
        ("GET", "/health/../connectors"),
        ("GET", "/health%2F..%2Fconnectors"),
        ("GET", "//health"),
        ("GET", "/healthy"),
        ("POST", "/health"),
        ("DELETE", "/health"),
    ):
        raw = httpx2.URL(url).copy_with(raw_path=path.encode())
        assert httpx2.request(method, raw).status_code == 401, path
    wrong = base64.b64encode(b"anna:wrong").decode()
    assert httpx2.get(f"{url}/health", headers={"Authorization": f"Basic {wrong}"}).status_code == 401
