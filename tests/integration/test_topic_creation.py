# SPDX-License-Identifier: Apache-2.0
"""Topics that source connectors have made (KIP-158), on a broker that makes none by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from confluent_kafka.admin import AclOperation, ResourcePatternType, ResourceType

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from tests.support.acls import LENIENT, all_but, rules_in_force
from tests.support.exactly_once import assert_contiguous, create_numbered
from tests.support.polling import wait_for
from tests.support.topics import read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess

BROKER = {**LENIENT, "auto.create.topics.enable": "false", "num.partitions": "2"}
ONE = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "-1"}
COUNT = 400
SPREAD = {"transforms": "s", "transforms.s.type": "spreading_transform.Spread", "transforms.s.each": "100"}
ONE_TRANSACTION = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "3000"}


@pytest.fixture(scope="module")
def strict() -> Iterator[EmbeddedBroker]:
    """Lets everybody do what no ACL is about."""
    with EmbeddedBroker(port=0, properties=BROKER, jvm_options=QUICK_START_JVM_OPTIONS) as running:
        yield running


@pytest.fixture(scope="module")
def admin(strict: EmbeddedBroker) -> TopicAdmin:
    return TopicAdmin({"bootstrap.servers": strict.bootstrap_servers})


@pytest.fixture(scope="module", params=["enabled", "disabled"], ids=["exactly-once", "at-least-once"])
def either(
    request: pytest.FixtureRequest, strict: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    support = {"exactly.once.source.support": request.param, "group.id": f"topics-{request.param}"}
    support["connector.client.config.override.policy"] = "All"
    with WorkerProcess(tmp_path_factory.mktemp("worker"), strict.bootstrap_servers, **support) as running:
        yield running


def assert_one_attempt(worker: WorkerProcess, name: str) -> None:
    """Topics are no reason to begin anew."""
    assert f"Task {name}-0: attempt 0 has process" in worker.log
    assert f"Task {name}-0: attempt 1 has process" not in worker.log


def test_topics_are_made_as_their_groups_say(
    either: WorkerProcess, strict: EmbeddedBroker, admin: TopicAdmin, unique: str
) -> None:
    """One after the other, within one transaction where there are any; what exists is left alone."""
    admin.create_topics([TopicSpec(f"{unique}-3", 5, 1, {"retention.ms": "-1"})])
    groups = {
        "topic.creation.groups": "kept, wide",
        "topic.creation.kept.include": ".*-1, .*-3",
        "topic.creation.kept.compression.type": "gzip",
        "topic.creation.wide.include": ".*",
        "topic.creation.wide.exclude": ".*-0",
        "topic.creation.wide.partitions": "-1",
        **ONE,
        "topic.creation.default.retention.ms": "987654321",
    }
    create_numbered(either, unique, COUNT, **SPREAD, **ONE_TRANSACTION, **groups)
    for number in range(4):
        seen = wait_for_values(strict.bootstrap_servers, f"{unique}-{number}", 100)
        assert seen == [b"%d" % n for n in range(number * 100, number * 100 + 100)]
    shown = {}
    for number in range(4):
        found, config = admin.describe(f"{unique}-{number}"), admin.config(f"{unique}-{number}")
        assert found is not None and found.replication_factor == 1
        shown[number] = (len(found.partitions), config["compression.type"], config["retention.ms"])
    week = str(7 * 24 * 3600 * 1000)
    assert shown == {
        0: (1, "producer", "987654321"),
        1: (1, "gzip", week),
        2: (2, "producer", week),
        3: (5, "producer", "-1"),
    }
    assert_one_attempt(either, unique)


def test_topics_of_what_comes_back_from_spark(either: WorkerProcess, strict: EmbeddedBroker, unique: str) -> None:
    query = "SELECT concat(topic, '-', CAST(value AS INT) DIV 100) AS topic, value FROM records"
    step = {"transforms": "q", "transforms.q.type": "SparkSql", "transforms.q.query": query}
    create_numbered(either, unique, COUNT, **step, **ONE)
    for number in range(4):
        seen = wait_for_values(strict.bootstrap_servers, f"{unique}-{number}", 100)
        assert seen == [b"%d" % n for n in range(number * 100, number * 100 + 100)]


def no_client_may_create_topics(bootstrap: str, prefix: str) -> AbstractContextManager[None]:
    kinds = (
        (ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL),
        (ResourceType.TOPIC, prefix, ResourcePatternType.PREFIXED),
    )
    rules = [(*kind, "User:*", "*", *end) for kind in kinds for end in all_but(AclOperation.CREATE)]
    return rules_in_force(bootstrap, *rules)


def test_without_the_right_to_create_a_topic(
    either: WorkerProcess, strict: EmbeddedBroker, admin: TopicAdmin, unique: str
) -> None:
    there = f"{unique}-there"
    admin.create_topics([TopicSpec(there, 1, 1)])
    with no_client_may_create_topics(strict.bootstrap_servers, unique):
        create_numbered(either, unique, COUNT, **ONE)
        create_numbered(either, there, COUNT, **ONE)
        either.wait_for_tasks(unique, "FAILED")
        [task] = either.status(unique)["tasks"]
        expected = f"Task failed to create new topic '{unique}', which is of group 'default'. Ensure that the task is "
        expected += "authorized to create topics or that the topic exists and restart the task"
        assert expected in task["trace"].splitlines()[0], task["trace"]
        assert_contiguous(wait_for_values(strict.bootstrap_servers, there, COUNT), COUNT)
    wait_for(lambda: either.rest.post(f"/connectors/{unique}/tasks/0/restart").status_code == 204, 30, "a restart")
    assert_contiguous(wait_for_values(strict.bootstrap_servers, unique, COUNT), COUNT)
    either.wait_for_tasks(unique)


def test_what_a_group_asks_for_and_the_cluster_cannot_do(either: WorkerProcess, unique: str) -> None:
    create_numbered(either, unique, COUNT, **{**ONE, "topic.creation.default.replication.factor": "3"})
    either.wait_for_tasks(unique, "FAILED")
    [task] = either.status(unique)["tasks"]
    assert "Invalid value '3' for configuration topic.creation.default.replication.factor" in task["trace"]
    assert "Traceback" not in task["trace"]


def test_brokers_that_are_away_are_waited_for(either: WorkerProcess, strict: EmbeddedBroker, unique: str) -> None:
    """Those that the connector's own admin client is sent to; the task can be stopped meanwhile."""
    nowhere = {"admin.override.bootstrap.servers": "127.0.0.1:1", "admin.override.request.timeout.ms": "300"}
    create_numbered(either, unique, COUNT, **ONE, **nowhere)
    again = f"topic '{unique}' is looked for again in 0.1 s"
    wait_for(lambda: again in either.log, 60, lambda: either.log[-3000:])
    assert either.task_states(unique) == ["RUNNING"]
    config = {**ONE, "connector.class": "numbered_source.NumberedSourceConnector", "topic": unique, "count": f"{COUNT}"}
    answer = either.rest.put(f"/connectors/{unique}/config", json={"name": unique, **config})
    assert answer.status_code == 200, answer.text
    assert_contiguous(wait_for_values(strict.bootstrap_servers, unique, COUNT), COUNT)
    assert "killing it" not in "".join(line for line in either.log.splitlines() if f"{unique}-0" in line)


def test_without_groups_topics_are_the_brokers_business(
    either: WorkerProcess, strict: EmbeddedBroker, unique: str
) -> None:
    create_numbered(either, unique, COUNT)
    either.wait_for_tasks(unique)
    assert read_committed(strict.bootstrap_servers, unique) == []
