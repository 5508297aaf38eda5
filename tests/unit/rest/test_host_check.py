# SPDX-License-Identifier: Apache-2.0
"""Requests have to be addressed to the worker, and a page that has made its own name lead there is not served."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from headrace.api.errors import ConfigError
from headrace.rest.middleware.host_check import AllowedHosts, host_name, is_private
from tests.unit.rest.conftest import Certificates

Serve = Callable[..., Any]


def status(url: str, host: str, **headers: str) -> int:
    return httpx2.get(url, headers={"Host": host, **headers}).status_code


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"])
def test_a_foreign_name_is_refused_whatever_is_asked(serve_api: Serve, method: str) -> None:
    answer = httpx2.request(method, serve_api({}).url, headers={"Host": "evil.example:8083"})
    assert answer.status_code == 421
    if method != "HEAD":
        assert answer.json()["error_code"] == 421
        assert "'evil.example:8083'" in answer.json()["message"] and "rest.allowed.hosts" in answer.json()["message"]


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "10.0.0.7:8083", "[::1]:8083", "[fd00::7]", "localhost", "LOCALHOST:1", "localhost.",
     socket.gethostname(), socket.getfqdn()],
)  # fmt: skip
def test_addresses_and_the_machines_own_names_need_no_list(serve_api: Serve, host: str) -> None:
    assert status(serve_api({}).url, host) == 200


def test_names_that_the_properties_have_anyway_need_no_list(serve_api: Serve) -> None:
    url = serve_api(
        {
            "rest.advertised.host.name": "worker-1.bank.example",
            "access.control.allow.origin": "https://ui.bank.example:8443,https://*.other.example",
        }
    ).url
    assert status(url, "worker-1.bank.example:8083") == 200
    assert status(url, "ui.bank.example") == 200
    assert status(url, "a.other.example") == 421


def test_a_list_adds_names_and_names_below(serve_api: Serve) -> None:
    url = serve_api({"rest.allowed.hosts": "Connect.Bank.example, .cluster.example"}).url
    for host in ("connect.bank.example", "CONNECT.bank.example.:8083", "a.cluster.example", "a.b.cluster.example"):
        assert status(url, host) == 200, host
    for host in ("a.connect.bank.example", "bank.example", "cluster.example", "xcluster.example", "evil.example"):
        assert status(url, host) == 421, host


def test_a_star_lets_all_in(serve_api: Serve) -> None:
    assert status(serve_api({"rest.allowed.hosts": "*"}).url, "evil.example") == 200


@pytest.mark.parametrize("host", ["http://a.example", "a.example:8083", "*.example.com", "a b", "a..b"])
def test_what_is_no_name_is_refused_at_the_start(serve_api: Serve, host: str) -> None:
    with pytest.raises(ConfigError, match=r"rest\.allowed\.hosts"):
        serve_api({"rest.allowed.hosts": host})


def test_private_names_are_known_where_others_than_this_machine_are_listened_to(serve_api: Serve) -> None:
    for listeners, expected in (("http://127.0.0.1:0", 421), ("http://127.0.0.1:0,http://0.0.0.0:0", 200)):
        url = serve_api({"listeners": listeners}).url
        for host in ("headrace:8083", "headrace.data.svc", "headrace.data.svc.cluster.local"):
            assert status(url, host) == expected, (listeners, host)
        assert status(url, "evil.example") == 421


@pytest.mark.parametrize(("name", "private"), [("a", True), ("a.b.internal", True), ("a.svc.example", False)])
def test_private_is_what_cannot_be_registered(name: str, private: bool) -> None:
    assert is_private(name) is private


def test_admin_listeners_are_no_way_round(serve_api: Serve) -> None:
    _, admin = serve_api({"admin.listeners": "http://127.0.0.1:0"}).urls
    assert status(f"{admin}/admin/loggers", "evil.example") == 421


def test_a_page_cannot_claim_that_it_came_over_https(serve_api: Serve) -> None:
    assert status(serve_api({}).url, "evil.example", **{"X-Forwarded-Proto": "https"}) == 421


def test_over_https_the_certificate_says_it(serve_api: Serve, certificates: Certificates) -> None:
    pem = {"keystore.type": "PEM", "keystore.location": certificates.worker}
    api = serve_api({"listeners": "https://127.0.0.1:0", **{f"listeners.https.ssl.{k}": v for k, v in pem.items()}})
    assert httpx2.get(api.url, headers={"Host": "connect.bank.example"}, verify=False).status_code == 200


def test_a_request_without_a_host_is_no_browsers(serve_api: Serve) -> None:
    listener = serve_api({}).endpoints.listeners.bound[0].listener
    with socket.create_connection((listener.host, listener.port), timeout=10) as connection:
        connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert connection.recv(100).split()[1] == b"200"


@pytest.mark.parametrize(
    ("header", "name"), [("A.b:1", "a.b"), ("[FD00::1]:1", "fd00::1"), ("fd00::1", "fd00::1"), ("", ""), ("[", "")]
)
def test_the_name_in_a_header(header: str, name: str) -> None:
    assert host_name(header) == name


def test_the_name_service_is_asked_last() -> None:
    asked: list[str] = []

    def own() -> list[str]:
        asked.append("")
        return ["full.bank.example"]

    hosts = AllowedHosts(frozenset({"a"}), False, own)
    assert hosts.allows("a:1") and not hosts.allows("full.bank.example") and not asked
    assert hosts.allows_own_name("FULL.bank.example:1") and asked
