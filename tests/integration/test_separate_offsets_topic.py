# SPDX-License-Identifier: Apache-2.0
"""Connectors with offsets topics of their own (KIP-618): the view, the copies, moves, another cluster, missing ACLs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, AdminClient, ResourcePatternType, ResourceType
from typer.testing import CliRunner

from headrace.api.errors import ConnectError
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.cli.main import app
from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorOffset
from headrace.model.state import TargetState
from headrace.storage.config_writes import ConnectorWrite
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.kafka_config_backing_store import KafkaConfigBackingStore
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore
from headrace.storage.offset_codec import encode_key, encode_offset
from headrace.worker.offsets.offset_stores import OffsetStores
from headrace.worker.offsets.source_offsets import SourceOffsets
from headrace.worker.offsets.task_offsets import SourceTaskOffsets
from headrace.worker.stages import Stages
from tests.integration.offset_stores import started_store, worker_config
from tests.support.acls import add_rules, all_but
from tests.support.polling import wait_for
from tests.support.topics import committed_offsets, read_committed

WAIT = 30
TASK = ConnectorTaskId("reddit-source", 0)


@pytest.fixture
def config(broker: EmbeddedBroker) -> DistributedConfig:
    return worker_config(broker)


@pytest.fixture
def common(config: DistributedConfig) -> Iterator[KafkaOffsetBackingStore]:
    with started_store(config) as store:
        yield store


class Stage:
    """A worker's offset stores, and tasks that commit as the data path does."""

    def __init__(self, config: DistributedConfig, common: KafkaOffsetBackingStore) -> None:
        self.config, self.common = config, common
        self.stores = OffsetStores(config, common)

    def connector(self, topic: str | None = None, **more: str) -> dict[str, str]:
        own = {} if topic is None else {"offsets.storage.topic": f"{topic}-{self.config.group_id}"}
        return {"name": TASK.connector, "connector.class": "FileStreamSource", **own, **more}

    def task(self, connector: dict[str, str]) -> SourceTaskOffsets:
        task = SourceTaskOffsets(self.stores, TASK, connector, Stages(time.monotonic))
        task.prepare()
        return task

    def commit(self, connector: dict[str, str], task: SourceTaskOffsets | None, **offsets: str) -> None:
        """As a task's process does it, which then notifies its worker, unless that has died (None)."""
        topic = connector.get("offsets.storage.topic", self.config.offset_topic.name)
        producer = TransactionalProducer(client_configs.source_task_producer(self.config, connector, TASK.task))
        producer.init_transactions(WAIT)
        producer.begin()
        pairs = [({"subreddit": name}, {"timestamp": timestamp}) for name, timestamp in offsets.items()]
        for partition, offset in pairs:
            producer.records.send(topic, encode_key(TASK.connector, partition), encode_offset(offset))
        producer.commit(WAIT, len(pairs))
        producer.close()
        if task is not None:
            task.committed(pairs)

    def read(self, task: SourceTaskOffsets, *names: str) -> list[Any]:
        found = task.read([{"subreddit": name} for name in names])
        return [None if offset is None else offset["timestamp"] for offset in found]

    def copied(self, bootstrap: str) -> dict[str, Any]:
        found = committed_offsets(bootstrap, self.config.offset_topic.name, TASK.connector)
        return {partition.split('"')[3]: offset and offset["timestamp"] for partition, offset in found.items()}


@pytest.fixture
def stage(config: DistributedConfig, common: KafkaOffsetBackingStore) -> Iterator[Stage]:
    made = Stage(config, common)
    yield made
    made.stores.stop()


def test_the_combined_view_prefers_the_connectors_own_topic(stage: Stage) -> None:
    """The example of KIP-618."""
    own = stage.connector("own")
    stage.commit(stage.connector(), None, apachekafka="4761", CatsStandingUp="2112")
    stage.task(own)
    stage.commit(own, None, CatsStandingUp="2169", grilledcheese="489")
    assert stage.stores.offsets(own) == (
        ConnectorOffset({"subreddit": "apachekafka"}, {"timestamp": "4761"}),
        ConnectorOffset({"subreddit": "CatsStandingUp"}, {"timestamp": "2169"}),
        ConnectorOffset({"subreddit": "grilledcheese"}, {"timestamp": "489"}),
    )
    names = ("apachekafka", "CatsStandingUp", "grilledcheese", "unknown")
    assert stage.read(stage.task(own), *names) == ["4761", "2169", "489", None]


def test_a_connector_that_is_moved_loses_no_position(
    stage: Stage, broker: EmbeddedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """Own topic → another one → the worker's, and no copy is made by anyone but the copies after each commit."""
    caplog.set_level(logging.INFO)
    first, second, back = stage.connector("first"), stage.connector("second"), stage.connector()
    task = stage.task(first)
    stage.commit(first, task, a="1", b="1")
    stage.commit(first, task, a="2")
    task = stage.task(second)
    assert stage.read(task, "a", "b") == ["2", "1"]
    expected = f"topic '{second['offsets.storage.topic']}' holds nothing for it yet; 2 of 2 source partitions come from"
    wait_for(lambda: expected in caplog.text, WAIT, "the choice in the log")
    stage.commit(second, task, b="3")
    assert stage.read(stage.task(back), "a", "b") == ["2", "3"]
    assert stage.copied(broker.bootstrap_servers) == {"a": "2", "b": "3"}


def test_a_hard_downgrade_and_the_caveat_of_the_upgrade_after_it(stage: Stage, broker: EmbeddedBroker) -> None:
    """A worker that knows the workers' topic alone goes on from it; what it writes there is behind old own offsets."""
    own, older = stage.connector("own"), stage.connector()
    task = stage.task(own)
    stage.commit(own, task, a="1", b="1")
    stage.commit(own, task, a="2")
    wait_for(lambda: stage.copied(broker.bootstrap_servers) == {"a": "2", "b": "1"}, WAIT, "the copies")
    keys = [encode_key(TASK.connector, {"subreddit": name}) for name in ("a", "b")]
    assert list(stage.common.get(keys).result(WAIT).values()) == [b'{"timestamp":"2"}', b'{"timestamp":"1"}']
    stage.commit(older, None, a="3")
    # Looked at only: a task that goes on from there has this copied to the workers' topic.
    reported = {each.partition["subreddit"]: each.offset for each in stage.stores.offsets(own)}
    assert reported == {"a": {"timestamp": "2"}, "b": {"timestamp": "1"}}, (
        "the own topic's count: so it has to be deleted"
    )
    stage.stores.stop()
    gone, admin = own["offsets.storage.topic"], AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics([gone])[gone].result(WAIT)
    # Other brokers know it a moment later than the one that answers.
    wait_for(lambda: gone not in admin.list_topics(timeout=WAIT).topics, WAIT, "its end")
    upgraded = Stage(stage.config, stage.common)
    try:
        assert upgraded.read(upgraded.task(own), "a", "b") == ["3", "1"]
    finally:
        upgraded.stores.stop()


def test_a_move_waits_for_the_copies(
    stage: Stage, common: KafkaOffsetBackingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's topic is not current as long as it cannot be written: then its offsets are not gone on from."""
    first = stage.connector("first")
    task = stage.task(first)
    send = common.set
    monkeypatch.setattr(common, "set", lambda records: (_ for _ in ()).throw(ConnectError("no ACL")))
    stage.commit(first, task, a="1")
    assert task.figures()["global-offset-copy-pending"] == 1
    assert stage.read(task, "a") == ["1"], "the task itself does not care"
    monkeypatch.setattr(type(stage.config), "offset_read_timeout", property(lambda _: 0.5))
    with pytest.raises(ConnectError, match="not copied to the worker's yet: no ACL"):
        stage.task(stage.connector())
    monkeypatch.setattr(common, "set", send)
    monkeypatch.setattr(type(stage.config), "offset_read_timeout", property(lambda _: float(WAIT)))
    assert stage.read(stage.task(stage.connector()), "a") == ["1"]
    assert task.figures()["global-offset-copy-pending"] == 0


class HeldReads:
    """In place of the reads of a store: the next one has happened, and its answer is not given before ``go``."""

    def __init__(self, store: KafkaOffsetBackingStore) -> None:
        self._get = store.get
        self.read, self.go = threading.Event(), threading.Event()

    def __call__(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        if self.read.is_set():
            return self._get(keys)
        answer = self._get(keys)
        answer.result(WAIT)
        self.read.set()
        assert self.go.wait(WAIT)
        return answer


def test_a_reset_is_not_undone_by_a_copy_that_was_pending(
    stage: Stage, common: KafkaOffsetBackingStore, broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was committed could not be copied to the workers' topic, and is about to be, as it was before the reset."""
    own = stage.connector("own")
    task = stage.task(own)
    opened = stage.stores._own.opened((own["offsets.storage.topic"], stage.config.bootstrap_servers))
    assert opened is not None
    held = HeldReads(opened)
    monkeypatch.setattr(opened, "get", held)
    send = common.set
    monkeypatch.setattr(common, "set", lambda records: (_ for _ in ()).throw(ConnectError("no ACL")))
    stage.commit(own, task, a="5")
    assert held.read.wait(WAIT), "the copy is tried again, by what is committed now"
    monkeypatch.setattr(common, "set", send)
    SourceOffsets(own, stage.stores).reset(stage.stores.offsets(own))
    assert stage.copied(broker.bootstrap_servers) == {"a": None}
    held.go.set()
    stage.commit(own, task, b="1")
    wait_for(lambda: stage.copied(broker.bootstrap_servers).get("b") == "1", WAIT, "a later copy")
    assert stage.copied(broker.bootstrap_servers)["a"] is None
    assert stage.read(task, "a", "b") == [None, "1"]


def test_what_a_dead_worker_did_not_copy_is_copied_by_the_next_one(stage: Stage, broker: EmbeddedBroker) -> None:
    own = stage.connector("own")
    stage.task(own)
    stage.commit(own, None, a="7", b="1")
    assert stage.copied(broker.bootstrap_servers) == {}
    task = stage.task(own)
    assert stage.read(task, "a", "c") == ["7", None]
    wait_for(lambda: stage.copied(broker.bootstrap_servers) == {"a": "7"}, WAIT, "the copy of what the task asked for")
    stage.commit(own, task, a="8")
    wait_for(lambda: stage.copied(broker.bootstrap_servers) == {"a": "8"}, WAIT, "the copy of what it committed")


def test_the_topic_is_made_where_the_producer_writes_to(
    stage: Stage, broker: EmbeddedBroker, elsewhere: EmbeddedBroker
) -> None:
    """Implicitly configured: it has the name of the worker's topic, its partitions, and is in the other cluster."""
    connector = stage.connector(**{"producer.override.bootstrap.servers": elsewhere.bootstrap_servers})
    stage.commit(stage.connector(), None, a="1")
    task = stage.task(connector)
    name = stage.config.offset_topic.name
    for servers in (broker.bootstrap_servers, elsewhere.bootstrap_servers):
        found = TopicAdmin({"bootstrap.servers": servers}).describe(name)
        assert found is not None
        assert (len(found.partitions), found.replication_factor) == (3, 1)
    assert stage.read(task, "a") == ["1"]
    stage.commit(connector, task, a="2")
    assert stage.read(task, "a") == ["2"]
    wait_for(lambda: stage.copied(broker.bootstrap_servers) == {"a": "2"}, WAIT, "the backup in the worker's cluster")
    assert stage.copied(elsewhere.bootstrap_servers) == {"a": "2"}


def test_reading_says_whose_transaction_it_waits_for(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invariant 3: offsets are read to the high watermark, also while others' transactions are open."""
    from headrace.storage import offset_storage_reader

    monkeypatch.setattr(offset_storage_reader, "_FIRST_WORD", 0.3)
    own = stage.connector("own")
    task = stage.task(own)
    topic = own["offsets.storage.topic"]
    props = {"bootstrap.servers": stage.config.bootstrap_servers, "transactional.id": f"zombie-{topic}"}
    zombie = TransactionalProducer(props)
    zombie.init_transactions(WAIT)
    zombie.begin()
    zombie.records.send(topic, encode_key(TASK.connector, {"subreddit": "a"}), encode_offset({"timestamp": "9"}))
    assert zombie.records.flush(WAIT)
    stages = task._stages
    reading = stages.run_in_background("test", lambda: stage.read(task, "a"))
    pattern = f"an open transaction starts at 0: transactional.id zombie-{topic}, producer id "
    wait_for(lambda: pattern in caplog.text, WAIT, "the log")
    assert f"topic '{topic}' partition" in caplog.text
    assert any("reading of the offsets of task reddit-source-0" in each for each in stages.longer_than(0))
    assert not reading.done()
    zombie.commit(WAIT, 1)
    zombie.close()
    assert reading.result(WAIT) == ["9"]


def test_a_full_migration(stage: Stage, broker: EmbeddedBroker, tmp_path: Path) -> None:
    """`headrace offsets migrate`: KIP-618's older text, as a command for a stopped connector."""
    cluster = Cluster(stage.config, tmp_path)
    own = stage.connector("own")
    cluster.put(own, TargetState.STARTED)
    code, _, said = cluster.migrate(TASK.connector)
    assert code == 1
    assert "stop it first (headrace connectors stop reddit-source --wait)" in said
    cluster.put(own, TargetState.STOPPED)
    stage.commit(stage.connector(), None, a="1", b="2")
    topic = own["offsets.storage.topic"]
    for said in ("2 offsets copied to topic", "nothing to do"):
        assert said in cluster.migrate(TASK.connector)[1]
        found = committed_offsets(broker.bootstrap_servers, topic, TASK.connector)
        assert found == {'{"subreddit": "a"}': {"timestamp": "1"}, '{"subreddit": "b"}': {"timestamp": "2"}}


def test_a_migration_of_nothing_leaves_the_sentinel(
    stage: Stage, broker: EmbeddedBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster(stage.config, tmp_path)
    own = stage.connector("own")
    cluster.put(own, TargetState.STOPPED)
    assert "there were no offsets" in cluster.migrate(TASK.connector)[1]
    [record] = read_committed(broker.bootstrap_servers, own["offsets.storage.topic"])
    assert (record.key, record.value) == (b'["reddit-source"]', b'{"migrated":true}')
    stage.commit(stage.connector(), None, a="1")
    assert "nothing to do" in cluster.migrate(TASK.connector)[1]
    assert stage.stores.offsets(own) == (ConnectorOffset({"subreddit": "a"}, {"timestamp": "1"}),)
    assert "skipped" not in caplog.text
    code, _, said = cluster.migrate("nobody")
    assert (code, "There is no connector nobody" in said) == (2, True)


@pytest.fixture(autouse=True)
def untouched_logging() -> Iterator[None]:
    """The command configures it for its process."""
    root, ours = logging.getLogger(), logging.getLogger("headrace")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


class Cluster:
    """The workers' config topic, and the command over it."""

    def __init__(self, config: DistributedConfig, directory: Path) -> None:
        self._config = config
        self._file = directory / "worker.properties"
        self._file.write_text("".join(f"{name}={value}\n" for name, value in config.raw.items()))

    def put(self, connector: dict[str, str], target: TargetState) -> None:
        clients = LogClients(client_configs.config_log_consumer(self._config), None, client_configs.admin(self._config))
        topic = compacted_topic(self._config.config_topic.name, "config.storage", 1, 1)
        store = KafkaConfigBackingStore(
            topic, clients, client_configs.leader_producer(self._config), lambda state, updates: None
        )
        store.start()
        store.claim_write_privileges()
        store.write(ConnectorWrite(connector["name"], connector, target))
        store.stop()

    def migrate(self, connector: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(app, ["offsets", "migrate", str(self._file), connector])
        return done.exit_code, done.stdout, done.stderr


def test_a_principal_that_may_not_create_the_topic_gets_the_reason(stage: Stage, guarded: EmbeddedBroker) -> None:
    connector = stage.connector("own", **{"producer.override.bootstrap.servers": guarded.bootstrap_servers})
    topic = connector["offsets.storage.topic"]
    deny_creation(guarded.bootstrap_servers, topic)
    with pytest.raises(ConnectError) as caught:
        stage.task(connector)
    text = str(caught.value)
    assert f"keeps its offsets in topic '{topic}' of the cluster at {guarded.bootstrap_servers}" in text
    assert f"offsets.storage.topic={topic}" in text
    assert "which it cannot use: creating topic" in text and "Create it unless it is there already" in text


def deny_creation(servers: str, topic: str) -> None:
    kinds, who = [(ResourceType.TOPIC, topic), (ResourceType.BROKER, "kafka-cluster")], ("User:ANONYMOUS", "*")
    ends = all_but(AclOperation.CREATE)
    add_rules(servers, *((*kind, ResourcePatternType.LITERAL, *who, *end) for kind in kinds for end in ends))
