# SPDX-License-Identifier: Apache-2.0
"""The findings about brokers, permissions, internal topics and groups, from facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from headrace.config.distributed_config import DistributedConfig
from headrace.config.worker_config import InternalTopic
from headrace.doctor.brokers import cluster_finding, server_findings
from headrace.doctor.findings import Level
from headrace.doctor.group import consumer_group_findings, group_findings
from headrace.doctor.internal_topics import TopicFacts, name_findings, topic_findings
from headrace.doctor.permissions import acl_command, permission_findings
from headrace.doctor.rights import GROUP, ID, TOPIC, Need, Permission, needs
from headrace.doctor.subject import Connector, logins
from headrace.kafka.admin.broker_connection import ConnectionFailure, Step
from headrace.kafka.admin.cluster_queries import Cluster, Group, Member, Partition, Refusal, Topic

NEEDED = {
    "bootstrap.servers": "b:9092",
    "group.id": "g",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    **{f"{kind}.storage.topic": kind for kind in ("config", "offset", "status")},
}
LOGIN = {
    "bootstrap.servers": "b:9092",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="p";',
}


def worker(**more: str) -> DistributedConfig:
    return DistributedConfig({**NEEDED, **{name.replace("_", "."): text for name, text in more.items()}})


def connector(kind: str, tasks: int = 1, **config: str) -> Connector:
    full = {"name": "c", **{name.replace("_", "."): text for name, text in config.items()}}
    return Connector("c", kind, full, full, tasks)


def rows(config: DistributedConfig, *connectors: Connector) -> dict[str, set[str]]:
    found = {
        need.client: {str(permission) for permission in need.rights}
        for need in needs(config, connectors)
        if need.rights
    }
    found.pop("the worker")
    return found


def test_needs_of_an_exactly_once_source() -> None:
    ids = {f"{operation} on TransactionalId g-c-{task}" for operation in ("Write", "Describe") for task in range(2)}
    assert rows(worker(exactly_once_source_support="enabled"), connector("source", 2)) == {
        "the producer of connector c": {*ids, "Write on Topic offset"},
        "the admin client of connector c": {*ids, "Describe on Topic offset"},
    }


def test_needs_of_an_at_least_once_source_with_an_offsets_topic() -> None:
    assert rows(worker(), connector("source", offsets_storage_topic="own", topic="data")) == {
        "the producer of connector c": {"Write on Topic own", "Write on Topic data"},
        "the consumer of connector c": {"Read on Topic own"},
        "the admin client of connector c": {"Create on Topic own", "Describe on Topic own"},
    }
    assert rows(worker(), connector("source")) == {}


def test_needs_of_a_sink_with_dead_letters() -> None:
    sink = connector("sink", topics="a, b", errors_deadletterqueue_topic_name="dlq")
    assert rows(worker(), sink) == {
        "the consumer of connector c": {"Read on Group connect-c", "Read on Topic a", "Read on Topic b"},
        "the producer of connector c": {"Write on Topic dlq"},
        "the admin client of connector c": {"Create on Topic dlq"},
    }


def test_the_command_that_gives_a_permission() -> None:
    permission = Permission("Write", ID, "g-c-0", "", prefix="g-c-")
    begin = "kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal User:ann --operation "
    assert acl_command(LOGIN, permission) == f"{begin}Write --transactional-id g-c- --resource-pattern-type prefixed"
    assert acl_command(LOGIN, Permission("Read", GROUP, "g", "")) == f"{begin}Read --group g"
    certificate = {**LOGIN, "security.protocol": "SSL"}
    assert "--allow-principal User:PRINCIPAL " in acl_command(certificate, Permission("Read", TOPIC, "t", ""))


def test_permissions_that_are_missing_denied_or_unknown() -> None:
    write, describe, soft = (
        Permission("Write", ID, "i", ""),
        Permission("Describe", ID, "i", ""),
        Permission("Read", TOPIC, "t", ""),
    )
    need = Need("the worker", LOGIN, (write, describe))
    denied = [*permission_findings(need, {write: True, describe: False})]
    assert "a rule denies it" in denied[0].remedy and denied[0].level is Level.PROBLEM
    both = [*permission_findings(need, {write: False, describe: False})]
    assert all("kafka-acls.sh" in each.remedy for each in both) and len(both) == 2
    (unknown,) = permission_findings(Need("x", LOGIN, (soft,)), {soft: None})
    assert unknown.level is Level.WARNING and "do not say whether it has Read on Topic t" in unknown.found
    optional = Permission("Read", TOPIC, "t", "", required=False)
    (missing,) = permission_findings(Need("x", LOGIN, (optional,)), {optional: False})
    assert missing.level is Level.WARNING


def test_topics_that_properties_do_not_name_are_named() -> None:
    def unknown(*connectors: Connector) -> dict[str, str]:
        return {need.client: need.unknown for need in needs(worker(), connectors) if need.unknown}

    assert unknown(connector("source", topic="t"), connector("sink", topics="t")) == {}
    plugins = "the topics that it writes, which its plugins decide"
    for config in ({"topic_prefix": "t"}, {"topic": "t", "transforms": "route"}):
        assert unknown(connector("source", **config)) == {"the producer of connector c": plugins}
    (client,) = unknown(connector("sink", topics_regex="t.*")).items()
    assert client == ("the consumer of connector c", "the topics that match topics.regex")
    (found,) = permission_findings(Need("x", LOGIN, (), plugins), {})
    assert (found.level, found.found) == (Level.OK, f"x (User:ann): not checked are {plugins}")


def test_logins_that_differ_are_tried_once_each() -> None:
    own = {"consumer.sasl.jaas.config": "other", "admin.client.id": "x", "producer.acks": "all"}
    assert list(logins(DistributedConfig({**NEEDED, **LOGIN, **own}))) == ["", "consumer."]


def test_a_dead_server_among_others_is_a_warning() -> None:
    dead = ConnectionFailure(Step.TCP, "Connection refused")
    assert [each.level for each in server_findings("", {"a:1": dead, "b:1": None})] == [Level.WARNING, Level.OK]
    (alone,) = server_findings("producer.", {"a:1": dead})
    assert alone.level is Level.PROBLEM
    assert alone.found == "producer.bootstrap.servers: a:1: TCP failed: Connection refused"


def test_brokers_without_transactions() -> None:
    finding = cluster_finding(Cluster("id", (1, 0), frozenset({"CreateTopics"}), ()))
    assert finding.level is Level.PROBLEM and "transactions (InitProducerId" in finding.found


def facts(
    kind: str = "offset",
    partitions: int = 1,
    settings: Mapping[str, str | None] | Refusal | None = None,
    refusal: Refusal | None = None,
    exists: bool | None = True,
    **state: int,
) -> TopicFacts:
    each = {"leader": 1, "replicas": 3, "in_sync": 3, **state}
    topic = Topic("t", exists, tuple(Partition(id, **each) for id in range(partitions)) if exists else ())
    given = {"cleanup.policy": "compact", "min.insync.replicas": "2"} if settings is None else settings
    return TopicFacts(kind, InternalTopic("t", 1, 3, {}), topic, given, refusal, 1)


@pytest.mark.parametrize(
    ("given", "level", "expected"),
    [
        (facts(), Level.OK, "t: 1 partition, 3 replicas, compacted"),
        (facts("config", 2), Level.PROBLEM, "must have one"),
        (facts(settings={"cleanup.policy": "compact,delete"}), Level.PROBLEM, "cleanup.policy=compact,delete"),
        (facts(settings=Refusal(29, "denied")), Level.WARNING, "is not known: denied"),
        (facts(settings={"cleanup.policy": "compact", "min.insync.replicas": "1"}), Level.WARNING, "min.insync"),
        (facts(in_sync=1), Level.PROBLEM, "1 are in sync: it cannot be written"),
        (facts(in_sync=2), Level.WARNING, "offline or behind"),
        (facts(leader=-1, in_sync=2), Level.PROBLEM, "no leader of partition 0"),
        (facts(replicas=1, in_sync=1, settings={"cleanup.policy": "compact"}), Level.WARNING, "a broker's disk"),
        (facts(exists=None), Level.WARNING, "may not describe it"),
        (facts(exists=False), Level.OK, "the first worker can create it (1 partition, 3 replicas)"),
        (facts(exists=False, refusal=Refusal(38, "too many")), Level.PROBLEM, "cannot be created: too many"),
        (facts(exists=False, refusal=Refusal(29, "denied")), Level.PROBLEM, "cannot be created: denied"),
    ],
)
def test_internal_topics(given: TopicFacts, level: Level, expected: str) -> None:
    found = [*topic_findings(given)]
    assert any(each.level is level and expected in each.found for each in found), found
    assert all(each.remedy for each in found if each.level is not Level.OK)


def test_internal_topics_of_one_name() -> None:
    (found,) = name_findings(worker(offset_storage_topic="config"))
    assert found.level is Level.PROBLEM and "config, config, status" in found.found
    assert not [*name_findings(worker())]


def members(*metadata: bytes) -> tuple[Member, ...]:
    return tuple(Member("client", "/10.0.0.1", each) for each in metadata)


@pytest.mark.parametrize(
    ("group", "levels", "expected"),
    [
        (Group("g"), [Level.OK], "has no worker now"),
        (Group("g", "Empty", "consumer"), [Level.PROBLEM], "protocol type is consumer"),
        (Group("g", "Stable", "connect", "sessioned", members(b"?")), [Level.OK], "client at /10.0.0.1"),
        (Group("g", "Stable", "connect", "other", members(b"")), [Level.OK, Level.WARNING], "state Stable"),
    ],
)
def test_groups(group: Group, levels: list[Level], expected: str) -> None:
    found = [*group_findings(worker(), group)]
    assert [each.level for each in found] == levels and expected in found[0].found


def test_a_sink_in_the_workers_group() -> None:
    own: dict[str, Any] = {"consumer_override_group_id": "g"}
    (found,) = consumer_group_findings(worker(), [connector("sink", **own), connector("source")])
    assert found.level is Level.PROBLEM
