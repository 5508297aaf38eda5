# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourcePatternType, ResourceType

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from headrace.kafka.clients import client_config
from tests.support.acls import LENIENT, add_rules, all_but
from tests.support.polling import wait_for


@pytest.fixture
def admin(broker: Any) -> TopicAdmin:
    return TopicAdmin({"bootstrap.servers": broker.bootstrap_servers})


@pytest.fixture
def topic() -> str:
    return f"admin-{uuid.uuid4().hex[:8]}"


def test_topics_are_made_once(admin: TopicAdmin, topic: str) -> None:
    spec = TopicSpec(topic, 2, 1, {"cleanup.policy": "compact"})
    other = TopicSpec(f"{topic}-b")
    assert admin.describe(topic) is None
    assert admin.partitions(topic) == ()
    assert admin.create_topics([spec, other]) == {topic, f"{topic}-b"}
    assert admin.create_topics([spec, other]) == set()
    found = admin.describe(topic)
    assert found is not None
    assert (found.partitions, found.replication_factor) == ((0, 1), 1)
    assert admin.config(topic)["cleanup.policy"] == "compact"
    admin.verify_compacted(topic, "config.storage.topic")


def test_a_topic_that_another_is_making_is_there_afterwards(broker: Any, topic: str) -> None:
    admins = [TopicAdmin({"bootstrap.servers": broker.bootstrap_servers}) for _ in range(4)]
    together = threading.Barrier(len(admins))

    def make(admin: TopicAdmin) -> list[str | None]:
        policies = []
        for number in range(10):
            together.wait(60)
            admin.create_topics([TopicSpec(f"{topic}-{number}", 3, 1, {"cleanup.policy": "compact"})])
            policies.append(admin.config(f"{topic}-{number}")["cleanup.policy"])
        return policies

    with ThreadPoolExecutor(len(admins)) as pool:
        assert list(pool.map(make, admins)) == [["compact"] * 10] * len(admins)


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_any_other_cleanup_policy_is_refused(admin: TopicAdmin, topic: str, policy: str) -> None:
    admin.create_topics([TopicSpec(topic, 1, 1, {"cleanup.policy": policy})])
    with pytest.raises(ConfigError) as caught:
        admin.verify_compacted(topic, "status.storage.topic")
    assert (caught.value.name, caught.value.value) == ("status.storage.topic", topic)


def test_a_topic_of_which_nothing_is_removed_is_warned_about(
    admin: TopicAdmin, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    admin.create_topics([TopicSpec(topic, 1, 1, {"cleanup.policy": ""})])
    admin.verify_compacted(topic, "config.storage.topic")
    assert f"Topic '{topic}' (config.storage.topic) has no cleanup.policy" in caplog.text


def test_a_topic_whose_configs_may_not_be_described_is_accepted_with_a_warning(
    topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    with EmbeddedBroker(port=0, properties=LENIENT, jvm_options=QUICK_START_JVM_OPTIONS) as guarded:
        admin = TopicAdmin({"bootstrap.servers": guarded.bootstrap_servers})
        admin.create_topics([TopicSpec(topic, 1, 1)])
        what = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:*", "*")
        ends = all_but(AclOperation.DESCRIBE_CONFIGS)
        add_rules(guarded.bootstrap_servers, *((*what, *end) for end in ends))
        wait_for(lambda: _is_refused(admin, topic), 30, "the new rules to hold")
        admin.verify_compacted(topic, "config.storage.topic")
    assert f"Whether topic '{topic}' (config.storage.topic) is compacted cannot be checked" in caplog.text


def _is_refused(admin: TopicAdmin, topic: str) -> bool:
    """The controller answers before the broker has heard of a rule."""
    try:
        admin.config(topic)
    except ConnectError as error:
        return "authoriz" in str(error).lower()
    return False


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"replication_factor": 3}, r"'3' for configuration offset\.storage\.replication\.factor: .*number of brokers"),
        ({"partitions": 0}, r"'0' for configuration offset\.storage\.partitions"),
        ({"config": {"cleanup.policy": "sometimes"}}, r"offset\.storage\.\*: .*sometimes"),
        ({"name": "not/a/topic"}, r"'not/a/topic' for configuration offset\.storage\.topic"),
    ],
)
def test_what_the_cluster_cannot_do_names_the_property(
    admin: TopicAdmin, topic: str, spec: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        admin.create_topics([TopicSpec(**{"name": topic, "prefix": "offset.storage", **spec})])


def test_end_offsets_are_high_watermarks(admin: TopicAdmin, topic: str, broker: Any) -> None:
    admin.create_topics([TopicSpec(topic, 2, 1)])
    props = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic, "linger.ms": "0"}
    producer = client_config.producer(props)
    producer.init_transactions(30)
    producer.begin_transaction()
    for _ in range(3):
        producer.produce(topic, b"v", b"k", 1)
    producer.flush(10)
    assert admin.end_offsets(topic) == {0: 0, 1: 3}
    assert admin.list_offsets(topic, [1], committed=True)[1].result(10).offset == 0
    producer.abort_transaction(10)
    # The coordinator answers before the partition has its abort marker.
    wait_for(lambda: admin.end_offsets(topic) == {0: 0, 1: 4}, 10, "the abort marker")


def test_cluster_id(admin: TopicAdmin) -> None:
    assert len(admin.cluster_id()) > 10


def test_brokers_that_are_away_are_retriable() -> None:
    admin = TopicAdmin({"bootstrap.servers": "127.0.0.1:1", "request.timeout.ms": "400"})
    with pytest.raises(RetriableError, match=r"127\.0\.0\.1:1"):
        admin.cluster_id()
    with pytest.raises(RetriableError, match=r"127\.0\.0\.1:1"):
        admin.partitions("t")
