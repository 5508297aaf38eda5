# SPDX-License-Identifier: Apache-2.0
"""A connector's own offsets topic that cannot be made or used: the task is FAILED and says why (KIP-618)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, ResourcePatternType, ResourceType

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from tests.support.acls import Rule, add_rules, all_but, remove_rules
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.polling import wait_for
from tests.support.sinks import make_topic
from tests.support.topics import committed_offsets, values
from tests.support.worker_process import WorkerProcess, once_settled

OFFSETS_TOPIC = "offsets.storage.topic"
COMPACTED = {"cleanup.policy": "compact"}


@pytest.fixture(scope="module", params=["enabled", "disabled"])
def guarded_worker(
    request: pytest.FixtureRequest, guarded: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """With exactly-once on and off. Offsets topics that it makes are to have more replicas than there are brokers."""
    group = f"g-{uuid.uuid4().hex[:8]}"
    make_topic(guarded.bootstrap_servers, f"{group}-offsets", **COMPACTED)
    properties = {
        "group.id": group,
        "exactly.once.source.support": request.param,
        "offset.storage.replication.factor": "3",
        "connector.client.config.override.policy": "All",
    }
    with WorkerProcess(tmp_path_factory.mktemp("worker"), guarded.bootstrap_servers, **properties) as running:
        yield running


def write(broker: EmbeddedBroker, topic: str, key: bytes, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, value, key)
    assert producer.flush(20) == 0


class Rules:
    """Deny something to all clients until the test is over."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self._bootstrap = broker.bootstrap_servers
        self._rules: list[Rule] = []

    def deny(self, operation: AclOperation, topic: str) -> None:
        kinds = [(ResourceType.TOPIC, topic)]
        if operation is AclOperation.CREATE:
            kinds.append((ResourceType.BROKER, "kafka-cluster"))
        who = (ResourcePatternType.LITERAL, "User:ANONYMOUS", "*")
        for rule in ((*kind, *who, *end) for kind in kinds for end in all_but(operation)):
            add_rules(self._bootstrap, rule)
            self._rules.append(rule)

    def lift(self) -> None:
        remove_rules(self._bootstrap, *self._rules)
        self._rules.clear()


@pytest.fixture
def rules(guarded: EmbeddedBroker) -> Iterator[Rules]:
    made = Rules(guarded)
    yield made
    made.lift()


def assert_complete(worker: WorkerProcess, broker: EmbeddedBroker, name: str, count: int, topic: str) -> None:
    """Up to the last offset. Without exactly-once what was written before a failure is written again."""
    servers, last = broker.bootstrap_servers, {'{"id": "0"}': {"seqno": count - 1}}
    if worker.properties["exactly.once.source.support"] == "enabled":
        assert_exactly_once(servers, name, count, topic, name)
        return
    wait_for(lambda: committed_offsets(servers, topic, name) == last, 60, "the last offset")
    assert {int(value or b"-1") for value in values(servers, name)} == set(range(count))


def failed(worker: WorkerProcess, name: str) -> bool:
    return worker.task_states(name) == ["FAILED"]


def failure(worker: WorkerProcess, name: str, topic: str) -> str:
    """The trace of the task, which names property, value and connector, and is no stack trace.

    The connector fails too if it cannot even read its offsets; its task is still that of the former configuration then.
    """
    create_numbered(worker, name, 100)
    worker.wait_for_tasks(name)
    config = worker.rest.get(f"/connectors/{name}/config").json()
    answer = worker.rest.put(f"/connectors/{name}/config", json={**config, "count": "200", OFFSETS_TOPIC: topic})
    assert answer.status_code == 200, answer.text

    wait_for(lambda: worker.status(name)["connector"]["state"] == "FAILED" or failed(worker, name), 30, "a failure")
    if worker.status(name)["connector"]["state"] == "FAILED":
        assert "Traceback" not in worker.status(name)["connector"]["trace"]
        once_settled(lambda: worker.rest.post(f"/connectors/{name}/tasks/0/restart"))
    wait_for(lambda: failed(worker, name), 30, lambda: f"FAILED: {worker.status(name)}\n{worker.log[-3000:]}")
    trace: str = worker.status(name)["tasks"][0]["trace"]
    assert f"Connector {name} keeps its offsets in topic '{topic}'" in trace, trace
    assert f"({OFFSETS_TOPIC}={topic})" in trace, trace
    assert "Traceback" not in trace, trace
    return trace


@pytest.mark.parametrize(
    ("operation", "hint"),
    [
        (AclOperation.CREATE, "Create"),
        (AclOperation.DESCRIBE, "Describe"),
        (AclOperation.READ, "Read"),
        (AclOperation.WRITE, "Write"),
    ],
)
def test_a_missing_acl(
    operation: AclOperation,
    hint: str,
    guarded_worker: WorkerProcess,
    guarded: EmbeddedBroker,
    rules: Rules,
    unique: str,
) -> None:
    worker, topic = guarded_worker, f"{unique}-own"
    make_topic(guarded.bootstrap_servers, unique)
    if operation is not AclOperation.CREATE:
        make_topic(guarded.bootstrap_servers, topic, **COMPACTED)
        # No reader notices that an empty topic cannot be read.
        write(guarded, topic, b'["other",{}]', b"{}")
    rules.deny(operation, topic)
    trace = failure(worker, unique, topic)
    assert hint in trace and "restart" in trace, trace
    assert "AUTHORIZATION_FAILED" in trace, trace

    rules.lift()
    if operation is AclOperation.CREATE:
        make_topic(guarded.bootstrap_servers, topic, **COMPACTED)
    once_settled(lambda: worker.rest.post(f"/connectors/{unique}/restart?includeTasks=true&onlyFailed=true"))
    assert_complete(worker, guarded, unique, 200, topic)
    worker.delete(unique)


def test_more_replicas_than_brokers(guarded_worker: WorkerProcess, guarded: EmbeddedBroker, unique: str) -> None:
    make_topic(guarded.bootstrap_servers, unique)
    trace = failure(guarded_worker, unique, f"{unique}-own")
    assert "Invalid value '3' for configuration offset.storage.replication.factor" in trace, trace
    guarded_worker.delete(unique)


def test_a_topic_that_is_not_compacted(guarded_worker: WorkerProcess, guarded: EmbeddedBroker, unique: str) -> None:
    make_topic(guarded.bootstrap_servers, unique)
    make_topic(guarded.bootstrap_servers, f"{unique}-own", **{"cleanup.policy": "delete"})
    assert "set the topic's cleanup.policy to compact" in failure(guarded_worker, unique, f"{unique}-own")
    guarded_worker.delete(unique)


def test_a_name_that_no_topic_can_have(guarded_worker: WorkerProcess, guarded: EmbeddedBroker, unique: str) -> None:
    make_topic(guarded.bootstrap_servers, unique)
    failure(guarded_worker, unique, f"{unique}/own")
    guarded_worker.delete(unique)


def test_brokers_that_are_away_are_waited_for(
    guarded_worker: WorkerProcess, guarded: EmbeddedBroker, unique: str
) -> None:
    with EmbeddedBroker(port=0, jvm_options=QUICK_START_JVM_OPTIONS) as elsewhere:
        own, servers = f"{unique}-own", elsewhere.bootstrap_servers
        make_topic(elsewhere.bootstrap_servers, own, **COMPACTED)
        there = {OFFSETS_TOPIC: own, "producer.override.bootstrap.servers": servers}
        create_numbered(guarded_worker, unique, 100, **there)
        assert_complete(guarded_worker, elsewhere, unique, 100, own)
        elsewhere.stop()
        once_settled(lambda: guarded_worker.rest.post(f"/connectors/{unique}/tasks/0/restart"))
        wait_for(lambda: guarded_worker.task_states(unique) == ["RESTARTING"], 60, "an attempt that did not get on")
        elsewhere.start()
        guarded_worker.wait_for_tasks(unique)
        assert_complete(guarded_worker, elsewhere, unique, 100, own)
        guarded_worker.delete(unique)
