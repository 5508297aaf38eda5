# SPDX-License-Identifier: Apache-2.0
"""Keys and certificates of real workers' listeners, in every form that Kafka's clients read them in."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx2
import pytest
from cryptography.x509 import load_der_x509_certificate

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.broker.free_port import free_port
from tests.support.key_material import KEY_PASSWORD, PASSWORD, KeyMaterial
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess, once_settled

HOST = "127.0.0.1"
CONFIG = {"connector.class": "MockSource", "tasks.max": "1"}
LISTENERS, ADMIN = "listeners.https.", "admin.listeners.https."


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> KeyMaterial:
    made = KeyMaterial(tmp_path_factory.mktemp("keys"))
    made.server_stores(HOST)
    return made


def in_file(keys: KeyMaterial, prefix: str, identity: str, trusted: str) -> dict[str, str]:
    passwords = {"ssl.key.password": KEY_PASSWORD} if identity == "pem" else {"ssl.keystore.password": PASSWORD}
    if trusted == "trust.p12":  # as in Java, a store of type JKS needs none to be trusted
        passwords["ssl.truststore.password"] = PASSWORD
    said = {
        "ssl.keystore.location": keys.path(f"{HOST}.{identity}"),
        "ssl.keystore.type": {"pem": "PEM", "p12": "PKCS12", "jks": "JKS"}[identity],
        "ssl.truststore.location": keys.path(trusted),
        "ssl.client.auth": "required",
        **passwords,
    }
    return {prefix + name: value for name, value in said.items()}


def inline(keys: KeyMaterial, prefix: str) -> dict[str, str]:
    issued = Path(keys.path(f"{HOST}.pem")).read_text()
    end = issued.index("-----BEGIN CERTIFICATE-----")
    said = {
        "ssl.keystore.key": issued[:end],
        "ssl.keystore.certificate.chain": issued[end:],
        "ssl.key.password": KEY_PASSWORD,
        "ssl.truststore.certificates": keys.trusted,
        "ssl.client.auth": "required",
    }
    return {prefix + name: value.replace("\n", " ") for name, value in said.items()}


def client(keys: KeyMaterial, *, known: bool = True) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=keys.path("ca.pem"))
    if known:
        context.load_cert_chain(keys.path("client.pem"), password=KEY_PASSWORD)
    return context


def secured(directory: Path, broker: EmbeddedBroker, keys: KeyMaterial, **properties: str) -> WorkerProcess:
    worker = WorkerProcess(directory, broker.bootstrap_servers, **{"group.id": "keystores", **properties})
    worker.properties["listeners"] = f"https://{HOST}:{worker.port}"
    worker.rest = httpx2.Client(base_url=f"https://{HOST}:{worker.port}", verify=client(keys), timeout=60)
    return worker


@pytest.fixture(scope="module")
def workers(
    broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory, keys: KeyMaterial
) -> Iterator[dict[str, tuple[WorkerProcess, int]]]:
    """Two of one group, with four listeners: each worker, and the port, by the form of the listener's key."""
    ports = [free_port(), free_port()]
    admin = [{"admin.listeners": f"https://{HOST}:{port}"} for port in ports]
    first = {**in_file(keys, LISTENERS, "p12", "trust.jks"), **in_file(keys, ADMIN, "jks", "trust.p12"), **admin[0]}
    second = {**inline(keys, LISTENERS), **in_file(keys, ADMIN, "pem", "ca.pem"), **admin[1]}
    one = secured(tmp_path_factory.mktemp("one"), broker, keys, **first)
    other = secured(tmp_path_factory.mktemp("other"), broker, keys, **second)
    try:
        one.launch()
        other.start()
        one.await_answer()
        yield {
            "p12": (one, one.port),
            "jks": (one, ports[0]),
            "inline": (other, other.port),
            "pem": (other, ports[1]),
        }
    finally:
        one.close()
        other.close()


@pytest.mark.parametrize("form", ["p12", "jks", "inline", "pem"])
def test_each_form_serves_only_whom_it_trusts(
    workers: dict[str, tuple[WorkerProcess, int]], keys: KeyMaterial, form: str
) -> None:
    _, port = workers[form]
    url = f"https://{HOST}:{port}/admin/loggers" if form in ("jks", "pem") else f"https://{HOST}:{port}/"
    assert httpx2.get(url, verify=client(keys)).status_code == 200
    with pytest.raises(httpx2.TransportError):
        httpx2.get(url, verify=client(keys, known=False))


def test_workers_reach_each_other_with_what_their_stores_have(workers: dict[str, tuple[WorkerProcess, int]]) -> None:
    """One of the two forwards to the other: keys and truststores of PKCS12 and JKS, and texts in properties."""
    both = [workers["p12"][0], workers["inline"][0]]
    for number, worker in enumerate(both):
        answer = once_settled(partial(worker.rest.put, f"/connectors/keystores-{number}/config", json=CONFIG))
        assert answer.status_code == 201, answer.text
    for worker in both:
        wait_for(lambda worker=worker: len(worker.connectors()) == 2, 60, "both connectors")  # type: ignore[misc]


def test_a_pkcs12_and_a_jks_file_are_renewed_without_a_restart(
    workers: dict[str, tuple[WorkerProcess, int]], keys: KeyMaterial
) -> None:
    def serial(form: str) -> int:
        with (
            socket.create_connection((HOST, workers[form][1]), 10) as plain,
            client(keys).wrap_socket(plain, server_hostname=HOST) as connection,
        ):
            return load_der_x509_certificate(connection.getpeercert(True) or b"").serial_number

    worker, pid = workers["p12"][0], workers["p12"][0].pid
    former = {form: serial(form) for form in ("p12", "jks")}
    store = Path(keys.path(f"{HOST}.p12"))
    store.write_bytes(b"\x30\x82 rubbish")
    expected = "listeners.https.ssl.keystore.password: it does not open"
    wait_for(lambda: serial("p12") and expected in worker.log, 30, lambda: worker.log[-2000:])
    assert serial("p12") == former["p12"], "what was read before stays in force"
    keys.server_stores(HOST)
    wait_for(lambda: all(serial(form) != former[form] for form in former), 30, lambda: worker.log[-2000:])
    assert (worker.pid, worker.launched.poll()) == (pid, None)


def test_mistakes_are_reported_with_property_and_file_and_no_trace(
    broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory, keys: KeyMaterial
) -> None:
    def mistaken(form: str, **properties: str) -> dict[str, str]:
        said = in_file(keys, LISTENERS, form, "trust.p12")
        return said | {LISTENERS + name: value for name, value in properties.items()}

    prefix = f"{LISTENERS}ssl."
    cases = [
        (mistaken("p12", **{"ssl.keystore.password": "wr0ng"}), f"{prefix}keystore.password: it does not open", ".p12"),
        (
            mistaken("jks", **{"ssl.keystore.location": keys.path("trust.jks")}),
            f"{prefix}keystore.location: there is no private key with certificates in it",
            "trust.jks",
        ),
        (
            {
                **inline(keys, LISTENERS),
                f"{prefix}keystore.certificate.chain": keys.trusted.replace("\n", " "),
            },
            f"{prefix}keystore.key: none of the certificates is that of the private key",
            "",
        ),
    ]
    started = []
    for properties, _, _ in cases:
        worker = secured(tmp_path_factory.mktemp("mistaken"), broker, keys, **properties)
        started.append((worker, worker.launch()))
    for (worker, process), (_, expected, file) in zip(started, cases, strict=True):
        try:
            assert process.wait(120) != 0
            (line,) = [line for line in worker.log.splitlines() if prefix in line]
            assert expected in line and file in line
            assert "Traceback" not in worker.log and "wr0ng" not in worker.log
        finally:
            worker.close()
