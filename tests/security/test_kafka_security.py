# SPDX-License-Identifier: Apache-2.0
"""Every way to reach a Kafka cluster that Java's clients have works for every client of a worker, of either library.

One broker with a listener for each way. What is written reaches nobody but principals that it knows, so a client that
gets through has shown who it is. Each way is gone by each kind of client, made as the worker makes it; whole workers go
two of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from headrace.api.errors import ConfigError
from headrace.cli.console import EXIT_MISCONFIGURED
from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.kafka import clients
from headrace.kafka.clients import kafka_python_config
from headrace.kafka.consumer_groups import ConsumerGroups
from headrace.kafka.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.kafka.fencing import fence_producers
from headrace.kafka.free_port import LOOPBACK, free_port
from headrace.kafka.group_membership import GroupMember, GroupSettings
from headrace.kafka.topic_admin import TopicAdmin, TopicSpec
from headrace.kafka.transactional_producer import TransactionalProducer
from tests.support.acls import AUTHORIZER
from tests.support.kerberos import CLIENT, SERVICE, Kerberos, missing_programs
from tests.support.key_material import KEY_PASSWORD, KeyMaterial
from tests.support.key_material import PASSWORD as STORE_PASSWORD
from tests.support.oidc_server import CLIENT_ID, CLIENT_SECRET, SCOPE, OidcServer
from tests.support.polling import wait_for
from tests.support.secured_broker import PASSWORD, USER, SecuredBroker, quoted, secured_broker
from tests.support.sinks import committed, create_sink, lines, wait_for_lines
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess, once_settled

_COMMON: Final = "org.apache.kafka.common.security"
_OAUTH_LOGIN: Final = f"{_COMMON}.oauthbearer.OAuthBearerLoginModule required"
_KRB5: Final = "com.sun.security.auth.module.Krb5LoginModule required"
KERBEROS: Final = {
    "bootstrap.servers": "127.0.0.1:1",
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "GSSAPI",
    "sasl.kerberos.service.name": "kafka",
}
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
        file.write_text(oidc.token() + "\n")
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


class Member:
    """A listener of a membership that notes that it has joined."""

    def __init__(self, worker: DistributedConfig) -> None:
        self.joined = threading.Event()
        settings = GroupSettings(worker.group_id, 10.0, 1.0, 10.0)
        self.member = GroupMember(kafka_python_config(client_configs.group_member(worker, "w")), settings, self)

    def ready_to_join(self) -> bool:
        return True

    def offered_protocols(self) -> Sequence[tuple[str, bytes]]:
        return [("sessioned", b"")]

    def assign(self, leader_id: str, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return members

    def on_assigned(self, *_: Any) -> None:
        self.joined.set()

    def on_lost(self, reason: str) -> None:
        pass


def worker_config(unique: str, way: Properties) -> DistributedConfig:
    topics = {f"{kind}.storage.topic": f"{unique}-{kind}" for kind in ("config", "offset", "status")}
    converters = dict.fromkeys(("key.converter", "value.converter"), "StringConverter")
    return DistributedConfig(
        {"group.id": unique, "exactly.once.source.support": "enabled", **topics, **converters, **way}
    )


@pytest.mark.parametrize("way", WAYS)
def test_every_client_goes_every_way(place: Place, unique: str, way: str) -> None:
    every_client_goes(worker_config(unique, WAYS[way](place)), unique)


def every_client_goes(worker: DistributedConfig, unique: str) -> None:
    connector = {"name": unique, "connector.class": "any"}
    member = Member(worker)
    member.member.start()
    try:
        admin = TopicAdmin(client_configs.admin(worker))
        assert admin.create_topics([TopicSpec(unique, 1, 1)]) == {unique}
        id = worker.transactional_id(unique, 0)
        fence_producers(client_configs.fencing_admin(worker, connector), [id], 30).all()
        write(client_configs.source_task_producer(worker, connector, 0), unique)
        assert read(client_configs.sink_task_consumer(worker, connector, 0), unique) == b"v"
        groups = ConsumerGroups(client_configs.consumer_group_admin(worker, connector))
        assert list(groups.offsets(f"connect-{unique}").values()) == [1]
        assert member.joined.wait(30), member.member.trouble()
    finally:
        member.member.leave(2.0)


def write(props: Mapping[str, str], topic: str) -> None:
    producer = TransactionalProducer(props)
    producer.init_transactions(30)
    producer.begin()
    producer.records.send(topic, b"k", b"v")
    producer.commit(30)
    producer.close()


def read(props: Mapping[str, str], topic: str) -> bytes | None:
    consumer = clients.consumer({**props, "isolation.level": "read_committed"})
    consumer.subscribe([topic])
    found = wait_for(lambda: consumer.poll(1.0), 30, "the record")
    assert found.error() is None, found.error()
    consumer.commit(found, asynchronous=False)
    consumer.close()
    return found.value()  # type: ignore[no-any-return]


@pytest.mark.parametrize("ticket", ["of a keytab", "of a cache"])
def test_every_client_goes_by_kerberos(
    unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ticket: str
) -> None:
    """Only where confluent-kafka was built against a librdkafka that can, see docs/guide/kafka-security.md."""
    try:
        kafka_python_config(KERBEROS)
        clients.admin_client(KERBEROS)
    except ConfigError as error:
        pytest.skip(str(error))
    if missing := missing_programs():
        pytest.skip(f"not installed: {missing}; apt-get install krb5-kdc krb5-admin-server krb5-user")
    with Kerberos(tmp_path) as realm, kerberized_broker(realm) as bootstrap:
        for name, value in realm.environment.items():
            monkeypatch.setenv(name, value)
        login = f"{_KRB5} useKeyTab=true keyTab={quoted(str(realm.client_keytab))} principal={quoted(CLIENT)};"
        if ticket == "of a cache":
            realm.log_in()
            login = f"{_KRB5} useTicketCache=true;"
        way = {**KERBEROS, "bootstrap.servers": bootstrap, "sasl.jaas.config": login}
        every_client_goes(worker_config(unique, way), unique)


@contextmanager
def kerberized_broker(realm: Kerberos) -> Iterator[str]:
    port = free_port()
    listener = f"listener.name.proxied{port}"
    keytab = f"storeKey=true useKeyTab=true keyTab={quoted(str(realm.service_keytab))}"
    properties = {
        **AUTHORIZER,
        "super.users": f"User:ANONYMOUS;User:{CLIENT.partition('@')[0]}",
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED{port}:SASL_PLAINTEXT",
        f"{listener}.sasl.enabled.mechanisms": "GSSAPI",
        f"{listener}.sasl.kerberos.service.name": "kafka",
        f"{listener}.gssapi.sasl.jaas.config": f"{_KRB5} {keytab} principal={quoted(SERVICE)};",
    }
    options = (*QUICK_START_JVM_OPTIONS, f"-Djava.security.krb5.conf={realm.conf}")
    with EmbeddedBroker(port=0, properties=properties, jvm_options=options, proxies={port: port}):
        yield f"{LOOPBACK}:{port}"


@pytest.mark.parametrize("way", ["mTLS-JKS", "OAUTHBEARER"])
def test_a_worker_goes(place: Place, unique: str, tmp_path: Path, way: str) -> None:
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
    """Nobody gets a token until the last one has expired, and brokers have ended all connections."""
    oidc.broken = True
    expired = time.time() + oidc.lifetime + 2
    wait_for(lambda: time.time() > expired, 30, "the tokens' end")
    # From here on nothing hangs on a machine's being quick.
    oidc.lifetime, oidc.broken = 300, False


@pytest.mark.parametrize(
    ("way", "change", "told"),
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
    place: Place, unique: str, tmp_path: Path, way: str, change: Properties, told: str
) -> None:
    worker = WorkerProcess(tmp_path, "", **{"group.id": unique, **WAYS[way](place), **change})
    assert worker.launch().wait(90) == EXIT_MISCONFIGURED
    errors = [line for line in worker.log.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1 and told in errors[0], worker.log
    assert "Traceback" not in worker.log and "wr0ng" not in worker.log
    worker.close()
