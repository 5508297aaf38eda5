# SPDX-License-Identifier: Apache-2.0
"""Every way to reach a Kafka cluster that Java's clients have works for every client of a worker, of either library.

One broker with a listener for each way. What is written reaches only principals that it knows, so a client that
gets through has shown who it is; and those have the rights that a worker needs, and no other. Each way is gone by each
kind of client, made as the worker makes it; whole workers go two of them. Kerberos is in `test_kerberos.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from headrace.cli.console import EXIT_MISCONFIGURED
from headrace.kafka.admin.broker_connection import connection_failure
from tests.security.every_client import every_client_goes, worker_config
from tests.security.secured_broker import PASSWORD, USER, SecuredBroker, quoted, secured_broker
from tests.support.key_material import KEY_PASSWORD, KeyMaterial
from tests.support.key_material import PASSWORD as STORE_PASSWORD
from tests.support.oidc_server import CLIENT_ID, CLIENT_SECRET, SCOPE, OidcServer
from tests.support.polling import wait_for
from tests.support.sinks import committed, create_sink, lines, wait_for_lines
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess, once_settled

_COMMON: Final = "org.apache.kafka.common.security"
_OAUTH_LOGIN: Final = f"{_COMMON}.oauthbearer.OAuthBearerLoginModule required"
Properties = dict[str, str]


@dataclass(frozen=True)
class Place:
    """What a way needs: where the broker is, keys, and where tokens come from."""

    broker: SecuredBroker
    keys: KeyMaterial
    oidc: OidcServer
    token_file: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("keys")
    keys = KeyMaterial(directory)
    with OidcServer() as oidc, secured_broker(keys, oidc) as broker:
        file = directory / "token.jwt"
        file.write_text(oidc.client_token() + "\n")
        yield Place(broker, keys, oidc, file)


def one_line(pem: str) -> str:
    return pem.replace("\n", " ").strip()


def trust(place: Place, kind: str) -> Properties:
    if kind == "inline":
        return {"ssl.truststore.certificates": one_line(place.keys.trusted), "ssl.truststore.type": "PEM"}
    if kind == "PEM":
        return {"ssl.truststore.location": place.keys.path("ca.pem"), "ssl.truststore.type": "PEM"}
    name = {"JKS": "trust.jks", "PKCS12": "trust.p12"}[kind]
    return {"ssl.truststore.location": place.keys.path(name), "ssl.truststore.password": STORE_PASSWORD}


def ssl(kind: str) -> Callable[[Place], Properties]:
    def way(place: Place) -> Properties:
        return {
            "bootstrap.servers": place.broker.servers["SSL"],
            "security.protocol": "SSL",
            **trust(place, kind),
        }

    return way


def mtls(kind: str) -> Callable[[Place], Properties]:
    def way(place: Place) -> Properties:
        keys = place.keys
        identity = {
            "PEM": {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": keys.path("client.pem"),
                "ssl.key.password": KEY_PASSWORD,
            },
            "inline": {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": one_line(keys.encrypted_key),
                "ssl.keystore.certificate.chain": one_line(keys.chain),
                "ssl.key.password": KEY_PASSWORD,
            },
            "PKCS12": {
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": keys.path("client.p12"),
                "ssl.keystore.password": STORE_PASSWORD,
            },
            "JKS": {
                "ssl.keystore.location": keys.path("client.jks"),
                "ssl.keystore.password": STORE_PASSWORD,
                "ssl.key.password": STORE_PASSWORD,
            },
        }[kind]
        return {**ssl(kind)(place), "bootstrap.servers": place.broker.servers["MTLS"], **identity}

    return way


def sasl(mechanism: str, login: str) -> Callable[[Place], Properties]:
    def way(place: Place) -> Properties:
        return {
            **ssl("PEM")(place),
            "bootstrap.servers": place.broker.servers["SASL"],
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"{login};",
        }

    return way


def user(module: str) -> str:
    return f"{_COMMON}.{module} required username={quoted(USER)} password={quoted(PASSWORD)}"


def oauth(place: Place) -> Properties:
    options = f'clientId="{CLIENT_ID}" clientSecret="{CLIENT_SECRET}" scope="{SCOPE}"'
    return {
        **sasl("OAUTHBEARER", f"{_OAUTH_LOGIN} {options}")(place),
        "sasl.login.callback.handler.class": f"{_COMMON}.oauthbearer.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": place.oidc.token_url,
    }


def oauth_of_properties(place: Place) -> Properties:
    return {
        **sasl("OAUTHBEARER", _OAUTH_LOGIN)(place),
        "sasl.oauthbearer.token.endpoint.url": place.oidc.token_url,
        "sasl.oauthbearer.client.credentials.client.id": CLIENT_ID,
        "sasl.oauthbearer.client.credentials.client.secret": CLIENT_SECRET,
        "sasl.oauthbearer.scope": SCOPE,
    }


def oauth_file(place: Place) -> Properties:
    url = place.token_file.as_uri()
    return {**sasl("OAUTHBEARER", _OAUTH_LOGIN)(place), "sasl.oauthbearer.token.endpoint.url": url}


WAYS: Final[Mapping[str, Callable[[Place], Properties]]] = {
    "PLAINTEXT": lambda place: {"bootstrap.servers": place.broker.plain},
    **{f"SSL-{kind}": ssl(kind) for kind in ("PEM", "inline", "PKCS12", "JKS")},
    **{f"mTLS-{kind}": mtls(kind) for kind in ("PEM", "inline", "PKCS12", "JKS")},
    "PLAIN": sasl("PLAIN", user("plain.PlainLoginModule")),
    "SCRAM-SHA-256": sasl("SCRAM-SHA-256", user("scram.ScramLoginModule")),
    "SCRAM-SHA-512": sasl("SCRAM-SHA-512", user("scram.ScramLoginModule")),
    "OAUTHBEARER": oauth,
    "OAUTHBEARER-properties": oauth_of_properties,
    "OAUTHBEARER-file": oauth_file,
}


@pytest.mark.parametrize("way", WAYS)
def test_every_client_connects_with_every_login(place: Place, unique: str, way: str) -> None:
    every_client_goes(worker_config(unique, WAYS[way](place)), unique)


@pytest.mark.parametrize("way", WAYS)
def test_the_doctor_connects_with_every_login(place: Place, way: str) -> None:
    props = WAYS[way](place)
    assert connection_failure(props, props["bootstrap.servers"], 30) is None


@pytest.mark.parametrize("way", ["mTLS-JKS", "OAUTHBEARER"])
def test_a_worker_with_this_login_copies_records_and_keeps_offsets(
    place: Place, unique: str, tmp_path: Path, way: str
) -> None:
    """It joins, writes exactly once, reads, and keeps offsets; with tokens that live for some seconds, as well."""
    issued, file = len(place.oidc.issued), tmp_path / "out.txt"
    place.oidc.lifetime = 12
    try:
        with WorkerProcess(tmp_path, "", **{"group.id": unique, **WAYS[way](place)}) as worker:
            source = {"connector.class": "VerifiableSource", "topic": unique, "throughput": "20", "tasks.max": "1"}
            worker.create(f"{unique}-source", **source)
            create_sink(worker, f"{unique}-sink", unique, file)
            assert worker.rest.put("/admin/loggers/kafka", json={"level": "DEBUG"}).status_code == 200
            wait_for_lines(file, 10)
            if way == "OAUTHBEARER":
                wait_for(lambda: len(place.oidc.issued) > issued + 4, 60, "tokens")
                assert "Lost the session" not in worker.log
                outlive_an_outage(place.oidc)
                more = len(lines(file)) + 50
                names = (f"{unique}-source", f"{unique}-sink")
                wait_for(lambda: len(lines(file)) >= more, 60, lambda: f"{[*map(worker.status, names)]}")
            wait_for(lambda: worker.rest.get(f"/connectors/{unique}-source/offsets").json()["offsets"], 30, "offsets")
            group = f"connect-{unique}-sink"
            wait_for(lambda: committed(place.broker.plain, group, unique).get(0, 0) > 0, 30, "offsets of the sink")
            once_settled(lambda: worker.rest.delete(f"/connectors/{unique}-source"))
            log = worker.log
    finally:
        place.oidc.lifetime = 300
    numbers = [int(record.value or b"") for record in read_committed(place.broker.plain, unique)]
    assert numbers == list(range(len(numbers)))
    assert not [secret for secret in (CLIENT_SECRET, STORE_PASSWORD, *place.oidc.issued) if secret in log]


def outlive_an_outage(oidc: OidcServer) -> None:
    """No client gets a token until the last one has expired, and brokers have ended all connections."""
    oidc.broken = True
    expired = time.time() + oidc.lifetime + 2
    wait_for(lambda: time.time() > expired, 30, "the tokens' end")
    # From here on nothing hangs on a machine's being quick.
    oidc.lifetime, oidc.broken = 300, False


@pytest.mark.parametrize(
    ("way", "change", "expected"),
    [
        (
            "OAUTHBEARER-properties",
            {"sasl.oauthbearer.client.credentials.client.secret": "wr0ng"},
            f"configuration sasl.oauthbearer.token.endpoint.url: it gives no token to client '{CLIENT_ID}'",
        ),
        (
            "mTLS-JKS",
            {"ssl.keystore.password": "wr0ng"},
            "Invalid configuration ssl.keystore.password: it does not open",
        ),
    ],
)
def test_a_mistake_ends_the_start_in_one_line(
    place: Place, unique: str, tmp_path: Path, way: str, change: Properties, expected: str
) -> None:
    worker = WorkerProcess(tmp_path, "", **{"group.id": unique, **WAYS[way](place), **change})
    assert worker.launch().wait(90) == EXIT_MISCONFIGURED
    errors = [line for line in worker.log.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1 and expected in errors[0], worker.log
    assert "Traceback" not in worker.log and "wr0ng" not in worker.log
    worker.close()
