# SPDX-License-Identifier: Apache-2.0
"""`headrace doctor` on a real broker: topics, groups, running workers, and a broker that cannot be reached."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
from confluent_kafka import Consumer
from typer.testing import CliRunner

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.broker.free_port import free_port
from headrace.cli.main import app
from headrace.config.distributed_config import DistributedConfig
from headrace.doctor.brokers import check_brokers, check_cluster
from headrace.doctor.findings import Finding, Level
from headrace.doctor.group import check_group
from headrace.doctor.internal_topics import check_internal_topics
from headrace.doctor.subject import Subject
from headrace.kafka.admin.topic_admin import TopicAdmin
from tests.support.group_of_workers import Cluster
from tests.support.polling import wait_for
from tests.support.sinks import make_topic


def properties(bootstrap: str, group: str, **more: str) -> dict[str, str]:
    topics = {f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("config", "offset", "status")}
    one = {f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")}
    converters = {"key.converter": "StringConverter", "value.converter": "StringConverter"}
    base = {"bootstrap.servers": bootstrap, "group.id": group, "listeners": "http://127.0.0.1:0", **converters}
    return {**base, **topics, **one, **{name.replace("_", "."): text for name, text in more.items()}}


def findings(check: Any, props: dict[str, str]) -> list[Finding]:
    subject = Subject("worker.properties", props, DistributedConfig(props))
    with closing(subject.kafka):
        return list(check(subject))


def problems(check: Any, props: dict[str, str]) -> list[Finding]:
    return [each for each in findings(check, props) if each.level is Level.PROBLEM]


def run(tmp_path: Path, props: dict[str, str]) -> tuple[int, list[dict[str, str]]]:
    """Run the command as a user does."""
    file = tmp_path / "worker.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in props.items()))
    file.chmod(0o600)
    result = CliRunner().invoke(app, ["doctor", str(file), "-o", "json"])
    return result.exit_code, json.loads(result.output)["findings"]


@pytest.fixture(scope="module")
def new_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(port=0, jvm_options=QUICK_START_JVM_OPTIONS) as running:
        yield running


def test_a_new_cluster_stays_without_topics(new_broker: EmbeddedBroker, tmp_path: Path) -> None:
    """Not even those of coordinators are created, which a look for a coordinator would do."""
    code, found = run(tmp_path, properties(new_broker.bootstrap_servers, "new"))
    checks = {each["check"] for each in found if each["level"] == "ok"}
    assert code == 0, found
    assert {"brokers", "cluster", "permissions", "internal topics", "group", "connectors", "spark"} <= checks
    admin = TopicAdmin({"bootstrap.servers": new_broker.bootstrap_servers})
    names = [f"new-{kind}" for kind in ("config", "offset", "status")]
    assert [admin.describe(name) for name in (*names, "__consumer_offsets", "__transaction_state")] == [None] * 5


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextmanager
def tls_server() -> Iterator[int]:
    """A port that speaks TLS, with a certificate that no client trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with suppress(OSError), connection, context.wrap_socket(connection, server_side=True) as secured:
                    secured.recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_a_dead_port_ends_the_command_in_time(tmp_path: Path) -> None:
    props = properties(f"127.0.0.1:{free_port()}", "dead")
    started = time.monotonic()
    code, found = run(tmp_path, props)
    assert time.monotonic() - started < 30
    assert code == 1
    (dead,) = [each for each in found if each["check"] == "brokers"]
    assert dead["level"] == "problem" and "TCP failed: Connection refused" in dead["found"], dead
    unchecked = {each["check"] for each in found if "not checked" in each["found"]}
    assert unchecked >= {"cluster", "internal topics", "group", "permissions"}


def test_a_silent_port_ends_the_command_in_time(tmp_path: Path) -> None:
    started = time.monotonic()
    with silent_server() as port:
        code, found = run(tmp_path, properties(f"127.0.0.1:{port}", "silent"))
    assert time.monotonic() - started < 30
    assert code == 1
    (silent,) = [each for each in found if each["check"] == "brokers"]
    assert silent["level"] == "problem" and "first request failed" in silent["found"], silent


def test_each_step_of_a_connection_has_its_own_advice(broker: EmbeddedBroker) -> None:
    ok_server = broker.bootstrap_servers
    with tls_server() as port:
        tls = f"127.0.0.1:{port}"
        cases = [
            ("nowhere.invalid:9092", {}, "name failed", "DNS"),
            (tls, {}, "first request failed", "the port expects TLS"),
            (tls, {"security_protocol": "SSL"}, "TLS failed: the broker's certificate is not accepted", "truststore"),
            (ok_server, {"security_protocol": "SSL"}, "TLS failed", "security.protocol"),
            (ok_server, {"security_protocol": "SASL_PLAINTEXT", **plain_login()}, "expects no login", "sasl.mechanism"),
        ]
        for servers, more, expected, remedy in cases:
            (found,) = problems(check_brokers, properties(servers, "steps", **more))
            assert expected in found.found and remedy in found.remedy, found


def plain_login() -> dict[str, str]:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {"sasl_mechanism": "PLAIN", "sasl_jaas_config": f'{module} required username="u" password="p";'}


def test_an_advertised_address_that_is_dead() -> None:
    """The bootstrap server answers, and sends its clients to where nothing is."""
    port, dead = free_port(), free_port()
    with EmbeddedBroker(port=0, jvm_options=QUICK_START_JVM_OPTIONS, proxies={port: dead}):
        props = properties(f"127.0.0.1:{port}", "advertised")
        assert [each.level for each in findings(check_brokers, props)] == [Level.OK]
        (found,) = findings(check_cluster, props)
    assert found.level is Level.PROBLEM and "advertised.listeners" in found.remedy
    assert f"advertises 127.0.0.1:{dead}: TCP failed: Connection refused" in found.found


def test_one_of_two_servers_is_dead(broker: EmbeddedBroker) -> None:
    servers = f"{broker.bootstrap_servers},127.0.0.1:{free_port()}"
    found = findings(check_brokers, properties(servers, "two"))
    assert [each.level for each in found] == [Level.OK, Level.WARNING]


def test_all_checks_go_on_with_the_server_that_answers(new_broker: EmbeddedBroker, tmp_path: Path) -> None:
    dead = f"127.0.0.1:{free_port()}"
    code, found = run(tmp_path, properties(f"{dead},{new_broker.bootstrap_servers}", "first-dead"))
    of_kafka = ("brokers", "cluster", "permissions", "internal topics", "group", "connectors")
    reported = [(each["level"], each["check"]) for each in found if each["check"] in of_kafka and each["level"] != "ok"]
    assert (code, reported) == (0, [("warning", "brokers")]), found
    (warned,) = [each for each in found if each["check"] == "brokers" and each["level"] == "warning"]
    assert warned["found"].startswith(f"{dead}: TCP failed: Connection refused")
    assert "other servers answer" in warned["found"]


def test_internal_topics_that_cannot_be_used(broker: EmbeddedBroker, unique: str) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, f"{unique}-config", partitions=2, **{"cleanup.policy": "compact"})
    make_topic(bootstrap, f"{unique}-offset", **{"cleanup.policy": "delete"})
    make_topic(bootstrap, f"{unique}-status", **{"cleanup.policy": "compact", "min.insync.replicas": "2"})
    config, offset, status = problems(check_internal_topics, properties(bootstrap, unique))
    assert f"{unique}-config has 2 partitions and must have one" in config.found
    assert "cleanup.policy=delete and would lose records" in offset.found and "kafka-configs.sh" in offset.remedy
    assert "min.insync.replicas=2 and 1 replica: it cannot be written" in status.found


def test_more_replicas_than_brokers(broker: EmbeddedBroker, unique: str) -> None:
    props = properties(broker.bootstrap_servers, unique) | {"status.storage.replication.factor": "3"}
    (found,) = problems(check_internal_topics, props)
    assert f"{unique}-status does not exist, and cannot be created" in found.found
    assert "status.storage.replication.factor=1" in found.remedy


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_of_consumers(broker: EmbeddedBroker, unique: str, protocol: str) -> None:
    make_topic(broker.bootstrap_servers, unique)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": unique, "group.protocol": protocol})
    with closing(consumer):
        consumer.subscribe([unique])
        wait_for(lambda: (consumer.poll(0.1), consumer.assignment())[1], 60, "an assignment")
        (found,) = problems(check_group, properties(broker.bootstrap_servers, unique))
    assert f"group.id={unique} is the group of others: its protocol type is consumer" in found.found


def test_a_group_with_a_worker(broker: EmbeddedBroker) -> None:
    cluster = Cluster(broker.bootstrap_servers)
    herder = cluster.start()
    try:
        wait_for(lambda: herder.has_started() and herder.state.is_leader, 60, herder.stage)
        own = {name: text for name, text in cluster.config.raw.items() if text is not None}
        (found,) = findings(check_group, own)
        assert found.level is Level.OK and "1 worker (http://localhost:8083/), state Stable" in found.found, found
        other = findings(check_group, {**own, "status.storage.topic": "elsewhere"})
        assert [each.level for each in other] == [Level.OK, Level.PROBLEM]
        assert "uses other internal topics" in other[1].found
    finally:
        cluster.stop()
