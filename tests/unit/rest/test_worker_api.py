# SPDX-License-Identifier: Apache-2.0
"""What stands before the application: listeners for /admin, CORS, headers of answers, sizes and times of bodies."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.responses import PlainTextResponse

from headrace.api.errors import ConfigError
from headrace.rest.middleware.filters import OnlyInternal
from tests.unit.rest.conftest import echo

Serve = Callable[..., Any]


def assert_error(answer: httpx2.Response, status: int, message: str) -> None:
    assert answer.status_code == status
    assert answer.json()["error_code"] == status and message in answer.json()["message"]


# ---- admin.listeners


def test_admin_is_served_with_the_rest_by_default(serve_api: Serve) -> None:
    url = serve_api({}).url
    assert httpx2.get(f"{url}/connectors").json()["path"] == "/connectors"
    assert httpx2.get(f"{url}/admin/loggers").json()["path"] == "/admin/loggers"


def test_admin_is_not_there_with_an_empty_list_of_listeners(serve_api: Serve) -> None:
    url = serve_api({"admin.listeners": ""}).url
    assert httpx2.get(f"{url}/connectors").status_code == 200
    assert httpx2.get(f"{url}/administration").status_code == 200
    for path in ("admin", "admin/", "admin/loggers", "admin/loggers?x=1"):
        assert_error(httpx2.get(f"{url}/{path}"), 404, "HTTP 404 Not Found")


def test_admin_alone_is_served_at_listeners_of_its_own(serve_api: Serve) -> None:
    regular, admin = serve_api({"admin.listeners": "http://127.0.0.1:0"}).urls
    assert httpx2.get(f"{regular}/connectors").status_code == 200
    assert_error(httpx2.get(f"{regular}/admin/loggers"), 404, "HTTP 404 Not Found")
    assert httpx2.get(f"{admin}/admin/loggers").status_code == 200
    for path in ("", "connectors", "%61dmin/loggers"):
        assert_error(httpx2.get(f"{admin}/{path}"), 404, "HTTP 404 Not Found")


# ---- workers whose connectors no request may change


@pytest.mark.parametrize("internal", [True, False])
def test_only_other_workers_are_served(serve_api: Serve, internal: bool) -> None:
    url = serve_api({}, lambda _: OnlyInternal(echo, internal=internal)).url
    for path in ("health", "metrics"):
        assert httpx2.get(f"{url}/{path}").status_code == 200
    for method, path in (("GET", ""), ("GET", "connectors"), ("PUT", "connectors/x/config"), ("DELETE", "connectors/x"),
                         ("POST", "connectors"), ("GET", "admin/loggers"), ("PUT", "health"), ("GET", "Health"),
                         ("GET", "metrics/../connectors"), ("GET", "connectors/x/tasks")):  # fmt: skip
        assert_error(httpx2.request(method, f"{url}/{path}"), 404, "HTTP 404 Not Found")
    for method, path in (("POST", "connectors/x/tasks"), ("PUT", "connectors/x/fence")):
        assert (httpx2.request(method, f"{url}/{path}").status_code == 200) is internal


# ---- CORS


def preflight(url: str, origin: str, method: str) -> httpx2.Response:
    return httpx2.options(f"{url}/x", headers={"Origin": origin, "Access-Control-Request-Method": method})


def test_pages_of_other_origins_may_not_unless_allowed(serve_api: Serve) -> None:
    answer = httpx2.get(serve_api({}).url, headers={"Origin": "http://page"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_pages_of_allowed_origins_may(serve_api: Serve) -> None:
    url = serve_api({"access.control.allow.origin": "http://page,https://*.example.org"}).url
    for origin in ("http://page", "https://a.b.example.org"):
        answer = httpx2.get(url, headers={"Origin": origin})
        assert answer.headers["access-control-allow-origin"] == origin
        assert answer.headers["access-control-allow-credentials"] == "true"
        assert preflight(url, origin, "POST").headers["access-control-allow-methods"] == "GET, POST, HEAD"
    for origin in (
        "http://other",
        "https://a.exampleXorg",
        "https://example.org.evil.net",
        "https://evil.net/x.example.org",
    ):
        assert "access-control-allow-origin" not in httpx2.get(url, headers={"Origin": origin}).headers


def test_pages_of_all_origins_and_the_methods_that_are_said(serve_api: Serve) -> None:
    url = serve_api({"access.control.allow.origin": "*", "access.control.allow.methods": "get,PUT"}).url
    assert httpx2.get(url, headers={"Origin": "http://any"}).headers["access-control-allow-origin"] == "*"
    answer = preflight(url, "http://any", "PUT")
    assert (answer.status_code, answer.headers["access-control-allow-methods"]) == (200, "GET, PUT")
    assert "access-control-allow-credentials" not in answer.headers
    assert preflight(url, "http://any", "DELETE").status_code == 400


# ---- changes that browsers send for pages of other sites

CROSS = {"Sec-Fetch-Site": "cross-site", "Origin": "https://page"}


def test_pages_of_other_sites_may_change_nothing(serve_api: Serve) -> None:
    url = serve_api({"admin.listeners": "http://127.0.0.1:0"})
    for at, path in zip(url.urls, ("connectors/c/restart", "admin/loggers/root"), strict=True):
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            for headers in (CROSS, {"Sec-Fetch-Site": "Cross-Site"}):
                assert_error(
                    httpx2.request(method, f"{at}/{path}", headers=headers), 403, "access.control.allow.origin"
                )
            near = {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"}
            assert httpx2.request(method, f"{at}/{path}", headers=near).status_code == 403
            for site in ("same-origin", "none"):  # also where a proxy has changed the Host
                headers = {"Sec-Fetch-Site": site, "Origin": "https://page"}
                assert httpx2.request(method, f"{at}/{path}", headers=headers).status_code == 200
        assert httpx2.get(f"{at}/{path}", headers=CROSS).status_code == 200, "a link may be followed"


@pytest.mark.parametrize("allowed", ["https://page", "https://*age", "*"])
def test_pages_of_other_sites_may_where_cors_allows_their_origin(serve_api: Serve, allowed: str) -> None:
    url = serve_api({"access.control.allow.origin": allowed}).url
    assert httpx2.post(url, headers=CROSS).status_code == 200
    stranger = httpx2.post(url, headers={**CROSS, "Origin": "https://other"})
    assert stranger.status_code == (200 if allowed == "*" else 403)
    assert httpx2.post(url, headers={"Sec-Fetch-Site": "cross-site"}).status_code == stranger.status_code


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1", "http://[", ""]
)
def test_pages_of_other_origins_may_change_nothing_though_the_browser_says_no_more(
    serve_api: Serve, origin: str
) -> None:
    url = serve_api({}).url
    assert_error(httpx2.post(url, headers={"Origin": origin}), 403, "access.control.allow.origin")
    assert httpx2.get(url, headers={"Origin": origin}).status_code == 200


def test_the_workers_own_pages_and_what_is_no_browser_may(serve_api: Serve) -> None:
    url = serve_api({}).url
    port = urlsplit(url).port
    for headers in ({}, {"Origin": url}, {"Origin": f"http://LOCALHOST:{port}", "Host": f"localhost:{port}"}):
        assert httpx2.post(url, headers=headers).status_code == 200
    for origin, host in (("http://localhost", "localhost:80"), ("https://localhost:443", "localhost")):
        assert httpx2.post(url, headers={"Origin": origin, "Host": host}).status_code == 200, "behind a proxy"


# ---- response.http.headers.config


def test_headers_of_all_answers(serve_api: Serve) -> None:
    rules = (
        'SET X-Frame-Options:DENY, "add Cache-Control: no-cache, no-store", add Cache-Control:private, '
        "setDate Expires: 60000, set Content-Security-Policy: default-src https://a:1, set content-type: text/x"
    )
    url = serve_api({"response.http.headers.config": rules, "admin.listeners": ""}).url
    for path, status in (("", 200), ("admin/x", 404)):
        answer = httpx2.get(f"{url}/{path}")
        assert answer.status_code == status
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers.get_list("cache-control") == ["no-cache, no-store", "private"]
        assert answer.headers["content-security-policy"] == "default-src https://a:1"
        assert answer.headers.get_list("content-type") == ["text/x"]
        assert 50 < parsedate_to_datetime(answer.headers["expires"]).timestamp() - time.time() < 61


# ---- bodies


LIMIT = 100_000


@pytest.fixture
def limited(serve_api: Serve) -> str:
    return str(serve_api({"rest.request.max.bytes": str(LIMIT), "rest.request.timeout.ms": "300"}).url)


def pieces(size: int, of: int = 10_000) -> Iterator[bytes]:
    yield from (b"x" * of for _ in range(size // of))


@pytest.mark.parametrize("body", [b"", b"x" * LIMIT, pieces(LIMIT)], ids=["none", "whole", "in pieces"])
def test_bodies_up_to_the_limit_arrive_whole(limited: str, body: Any) -> None:
    answer = httpx2.post(limited, content=body)
    assert answer.json()["size"] == (0 if body == b"" else LIMIT)


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "in pieces"])
def test_larger_bodies_are_refused(limited: str, chunked: bool) -> None:
    size = LIMIT + 10_000
    answer = httpx2.post(limited, content=pieces(size) if chunked else b"x" * size)
    assert_error(answer, 413, "larger than the 100000 bytes of rest.request.max.bytes")
    assert answer.headers["connection"] == "close"


def sent(url: str, request: bytes) -> tuple[int, Any]:
    """The status and the JSON that a connection of its own is answered, while it stays open on our side."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=5) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_who_sends_far_too_much_before_reading_is_answered_too(limited: str) -> None:
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n"
    assert sent(limited, head + b"x" * 30_000_000)[0] == 413


def test_who_asks_first_whether_to_send_too_much_need_not(limited: str) -> None:
    status, said = sent(
        limited, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\nExpect: 100-continue\r\n\r\n"
    )
    assert (status, said["error_code"]) == (413, 413)


def test_a_body_that_does_not_come_keeps_no_other_waiting(limited: str) -> None:
    status, said = sent(limited, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf")
    assert (status, said["message"]) == (408, "The body of the request has not come within 0.3 s")


def test_others_are_served_while_a_body_comes_slowly(limited: str) -> None:
    answers: list[tuple[int, Any]] = []
    slow = threading.Thread(
        target=lambda: answers.append(
            sent(limited, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n")
        )
    )
    slow.start()
    assert httpx2.get(limited).status_code == 200
    slow.join(5)
    assert answers[0][0] == 408


def test_half_a_body_of_who_is_gone_changes_nothing(serve_api: Serve) -> None:
    asked = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        await PlainTextResponse("")(scope, receive, send)

    url = serve_api({}, lambda endpoints: app).url
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        connection.sendall(b"POST /half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf")
    assert httpx2.get(f"{url}/whole").status_code == 200
    assert asked == ["/whole"]


# ---- properties


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("listeners", "", "at least one listener is needed"),
        ("listeners", "https://nothing", "https://host:port"),
        ("admin.listeners", "ftp://:1", "http://host:port"),
        ("rest.advertised.listener", "ftp", "one of http, https expected"),
        ("rest.request.max.bytes", "0", "at least 1"),
        ("rest.request.timeout.ms", "0", "at least 1"),
        ("response.http.headers.config", "delete X:y", "begins with none of set, add, setDate, addDate"),
        ("response.http.headers.config", "set", "not written as set name:value"),
        ("response.http.headers.config", "set X", "not written as set name:value"),
        ("response.http.headers.config", "set X Y:z", "not written as set name:value"),
        ("response.http.headers.config", "set X:a\nb", "printable characters of ASCII alone"),
        ("response.http.headers.config", "set X:ü", "printable characters of ASCII alone"),
        ("response.http.headers.config", "addDate X:soon", "needs milliseconds"),
    ],
)
def test_properties_that_cannot_be_meant(serve_api: Serve, name: str, value: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=rf"^Invalid value .*for configuration {name}: ") as raised:
        serve_api({name: value})
    assert reason in str(raised.value)


def test_the_advertised_url_is_by_the_properties(serve_api: Serve) -> None:
    api = serve_api(
        {"rest.advertised.listener": "HTTPS", "rest.advertised.host.name": "h", "rest.advertised.port": "1"}
    )
    assert api.endpoints.advertised_url == "https://h:1"
