# SPDX-License-Identifier: Apache-2.0
"""User and password for everything but what workers ask of each other."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from headrace.api.errors import ConfigError
from headrace.rest.basic_auth import BasicAuthSecurityRestExtension

Serve = Callable[..., Any]
JAVA = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
JAAS = """
// users of the REST API
Other { x.Y required; };
KafkaConnect { /* as in
   the manual */
    org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule required
    file="%s"; // here
};
"""


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users.properties"
    path.write_text("anna = colon\\:and blank \\u00fc\nBerta=b\n", encoding="utf-8")
    return path


@pytest.fixture
def api(serve_api: Serve, users: Path) -> Any:
    properties = {"rest.extension.classes": JAVA, "rest.basic.auth.credentials.file": str(users)}
    return serve_api({**properties, "admin.listeners": "http://127.0.0.1:0", "group.id": "g"})


def header(text: str | bytes, scheme: str = "Basic") -> dict[str, str]:
    raw = text if isinstance(text, bytes) else text.encode()
    return {"Authorization": f"{scheme} {base64.b64encode(raw).decode()}"}


ANNA = header("anna:colon:and blank ü")


@pytest.mark.parametrize("headers", [ANNA, header("Berta:b"), header("Berta:b", "bAsIc")])
def test_who_has_user_and_password_may(api: Any, headers: dict[str, str]) -> None:
    assert httpx2.get(f"{api.url}/connectors", headers=headers).status_code == 200
    assert httpx2.get(f"{api.urls[1]}/admin/loggers", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        *(header(text) for text in ("anna:", "anna", ":", "anna:b", "berta:b", "nobody:b", "nobody:", "Berta:b\n")),
        *(header(text) for text in (b"\xff\xfe:b", "Berta:bb", " Berta:b")),
        header("Berta:b", "Bearer"),
        {"Authorization": "Basic"},
        {"Authorization": "Basic !!!"},
        {"Authorization": "Berta:b"},
    ],
    ids=repr,
)
def test_no_other_may(api: Any, headers: dict[str, str]) -> None:
    answer = httpx2.get(f"{api.url}/connectors", headers=headers)
    assert answer.status_code == 401
    assert answer.json() == {"error_code": 401, "message": "User cannot access the resource."}
    assert answer.headers["www-authenticate"] == 'Basic realm="headrace", charset="UTF-8"'


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/health",
        "/metrics",
        "/docs",
        "/console",
        "/console/static/0/app/main.js",
        "/openapi.json",
        "/admin/loggers",
        "/nothing",
    ],
)
def test_it_is_asked_everywhere(api: Any, path: str) -> None:
    for url in api.urls:
        assert httpx2.get(url + path).status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/connectors/c/tasks", 200),
        ("POST", "/connectors/a%2Fb/tasks/", 200),
        ("PUT", "/connectors/c/fence", 200),
        ("PUT", "/internal/loggers/a.b", 200),
        ("GET", "/internal/loggers/a.b", 401),
        ("PUT", "/admin/loggers/a.b", 401),
        ("GET", "/connectors/c/tasks", 401),
        ("PUT", "/connectors/c/tasks", 401),
        ("POST", "/connectors/c/fence", 401),
        ("POST", "/connectors/c/tasks/0/restart", 401),
        ("POST", "/connectors/tasks", 401),
        ("POST", "/connectors//tasks", 401),
        ("POST", "/connectors/a/b/tasks", 401),
        ("POST", "/connectors/c%2Ftasks", 401),
        ("POST", "/connectors/c/%74asks", 401),
        ("POST", "//connectors/c/tasks", 401),
        ("POST", "/connectors?x=/connectors/c/tasks", 401),
        ("POST", "http://h/connectors/c/tasks", 401),
    ],
)
def test_workers_alone_need_none(api: Any, method: str, path: str, status: int) -> None:
    parts = urlsplit(api.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=5) as connection:
        connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
        assert int(connection.recv(4096).split()[1]) == status


def test_a_worker_that_is_alone_makes_no_exception(serve_api: Serve, users: Path) -> None:
    properties = {"rest.extension.classes": JAVA, "rest.basic.auth.credentials.file": str(users)}
    url = serve_api(properties).url
    assert httpx2.post(f"{url}/connectors/c/tasks", json=[]).status_code == 401
    assert httpx2.put(f"{url}/connectors/c/fence").status_code == 401


def test_bodies_of_strangers_are_not_read(serve_api: Serve, users: Path) -> None:
    properties = {"rest.extension.classes": "BasicAuthSecurity", "rest.basic.auth.credentials.file": str(users)}
    url = serve_api({**properties, "rest.request.max.bytes": "10"}).url
    assert httpx2.post(url, content=b"x" * 11).status_code == 401
    assert httpx2.post(url, content=b"x" * 11, headers=ANNA).status_code == 413


def test_a_browser_may_ask_whether_a_page_may(serve_api: Serve, users: Path) -> None:
    properties = {"rest.extension.classes": JAVA, "rest.basic.auth.credentials.file": str(users)}
    url = serve_api({**properties, "access.control.allow.origin": "http://page"}).url
    asked = {"Origin": "http://page", "Access-Control-Request-Method": "GET"}
    answer = httpx2.options(url, headers={**asked, "Access-Control-Request-Headers": "authorization"})
    assert (answer.status_code, "Authorization" in answer.headers["access-control-allow-headers"]) == (200, True)
    refused = httpx2.get(url, headers={"Origin": "http://page"})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "http://page")


def test_the_file_may_be_named_as_for_java(serve_api: Serve, users: Path, tmp_path: Path) -> None:
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(JAAS % users)
    url = serve_api({"rest.extension.classes": JAVA, "java.security.auth.login.config": str(jaas)}).url
    assert (httpx2.get(url).status_code, httpx2.get(url, headers=ANNA).status_code) == (401, 200)


def configured(properties: dict[str, str]) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        BasicAuthSecurityRestExtension().configure(properties)
    return raised.value


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read: No such file"),
        ("", "the file has no user"),
        ("# anna=a\n", "the file has no user"),
        ("anna=\n", "each user there needs a name and a password"),
        ("=a\n", "each user there needs a name and a password"),
        ("anna=\\uzzzz\n", "malformed"),
    ],
)
def test_a_file_without_users_opens_the_api_to_no_user(tmp_path: Path, content: str | None, reason: str) -> None:
    """Where Java lets everybody pass."""
    path = tmp_path / "users.properties"
    if content is not None:
        path.write_text(content)
    error = configured({"rest.basic.auth.credentials.file": str(path)})
    assert str(error).startswith(f"Invalid value '{path}' for configuration rest.basic.auth.credentials.file: ")
    assert reason in str(error)


def test_no_file_at_all() -> None:
    assert "basic auth needs a properties file of user=password" in str(configured({}))


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "// " + (JAAS % "x").replace("\n", " "),
        (JAAS % "x").replace("PropertyFileLoginModule", "LdapLoginModule"),
        (JAAS % "x").replace("file=", "path="),
        (JAAS % "x").replace("KafkaConnect", "KafkaClient"),
        (JAAS % "x").replace("// here", "a.B required;"),
    ],
)
def test_jaas_files_that_say_something_else(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "jaas.conf"
    if content is not None:
        path.write_text(content)
    error = configured({"java.security.auth.login.config": str(path)})
    assert str(error).startswith(f"Invalid value '{path}' for configuration java.security.auth.login.config: ")
