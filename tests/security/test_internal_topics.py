# SPDX-License-Identifier: Apache-2.0
"""A cluster of workers whose internal topics are deleted."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from headrace.api.errors import ConfigError, ConnectError
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.config.distributed_config import DistributedConfig
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from headrace.kafka.log.topic_identity import TopicLostError
from headrace.storage import offset_codec
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore
from headrace.worker.offsets.own_offset_topics import OwnOffsetTopics
from tests.support.group_of_workers import Cluster
from tests.support.polling import wait_for
from tests.support.topics import read_committed, replace_topic, values
from tests.support.worker_process import WorkerProcess, once_settled

CONFIG = {"connector.class": "VerifiableSource", "tasks.max": "1", "topic": "t", "throughput": "20"}
COMPACTED = {"cleanup.policy": "compact"}


@pytest.fixture(scope="module")
def own_broker() -> Iterator[EmbeddedBroker]:
    """Makes topics by itself, uncompacted, for a client that writes to one that does not exist."""
    properties = {"auto.create.topics.enable": "true"}
    with EmbeddedBroker(port=0, properties=properties, jvm_options=QUICK_START_JVM_OPTIONS) as running:
        yield running


@pytest.fixture
def group(own_broker: EmbeddedBroker) -> Iterator[Cluster]:
    made = Cluster(own_broker.bootstrap_servers)
    yield made
    made.stop()


def delete(broker: EmbeddedBroker, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(30)


def statuses(broker: EmbeddedBroker, topic: str) -> set[bytes | None]:
    return {record.key for record in read_committed(broker.bootstrap_servers, topic) if record.value}


def await_end(worker: WorkerProcess, message: str) -> None:
    wait_for(lambda: worker.launched.poll() is not None, 60, lambda: f"the worker's end:\n{worker.log[-3000:]}")
    assert worker.launched.returncode != 0
    assert message in worker.log, worker.log[-3000:]


def test_status_and_offsets_topics_of_a_running_worker(own_broker: EmbeddedBroker, tmp_path: Path) -> None:
    servers, group = own_broker.bootstrap_servers, f"g-{uuid.uuid4().hex[:8]}"
    worker = WorkerProcess(tmp_path, servers, **{"group.id": group})
    try:
        worker.start()
        worker.create("c", **{**CONFIG, "topic": group})
        worker.wait_for_tasks("c")
        wait_for(lambda: len(values(servers, group)) > 20, 60, "some records")

        delete(own_broker, f"{group}-status")
        admin = TopicAdmin({"bootstrap.servers": servers})
        both = {b"status-connector-c", b"status-task-c-0"}
        wait_for(lambda: admin.describe(f"{group}-status") is not None, 60, "the status topic")
        wait_for(lambda: both <= statuses(own_broker, f"{group}-status"), 60, lambda: worker.log[-3000:])
        assert admin.config(f"{group}-status")["cleanup.policy"] == "compact"
        once_settled(lambda: worker.rest.put("/connectors/c/pause"))
        worker.wait_for_tasks("c", "PAUSED")
        once_settled(lambda: worker.rest.put("/connectors/c/resume"))
        worker.wait_for_tasks("c")

        replace_topic(own_broker.bootstrap_servers, TopicSpec(f"{group}-offsets", 3, 1, COMPACTED))
        await_end(worker, f"Topic '{group}-offsets' was deleted and made again")
        worker.launch()
        await_end(worker, "Source connectors would begin from what is in it and write records again")
        seen = values(servers, group)
        assert len(seen) == len(set(seen)), "records were doubled"
    finally:
        worker.close()


def test_a_config_topic(group: Cluster, own_broker: EmbeddedBroker) -> None:
    herder = group.start()
    wait_for(herder.has_started, 30, "the worker's start")
    wait_for(lambda: _put(group), 60, "the connector")
    wait_for(lambda: statuses(own_broker, group.config.status_topic.name), 30, "its status")
    delete(own_broker, group.config.config_topic.name)
    with pytest.raises(ConnectError, match=r"deleted|does not exist any more"):
        herder.put_logger_level("some.logger", "WARN").result(60)
    wait_for(lambda: isinstance(herder.failure(), TopicLostError), 60, "the worker's failure")
    with pytest.raises(ConnectError, match="restore its records from a backup"):
        herder.health_check().result(10)
    herder.stop(10)
    # A broker makes it again, not compacted, for a producer that asked for it meanwhile: that is refused as well.
    admin, topic = TopicAdmin({"bootstrap.servers": own_broker.bootstrap_servers}), group.config.config_topic.name
    if admin.describe(topic) is not None:
        delete(own_broker, topic)
        wait_for(lambda: admin.describe(topic) is None, 30, "the end of the topic that the broker made")

    again = group.start()
    failure = wait_for(again.failure, 60, "the refusal")
    assert isinstance(failure, TopicLostError)
    assert "is empty, but the status topic knows of connectors: c." in str(failure)


def test_an_offsets_topic_while_no_worker_runs(group: Cluster, own_broker: EmbeddedBroker) -> None:
    herder = group.start()
    wait_for(lambda: _put(group), 60, "the connector")
    herder.stop(10)
    delete(own_broker, group.config.offset_topic.name)

    refusing = group.start()
    failure = wait_for(refusing.failure, 60, "the refusal")
    assert isinstance(failure, TopicLostError)
    assert "Source connectors would begin from what is in it" in str(failure)

    plain, group.config = group.config, DistributedConfig({**group.config.raw, "internal.topics.recreated": "accept"})
    accepting = group.start()
    wait_for(lambda: accepting.has_started() and accepting.state.is_leader, 60, "a start")
    wait_for(lambda: accepting.put_logger_level("some.logger", "WARN").result(60) is None, 60, "its leadership")
    accepting.stop(10)

    group.config = plain
    wait_for(group.start().has_started, 60, "a start with what was accepted")


def _put(group: Cluster) -> Future[object]:
    put = group.herders[0].put_connector_config("c", {**CONFIG, "name": "c"}, target_state=None, allow_replace=True)
    put.result(60)
    return put  # type: ignore[return-value]


def test_a_connectors_own_offsets_topic(group: Cluster, own_broker: EmbeddedBroker) -> None:
    """Tasks that start do not begin in an empty one."""
    topics, name = OwnOffsetTopics(group.config), f"own-{uuid.uuid4().hex[:8]}"
    config = {**CONFIG, "name": "c", "offsets.storage.topic": name}
    source = topics.own_topic(config)
    assert source is not None
    try:
        store = topics.get_store(config, source)
        assert store.offsets_of("c").result(30) == {}
        replace_topic(own_broker.bootstrap_servers, TopicSpec(name, 1, 1, COMPACTED))
        with pytest.raises(TopicLostError):
            store.offsets_of("c").result(60)
        with pytest.raises(
            ConfigError, match=f"keeps its offsets in topic '{name}'.* was deleted.* Restart the workers"
        ):
            topics.get_store(config, source)
    finally:
        topics.stop()


def test_offsets_are_never_reported_from_memory(own_broker: EmbeddedBroker) -> None:
    """Those of a topic that was deleted and made again at once may be any."""
    topic, props = f"offsets-{uuid.uuid4().hex[:8]}", {"bootstrap.servers": own_broker.bootstrap_servers}
    store = KafkaOffsetBackingStore(compacted_topic(topic, "offset.storage", 1, 1), LogClients(props, props, props))
    store.start()
    try:
        store.set({offset_codec.encode_key("c", {"p": 1}): b'{"o":1}'}).result(30)
        assert store.offsets_of("c").result(30) == {b'{"p":1}': {"o": 1}}
        replace_topic(own_broker.bootstrap_servers, TopicSpec(topic, 1, 1, COMPACTED))
        with pytest.raises(TopicLostError, match="was deleted and made again"):
            store.offsets_of("c").result(60)
    finally:
        store.stop()
