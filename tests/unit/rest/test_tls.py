# SPDX-License-Identifier: Apache-2.0
"""HTTPS with real certificates: listeners, who has to have a certificate, and calls to other workers."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from cryptography.hazmat.primitives import serialization

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.rest.rest_client import Call, RestClient
from tests.support.polling import wait_for

Serve = Callable[..., Any]
HTTPS = {"listeners": "https://127.0.0.1:0"}


def trusting(certificates: Any, identity: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certificates.ca)
    if identity:
        context.load_cert_chain(identity)
    return context


def asked(url: str, context: ssl.SSLContext) -> Any:
    return httpx2.get(url, verify=context).json()


def location(path: str, prefix: str = "listeners.https.") -> dict[str, str]:
    return {f"{prefix}ssl.keystore.location": path, f"{prefix}ssl.keystore.type": "PEM"}


def inline(text: str) -> dict[str, str]:
    key = re.search(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----\n", text, re.DOTALL)
    assert key is not None
    return {"ssl.keystore.key": key[0], "ssl.keystore.certificate.chain": text.replace(key[0], "")}


# ---- listeners


def test_certificates_are_renewed_when_their_files_change(
    serve_api: Serve, certificates: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The listener's, whom it trusts, and what it shows and trusts when it calls other workers."""
    identity, trusted = tmp_path / "worker.pem", tmp_path / "trusted.pem"
    identity.write_bytes(Path(certificates.elsewhere).read_bytes())
    trusted.write_bytes(Path(certificates.strangers).read_bytes())
    properties = {
        **location(str(identity)),
        "listeners.https.ssl.truststore.location": str(trusted),
        "listeners.https.ssl.client.auth": "required",
    }
    api = serve_api({**HTTPS, **properties})
    shown = trusting(certificates, certificates.client)
    calling = RestClient(api.endpoints.tls.client)

    def works(ask: Callable[[], object]) -> bool:
        try:
            return ask() is not None
        except (httpx2.TransportError, ConnectError):
            return False

    def ask_it() -> object:
        return asked(api.url, shown)

    def have_it_ask() -> object:
        return calling.call(Call("GET", api.url, 5))

    assert not works(ask_it) and not works(have_it_ask)
    identity.write_text("rubbish")
    wait_for(lambda: works(ask_it) or "cannot be used" in caplog.text, 10, "the rubbish is looked at")
    identity.write_bytes(Path(certificates.worker).read_bytes())
    assert not works(ask_it), "its certificate alone does not let the client in"
    trusted.write_bytes(Path(certificates.ca).read_bytes())
    wait_for(lambda: works(ask_it) and works(have_it_ask), 10, "the new certificates")
    trusted.write_bytes(Path(certificates.strangers).read_bytes())
    wait_for(lambda: not works(ask_it) and not works(have_it_ask), 10, "what is trusted no more")


def test_http_and_https_side_by_side(serve_api: Serve, certificates: Any) -> None:
    api = serve_api({"listeners": "http://127.0.0.1:0,https://127.0.0.1:0", **location(certificates.worker)})
    assert [asked(url, trusting(certificates))["scheme"] for url in api.urls] == ["http", "https"]
    assert api.endpoints.advertised_url == api.urls[0]


@pytest.mark.parametrize("line_end", ["\n", "", " "], ids=["as in a file", "in one line", "with blanks"])
def test_key_and_certificates_may_stand_in_the_properties(serve_api: Serve, certificates: Any, line_end: str) -> None:
    texts = inline(Path(certificates.worker).read_text())
    url = serve_api({**HTTPS, **{name: text.replace("\n", line_end) for name, text in texts.items()}}).url
    assert asked(url, trusting(certificates))["scheme"] == "https"


def test_an_encrypted_key(serve_api: Serve, certificates: Any, tmp_path: Path) -> None:
    text = Path(certificates.worker).read_text()
    key = serialization.load_pem_private_key(text.encode(), None)
    secret = serialization.BestAvailableEncryption(b"s3cret")
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret)
    path = tmp_path / "encrypted.pem"
    path.write_bytes(pem + inline(text)["ssl.keystore.certificate.chain"].encode())
    good = {**HTTPS, **location(str(path)), "listeners.https.ssl.key.password": "s3cret"}
    assert asked(serve_api(good).url, trusting(certificates))["scheme"] == "https"
    for password in ("wrong", ""):
        expected = (
            r"listeners\.https\.ssl\.key\.password: it is (not the password of|needed for) the key of .*encrypted\.pem$"
        )
        with pytest.raises(ConfigError, match=expected) as raised:
            serve_api({**good, "listeners.https.ssl.key.password": password})
        assert "s3cret" not in str(raised.value)


def test_one_property_with_the_prefix_and_none_without_counts(serve_api: Serve, certificates: Any) -> None:
    url = serve_api({**HTTPS, **location(certificates.worker), **location(certificates.strangers, "")}).url
    assert asked(url, trusting(certificates))["scheme"] == "https"
    with pytest.raises(ConfigError, match=r"listeners\.https\.ssl\.keystore\.location: an https listener needs"):
        serve_api({**HTTPS, **location(certificates.worker, ""), "listeners.https.ssl.client.auth": "none"})


def test_admin_listeners_have_certificates_of_their_own(serve_api: Serve, certificates: Any) -> None:
    properties = {**location(certificates.strangers), **location(certificates.worker, "admin.listeners.https.")}
    regular, admin = serve_api({**HTTPS, "admin.listeners": "https://127.0.0.1:0", **properties}).urls
    assert asked(f"{admin}/admin/x", trusting(certificates))["path"] == "/admin/x"
    with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        asked(regular, trusting(certificates))


def test_only_the_versions_that_are_enabled(serve_api: Serve, certificates: Any) -> None:
    only = {"listeners.https.ssl.enabled.protocols": "TLSv1.2"}
    url = serve_api({**HTTPS, **location(certificates.worker), **only}).url
    assert asked(url, trusting(certificates))["scheme"] == "https"
    newest = trusting(certificates)
    newest.minimum_version = ssl.TLSVersion.TLSv1_3
    with pytest.raises(httpx2.ConnectError):
        asked(url, newest)


JAVAS = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"


@pytest.mark.parametrize("names", [JAVAS, "ECDHE-RSA-AES256-GCM-SHA384,ECDHE-ECDSA-AES256-GCM-SHA384"])
def test_only_the_suites_that_are_named(serve_api: Serve, certificates: Any, names: str) -> None:
    only = {"listeners.https.ssl.cipher.suites": names}
    url = serve_api({**HTTPS, **location(certificates.worker), **only}).url
    parts = urlsplit(url)
    context = trusting(certificates)
    with (
        socket.create_connection((parts.hostname, parts.port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname=parts.hostname) as connection,
    ):
        assert (connection.version(), connection.cipher()[0][-17:]) == ("TLSv1.2", "AES256-GCM-SHA384")  # type: ignore[index]
    context.set_ciphers("ECDHE+AES128")
    with pytest.raises(httpx2.ConnectError):
        asked(url, context)


def test_who_speaks_no_tls_disturbs_no_other(serve_api: Serve, certificates: Any) -> None:
    url = serve_api({**HTTPS, **location(certificates.worker)}).url
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=5) as silent:
        with pytest.raises(httpx2.HTTPError):
            httpx2.get(url.replace("https", "http"))
        assert asked(url, trusting(certificates))["scheme"] == "https"
        silent.sendall(b"\x16\x03")


# ---- certificates of clients


def client_auth(certificates: Any, kind: str) -> dict[str, str]:
    trust = {"listeners.https.ssl.truststore.location": certificates.ca, "listeners.https.ssl.client.auth": kind}
    return {**HTTPS, **location(certificates.worker), **trust}


@pytest.mark.parametrize(
    ("kind", "without", "strangers"),
    [("required", False, False), ("requested", True, False), ("none", True, True)],
)
def test_clients_certificates(serve_api: Serve, certificates: Any, kind: str, without: bool, strangers: bool) -> None:
    url = serve_api(client_auth(certificates, kind)).url

    def may(identity: str | None) -> bool:
        try:
            return bool(asked(url, trusting(certificates, identity)))
        except httpx2.TransportError:
            return False

    assert (may(certificates.client), may(None), may(certificates.strangers)) == (True, without, strangers)


# ---- calls to other workers


def call(api: Any, url: str) -> int:
    return RestClient(api.endpoints.tls.client).call(Call("GET", url, 5)).status


def test_workers_trust_the_configured_authorities(serve_api: Serve, certificates: Any) -> None:
    trust = {"ssl.truststore.certificates": Path(certificates.ca).read_text().replace("\n", " ")}
    worker = serve_api({**HTTPS, **trust, **location(certificates.worker, "")})
    assert call(worker, worker.url) == 200
    stranger = serve_api({**HTTPS, **trust, **location(certificates.strangers, "")})
    with pytest.raises(RetriableError, match="CERTIFICATE_VERIFY_FAILED"):
        call(worker, stranger.url)
    with pytest.raises(RetriableError, match="CERTIFICATE_VERIFY_FAILED"):
        RestClient().call(Call("GET", worker.url, 5))


def test_workers_show_their_own_certificate(serve_api: Serve, certificates: Any) -> None:
    worker = serve_api(client_auth(certificates, "required"))
    assert call(worker, worker.url) == 200


def test_the_host_has_to_be_that_of_the_certificate_by_default(serve_api: Serve, certificates: Any) -> None:
    trust = {"ssl.truststore.location": certificates.ca}
    worker = serve_api({**HTTPS, **trust, **location(certificates.elsewhere, "")})
    with pytest.raises(RetriableError, match=r"certificate is not valid for '127\.0\.0\.1'"):
        call(worker, worker.url)
    lenient = serve_api({**trust, "ssl.truststore.type": "PEM", "ssl.endpoint.identification.algorithm": ""})
    assert call(lenient, worker.url) == 200


def test_a_worker_without_https_needs_no_certificates(serve_api: Serve) -> None:
    tls = serve_api({"ssl.truststore.location": "kafka.jks", "ssl.truststore.type": "JKS"}).endpoints.tls
    assert (tls.server, tls.admin, tls.client) == (None, None, None)


# ---- what cannot be used


@pytest.mark.parametrize(
    ("properties", "property", "reason"),
    [
        ({}, "ssl.keystore.location", "an https listener needs a file with a key and its certificate"),
        ({"ssl.keystore.location": "/none.pem"}, "ssl.keystore.location", "No such file"),
        ({"ssl.keystore.location": "<ca>"}, "ssl.keystore.location", "there is no private key in PEM in it"),
        (
            {"ssl.keystore.location": "<worker>", "ssl.keystore.type": "JKS"},
            "ssl.keystore.location",
            "the file cannot be read as JKS: it is PEM; see ssl.keystore.type",
        ),
        ({"ssl.keystore.key": "x"}, "ssl.keystore.certificate.chain", "go together"),
        ({"ssl.keystore.key": "x", "ssl.keystore.certificate.chain": "y"}, "ssl.keystore.key", "in PEM"),
        ({"ssl.client.auth": "perhaps"}, "ssl.client.auth", "none, requested, required"),
        (
            {"ssl.keystore.location": "<worker>", "ssl.cipher.suites": "TLS_RSA_WITH_ROT13"},
            "ssl.cipher.suites",
            "OpenSSL has no suite 'TLS_RSA_WITH_ROT13'",
        ),
        ({"ssl.enabled.protocols": "SSLv3"}, "ssl.enabled.protocols", "TLSv1.2"),
        (
            {"ssl.keystore.location": "<worker>", "ssl.client.auth": "required"},
            "ssl.truststore.location",
            "whom to trust",
        ),
        (
            {"ssl.keystore.location": "<worker>", "ssl.truststore.location": "/none"},
            "ssl.truststore.location",
            "No such",
        ),
        (
            {"ssl.keystore.location": "<worker>", "ssl.truststore.certificates": "x"},
            "ssl.truststore.certificates",
            "PEM",
        ),
    ],
)
def test_what_cannot_be_used_is_reported_in_one_line(
    serve_api: Serve, certificates: Any, properties: dict[str, str], property: str, reason: str
) -> None:
    paths = {"<ca>": certificates.ca, "<worker>": certificates.worker}
    with pytest.raises(ConfigError, match=rf"configuration {re.escape(property)}: ") as raised:
        serve_api({**HTTPS, **{name: paths.get(text, text) for name, text in properties.items()}})
    assert reason in str(raised.value) and "\n" not in str(raised.value)
