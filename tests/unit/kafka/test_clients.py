# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging

import pytest
from confluent_kafka import Producer

from headrace.api.errors import ConfigError
from headrace.kafka.clients import client_config, security_properties
from headrace.kafka.clients.client_config import admin_config, consumer_config, kafka_python_config, producer_config
from headrace.kafka.clients.client_logs import LibrdkafkaLog
from headrace.kafka.clients.kerberos import KerberosLogin

BOOTSTRAP = {"bootstrap.servers": "localhost:1"}


def test_source_task_producer_of_java_connect() -> None:
    config = producer_config(
        {
            **BOOTSTRAP,
            "client.id": "connector-producer-c-0",
            "transactional.id": "g-c-0",
            "enable.idempotence": "true",
            "acks": "all",
            "max.in.flight.requests.per.connection": "1",
            "delivery.timeout.ms": "2147483647",
            "max.block.ms": "9223372036854775807",
            "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
        }
    )
    assert config["partitioner"] == "murmur2_random"
    assert config["transactional.id"] == "g-c-0"
    assert config["max.in.flight.requests.per.connection"] == 1
    assert config["delivery.timeout.ms"] == config["transaction.timeout.ms"] == 60_000
    assert not {"max.block.ms", "key.serializer"} & config.keys()


def test_names_and_ranges_become_librdkafkas() -> None:
    config = producer_config(
        {
            **BOOTSTRAP,
            "max.request.size": "5000000",
            "buffer.memory": "67108864",
            "request.timeout.ms": "900000",
            "send.buffer.bytes": "-1",
            "batch.size": "0",
            "compression.type": "zstd",
            "compression.zstd.level": "7",
            "compression.gzip.level": "3",
        }
    )
    assert config["message.max.bytes"] == 5_000_000
    assert config["queue.buffering.max.kbytes"] == 65_536
    assert config["socket.timeout.ms"] == 300_000
    assert config["socket.send.buffer.bytes"] == 0
    assert config["batch.size"] == 1
    assert config["compression.level"] == 7


@pytest.mark.parametrize(
    ("props", "expected"),
    [
        ({}, True),
        ({"acks": "-1"}, True),
        ({"acks": "1"}, False),
        ({"max.in.flight.requests.per.connection": "6"}, False),
        ({"retries": "0"}, False),
        ({"enable.idempotence": "false"}, "false"),
    ],
)
def test_idempotence_is_javas_default(props: dict[str, str], expected: object) -> None:
    assert producer_config({**BOOTSTRAP, **props})["enable.idempotence"] == expected


@pytest.mark.parametrize(
    ("props", "expected"),
    [
        ({}, 30_000),
        ({"transaction.timeout.ms": "5000"}, 2_500),
        ({"transaction.timeout.ms": "900000"}, 30_000),
        ({"delivery.timeout.ms": "1500"}, 750),
        ({"linger.ms": "7"}, 7),
    ],
)
def test_records_of_a_transaction_wait_for_half_of_their_time(props: dict[str, str], expected: int) -> None:
    assert producer_config({**BOOTSTRAP, "transactional.id": "t", **props})["linger.ms"] == expected
    assert client_config.producer({**BOOTSTRAP, "transactional.id": "t", **props}) is not None


def test_librdkafka_takes_what_we_make() -> None:
    everything = {
        **BOOTSTRAP,
        "transactional.id": "t",
        "transaction.timeout.ms": "5000",
        "request.timeout.ms": "30000",
        "delivery.timeout.ms": "120000",
        "linger.ms": "0",
        "retries": "2147483647",
        "reconnect.backoff.ms": "50",
        "metadata.max.age.ms": "300000",
        "connections.max.idle.ms": "-1",
        "socket.connection.setup.timeout.ms": "10000",
        "client.dns.lookup": "use_all_dns_ips",
    }
    assert isinstance(client_config.producer(everything), Producer)
    assert (
        client_config.consumer({**BOOTSTRAP, "max.poll.records": "500", "isolation.level": "read_committed"})
        is not None
    )
    two = {"partition.assignment.strategy": "a.b.RangeAssignor,a.b.CooperativeStickyAssignor"}
    assert client_config.consumer({**BOOTSTRAP, **two}) is not None
    assert client_config.admin_client({**everything, "group.id": "g", "auto.offset.reset": "earliest"}) is not None


def test_consumer_defaults_are_javas() -> None:
    config = consumer_config(BOOTSTRAP)
    assert (config["auto.offset.reset"], config["isolation.level"]) == ("latest", "read_uncommitted")
    assert consumer_config({**BOOTSTRAP, "auto.offset.reset": "none"})["auto.offset.reset"] == "error"


def test_unknown_property_is_named_once_with_the_nearest(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        first = producer_config({**BOOTSTRAP, "lingr.ms": "3"})
        producer_config({**BOOTSTRAP, "lingr.ms": "3"})
        admin_config({**BOOTSTRAP, "group.id": "g"})
    assert "lingr.ms" not in first
    assert [record.getMessage() for record in caplog.records] == [
        "The Kafka client property 'lingr.ms' is not known and has no effect; did you mean 'linger.ms'?"
    ]


def test_bad_values_name_property_and_value() -> None:
    with pytest.raises(ConfigError, match=r"'soon' for configuration linger\.ms") as caught:
        producer_config({**BOOTSTRAP, "linger.ms": "soon"})
    assert caught.value.name == "linger.ms"
    with pytest.raises(ConfigError, match=r"bootstrap\.servers"):
        client_config.producer({"bootstrap.servers": " "})


def test_sasl_login_is_taken_from_jaas() -> None:
    jaas = (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="al\\"ice" '
        "password='pass = word;' ;"
    )
    props = {
        **BOOTSTRAP,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": jaas,
    }
    config = consumer_config(props)
    assert (config["sasl.username"], config["sasl.password"]) == ('al"ice', "pass = word;")
    assert "sasl.jaas.config" not in config
    python = kafka_python_config(props)
    assert (python["sasl_mechanism"], python["sasl_plain_username"]) == ("SCRAM-SHA-256", 'al"ice')


@pytest.mark.parametrize("mechanism", [{"sasl.mechanism": "GSSAPI"}, {}])
def test_what_kerberos_needs_is_reported(mechanism: dict[str, str]) -> None:
    """Java's default is GSSAPI. This is about packages that tests run without."""
    props = {**BOOTSTRAP, "security.protocol": "SASL_PLAINTEXT", **mechanism}
    for made in (client_config.producer, client_config.consumer, client_config.admin_client, kafka_python_config):
        with pytest.raises(ConfigError, match=r"sasl\.mechanism: .*scripts/kerberos\.py .* builds some that have"):
            made(props)


def test_a_librdkafka_without_kerberos_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where gssapi is there alone."""
    monkeypatch.setattr(security_properties, "log_in", lambda login: None)
    props = {**BOOTSTRAP, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"}
    for made in (client_config.producer, client_config.consumer, client_config.admin_client):
        with pytest.raises(ConfigError, match=r"sasl\.mechanism: .*scripts/kerberos\.py .* builds some that have"):
            made(props)


def test_librdkafka_calls_no_kinit(monkeypatch: pytest.MonkeyPatch) -> None:
    logins: list[KerberosLogin] = []
    monkeypatch.setattr(security_properties, "log_in", logins.append)
    module = "com.sun.security.auth.module.Krb5LoginModule required"
    jaas = f"{module} useKeyTab=true keyTab='/a b/k' principal='p@R' serviceName=broker;"
    props = {**BOOTSTRAP, "security.protocol": "SASL_SSL", "sasl.jaas.config": jaas}
    config = consumer_config({**props, "sasl.kerberos.kinit.cmd": "touch /tmp/x"})
    assert config["sasl.kerberos.min.time.before.relogin"] == "0"
    assert config["sasl.kerberos.service.name"] == "broker"
    assert not {"sasl.kerberos.kinit.cmd", "sasl.kerberos.keytab", "sasl.kerberos.principal"} & config.keys()
    assert logins == [KerberosLogin("/a b/k", "p@R")]


def test_why_sasl_fails_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [1000.0]
    log = LibrdkafkaLog(clock=lambda: now[0])
    with caplog.at_level(logging.DEBUG, "headrace.kafka.librdkafka"):
        for broker, reason, seconds in (("b1", "(A)", 0), ("b2", "(A)", 59), ("b1", "(B)", 59), ("b1", "(B)", 120)):
            now[0] = 1000.0 + seconds
            log.log(logging.ERROR, "LIBSASL [w#producer-1] %s: GSSAPI Error: %s", broker, reason)
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.WARNING, logging.DEBUG, logging.WARNING, logging.WARNING]


def test_what_librdkafka_refuses_is_the_users_to_mend() -> None:
    with pytest.raises(ConfigError, match=r"The consumer's properties cannot be used: .*security\.protocol"):
        client_config.consumer({**BOOTSTRAP, "security.protocol": "SSSL"})


def test_unknown_login_module_is_refused_without_its_secrets() -> None:
    with pytest.raises(ConfigError) as caught:
        consumer_config({**BOOTSTRAP, "sasl.jaas.config": 'a.MyModule required password="hush";'})
    assert "MyModule" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_host_names_need_not_be_checked() -> None:
    unchecked = {**BOOTSTRAP, "security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""}
    assert consumer_config(unchecked)["ssl.endpoint.identification.algorithm"] == "none"
    assert not kafka_python_config(unchecked)["ssl_context"].check_hostname
    assert kafka_python_config({**BOOTSTRAP, "security.protocol": "SSL"})["ssl_context"].check_hostname


def test_kafka_python_gets_its_servers() -> None:
    config = kafka_python_config({"bootstrap.servers": "a:1, b:2", "client.id": "c", "request.timeout.ms": "5000"})
    assert config["bootstrap_servers"] == ["a:1", "b:2"]
    assert (config["client_id"], config["request_timeout_ms"]) == ("c", 5000)
    assert config["security_protocol"] == "PLAINTEXT"


def test_librdkafka_never_prints(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "headrace.kafka.librdkafka")
    producer = client_config.producer({**BOOTSTRAP, "client.id": "noisy"})
    for _ in range(50):
        producer.poll(0.1)
        if caplog.records:
            break
    assert caplog.records, "librdkafka said nothing"
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}
    assert capfd.readouterr().err == ""
