# SPDX-License-Identifier: Apache-2.0
"""`headrace doctor` names each missing permission, and the line that gives it.

The tables of permissions are those of `test_acls`, which shows what each of them is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pytest
from confluent_kafka.admin import AclOperation, AclPermissionType, ResourceType  # type: ignore[attr-defined]

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.doctor.brokers import check_brokers
from headrace.doctor.findings import Finding, Level
from headrace.doctor.permissions import check_permissions
from headrace.doctor.subject import Subject
from headrace.kafka.admin.cluster_queries import ClusterQueries
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.storage.config_writes import ConnectorWrite, TaskConfigsWrite
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.kafka_config_backing_store import KafkaConfigBackingStore
from tests.integration.guarded_broker import (
    DATA,
    GROUP,
    LEADER_IDEMPOTENT,
    LISTED,
    NAME,
    OWN,
    TASK_IDEMPOTENT,
    UNLISTED,
    Right,
    Rules,
    guarded_broker,
    logins,
)
from tests.support.sinks import make_topic

CONNECTOR: Final = {
    "name": NAME,
    "connector.class": "VerifiableSource",
    "tasks.max": "2",
    "topic": DATA,
    "offsets.storage.topic": OWN,
}
CLIENTS: Final = {
    "worker": "the worker",
    **{client: f"the {client} of connector {NAME}" for client in ("producer", "consumer")},
    "admin": f"the admin client of connector {NAME}",
}
KINDS: Final = {
    ResourceType.TOPIC: ("Topic", "--topic"),
    ResourceType.GROUP: ("Group", "--group"),
    ResourceType.TRANSACTIONAL_ID: ("TransactionalId", "--transactional-id"),
}
INTERNAL: Final = tuple(f"{GROUP}-{kind}" for kind in ("configs", "offsets", "status"))
NAMES: Final = {f"{GROUP}-": INTERNAL, f"{GROUP}-{NAME}-": tuple(f"{GROUP}-{NAME}-{task}" for task in range(2))}
"""Of each prefix of the tables, the resources that a worker with this connector uses."""


def properties(bootstrap: str) -> dict[str, str]:
    topics = dict(zip(("config", "offset", "status"), INTERNAL, strict=True))
    return {
        "bootstrap.servers": bootstrap,
        "group.id": GROUP,
        "exactly.once.source.support": "enabled",
        "key.converter": "StringConverter",
        "value.converter": "StringConverter",
        **{f"{kind}.storage.topic": topic for kind, topic in topics.items()},
        **{f"{kind}.storage.replication.factor": "1" for kind in topics},
    }


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[EmbeddedBroker, int]]:
    """With a connector of two tasks in its config topic. The other internal topics and its own do not exist."""
    with guarded_broker() as (broker, port):
        config = DistributedConfig(properties(broker.bootstrap_servers))
        make_topic(broker.bootstrap_servers, DATA)
        clients = LogClients(client_configs.config_log_consumer(config), None, client_configs.admin(config))
        spec = compacted_topic(config.config_topic.name, "config.storage", 1, 1)
        store = KafkaConfigBackingStore(spec, clients, client_configs.leader_producer(config), lambda *_: None)
        store.start()
        store.claim_write_privileges()
        store.write(ConnectorWrite(NAME, CONNECTOR))
        store.write(TaskConfigsWrite(NAME, [{"task.class": "x"}] * 2))
        store.stop()
        yield broker, port


@pytest.fixture(scope="module")
def rules(guarded: tuple[EmbeddedBroker, int]) -> Rules:
    made = Rules(guarded[0].bootstrap_servers)
    made.grant(*(right.rule() for right in (*LISTED, *UNLISTED)))
    return made


def findings(port: int) -> list[Finding]:
    config = DistributedConfig({**properties(f"127.0.0.1:{port}"), **logins()})
    subject = Subject("worker.properties", {}, config)
    with closing(subject.kafka):
        return list(check_permissions(subject))


def named(right: Right) -> set[str]:
    """Return the rows that the doctor has for one of the tables', each with its client."""
    operation = "".join(part.capitalize() for part in right.operation.name.split("_"))
    kind, _ = KINDS[right.kind]
    names = NAMES.get(right.name, (right.name,))
    if right.operation is AclOperation.CREATE:
        names = tuple(name for name in names if name != INTERNAL[0])  # which is there already
    client = f"{CLIENTS[right.principal]} (User:{right.principal})"
    return {f"{client} lacks {operation} on {kind} {name}" for name in names}


def test_all_is_well_with_the_listed_permissions(guarded: tuple[EmbeddedBroker, int], rules: Rules) -> None:
    found = findings(guarded[1])
    assert [each.level for each in found] == [Level.OK] * 5, found
    assert (
        found[0].found
        == "the worker (User:worker) lacks Describe on Cluster, or a rule denies it: only sizes of topics need it"
    )
    assert "the worker (User:worker) needs 15 permissions, and has them all" in found[1].found


@pytest.mark.parametrize("denied", [False, True])
def test_describe_on_the_cluster(guarded: tuple[EmbeddedBroker, int], rules: Rules, denied: bool) -> None:
    """Needed for sizes of topics alone; but a rule that denies it has to be seen."""
    right = Right("worker", AclOperation.DESCRIBE, ResourceType.BROKER, "kafka-cluster")
    given = [right.rule(), *([right.rule(AclPermissionType.DENY)] if denied else [])]
    rules.grant(*given)
    worker = {"bootstrap.servers": f"127.0.0.1:{guarded[1]}", **logins()}
    try:
        found = findings(guarded[1])
        with closing(ClusterQueries(worker, 10.0)) as queries:
            assert queries.topic_sizes({DATA: [0]}) == ({} if denied else {DATA: 0})
    finally:
        rules.take(*given)
    assert [each.found for each in found if "on Cluster" in each.found] == (
        ["the worker (User:worker) lacks Describe on Cluster, or a rule denies it: only sizes of topics need it"]
        if denied
        else []
    )
    assert {each.level for each in found} == {Level.OK}


@pytest.mark.parametrize("right", [right for right in (*LISTED, *UNLISTED) if right.kind in KINDS], ids=str)
def test_each_missing_permission_is_named(guarded: tuple[EmbeddedBroker, int], rules: Rules, right: Right) -> None:
    with rules.without(right):
        found = findings(guarded[1])
    lacks = [each for each in found if " lacks " in each.found and each.level is not Level.OK]
    assert {each.found.partition(":  ")[0].rsplit(": ", 1)[0] for each in lacks} == named(right), found
    _, option = KINDS[right.kind]
    denied = right.operation is AclOperation.DESCRIBE and right.kind is ResourceType.TRANSACTIONAL_ID
    for each in lacks:
        if denied:
            assert "a rule denies it" in each.remedy
        else:
            assert f"--add --allow-principal User:{right.principal} --operation " in each.remedy
            assert f" {option} " in each.remedy


@pytest.mark.parametrize("right", [LEADER_IDEMPOTENT, TASK_IDEMPOTENT], ids=str)
def test_idempotent_write_is_not_needed(guarded: tuple[EmbeddedBroker, int], rules: Rules, right: Right) -> None:
    with rules.without(right):
        assert {each.level for each in findings(guarded[1])} == {Level.OK}


def test_nothing_is_written(guarded: tuple[EmbeddedBroker, int], rules: Rules) -> None:
    bootstrap = guarded[0].bootstrap_servers
    admin = TopicAdmin({"bootstrap.servers": bootstrap})
    before = admin.end_offsets(INTERNAL[0]), admin.end_offsets("__transaction_state")
    findings(guarded[1])
    assert (admin.end_offsets(INTERNAL[0]), admin.end_offsets("__transaction_state")) == before
    assert all(admin.describe(topic) is None for topic in (*INTERNAL[1:], OWN))


@pytest.mark.parametrize(
    ("prefix", "expected", "remedy"),
    [("", "", "sasl.jaas.config"), ("consumer.", "consumer.bootstrap.servers: ", "password")],
)
def test_a_wrong_password(guarded: tuple[EmbeddedBroker, int], prefix: str, expected: str, remedy: str) -> None:
    """Of the worker's login, and of that of one kind of clients; the message never has the password."""
    server = f"127.0.0.1:{guarded[1]}"
    props = {**properties(server), **logins()}
    props[f"{prefix}sasl.jaas.config"] = props[f"{prefix}sasl.jaas.config"].replace("secret", "mistaken")
    found = list(check_brokers(Subject("worker.properties", {}, DistributedConfig(props))))
    (failed,) = [each for each in found if each.level is Level.PROBLEM]
    assert failed.found.startswith(f"{expected}{server}: login failed: ") and remedy in failed.remedy
    assert "Invalid username or password" in failed.found
    assert "mistaken" not in str(found)


def test_a_login_that_is_missing(guarded: tuple[EmbeddedBroker, int]) -> None:
    found = list(check_brokers(Subject("w", {}, DistributedConfig(properties(f"127.0.0.1:{guarded[1]}")))))
    assert [each.level for each in found] == [Level.PROBLEM]
    assert "first request failed: the broker closed the connection" in found[0].found
    assert "the port may need a login" in found[0].remedy
