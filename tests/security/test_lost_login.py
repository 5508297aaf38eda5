# SPDX-License-Identifier: Apache-2.0
"""A login that brokers refuse for a while after it succeeded: expired tickets without a KDC, a user made anew."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from headrace.api.errors import ConnectError, RetriableError
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.broker.free_port import LOOPBACK, free_port
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from headrace.kafka.log import kafka_based_log
from headrace.kafka.log.kafka_based_log import KafkaBasedLog, LogRecord
from tests.support.polling import wait_for

_USER, _PASSWORD = "brief", "secret"
_MECHANISM: Final = ScramMechanism.SCRAM_SHA_256
_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_SESSION_MS: Final = 1000
"""After it the broker wants to be shown the login again."""
_COMPACTED: Final = {"cleanup.policy": "compact"}


class Users:
    """The users that the broker knows."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def add(self) -> None:
        self._alter(UserScramCredentialUpsertion(_USER, ScramCredentialInfo(_MECHANISM, 4096), _PASSWORD.encode()))

    def remove(self) -> None:
        self._alter(UserScramCredentialDeletion(_USER, _MECHANISM))

    def _alter(self, alteration: Any) -> None:
        for altered in self._admin.alter_user_scram_credentials([alteration]).values():
            altered.result(30)


@dataclass(frozen=True)
class Place:
    """A broker that wants to be shown a login again each second at the address of ``login``."""

    users: Users
    login: Mapping[str, str]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    port = free_port()
    listener = f"listener.name.proxied{port}"
    properties = {
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED{port}:SASL_PLAINTEXT",
        f"{listener}.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        f"{listener}.scram-sha-256.sasl.jaas.config": f"{_MODULE};",
        f"{listener}.scram-sha-256.connections.max.reauth.ms": str(_SESSION_MS),
    }
    login = {
        "bootstrap.servers": f"{LOOPBACK}:{port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "reconnect.backoff.max.ms": "200",
        "sasl.jaas.config": f'{_MODULE} username="{_USER}" password="{_PASSWORD}";',
    }
    with EmbeddedBroker(port=0, properties=properties, proxies={port: port}) as broker:
        yield Place(Users(broker.bootstrap_servers), login)


def test_a_log_continues_after_its_login_was_refused(
    place: Place, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker lives as long as its logs do, and brokers refuse a login also while a KDC is away."""
    monkeypatch.setattr(kafka_based_log, "_DESCRIBE_INTERVAL", 0.0)  # a description is always under way
    users, login = place.users, place.login
    users.add()
    records: list[LogRecord] = []
    log = KafkaBasedLog(unique, login, login, records.extend, login, TopicSpec(unique, 1, 1, _COMPACTED))
    log.start()
    admin = TopicAdmin(login)
    try:
        log.send(b"key", b"before").result(30)
        refuse(users, admin, unique)
        assert log.failure() is None
        log.send(b"key", b"after").result(60)
        log.read_to_end().result(60)
    finally:
        users.add()
        log.stop()
    assert [record.value for record in records] == [b"before", b"after"]


def refuse(users: Users, admin: TopicAdmin, topic: str) -> None:
    """Have the broker refuse the user's login while the topic is described, and let the user in again.

    Only a request that is under way fails by that, and only with a client that was logged in; later ones time out.
    """
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        wait_for(lambda: failed_description(admin, topic) is None, 60, "a login")
        users.remove()
        error = None
        while error is None:
            error = failed_description(admin, topic)
        users.add()
        if "_AUTHENTICATION" in str(error):
            assert isinstance(error, RetriableError)
            return
    raise AssertionError("no login was refused while a topic was described")


def failed_description(admin: TopicAdmin, topic: str) -> ConnectError | None:
    try:
        admin.describe(topic, 2)
    except ConnectError as error:
        return error
    return None
