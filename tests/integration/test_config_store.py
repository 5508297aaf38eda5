# SPDX-License-Identifier: Apache-2.0
"""The config topic's store: what it writes, in which transactions, and who may."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Message

from headrace.api.errors import ConfigError, RetriableError
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from headrace.kafka.clients import client_config
from headrace.kafka.data.record_producer import RecordProducer
from headrace.model.cluster_config_state import SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.storage import config_log
from headrace.storage.config_backing_store import ConfigBackingStore, FencedLeaderError
from headrace.storage.config_log import ConfigUpdate
from headrace.storage.config_writes import (
    ConfigWrite,
    ConnectorRemoval,
    ConnectorWrite,
    LoggerLevelWrite,
    RestartWrite,
    SessionKeyWrite,
    TargetStateWrite,
    TaskConfigsWrite,
    TaskCountWrite,
    TaskRestartWrite,
)
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.kafka_config_backing_store import KafkaConfigBackingStore
from tests.support.polling import wait_for


class Member:
    """One worker's store, and the updates that it was notified of."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        props = {"bootstrap.servers": bootstrap}
        self.updates: list[ConfigUpdate] = []
        self.store = KafkaConfigBackingStore(
            compacted_topic(topic, "config.storage", 1, 1),
            LogClients({**props, "group.id": group}, None, props),
            {**props, "transactional.id": f"connect-cluster-{group}"},
            lambda state, updates: self.updates.extend(updates),
        )


@pytest.fixture
def topic() -> str:
    return f"config-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def member(broker: Any, topic: str) -> Iterator[Callable[[], Member]]:
    members: list[Member] = []

    def make() -> Member:
        made = Member(broker.bootstrap_servers, topic, topic)
        members.append(made)
        made.store.start()
        return made

    yield make
    for made in members:
        made.store.stop()


@pytest.fixture
def leader(member: Callable[[], Member]) -> Member:
    made = member()
    made.store.claim_write_privileges()
    return made


def _raw_records(broker: Any, topic: str) -> list[tuple[int, str, bytes | None]]:
    consumer = client_config.consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest", "enable.partition.eof": "true"}
    )
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = []
    while True:
        message = consumer.poll(10)
        assert message is not None
        if message.error():
            consumer.close()
            return found
        found.append((message.offset(), message.key().decode(), message.value()))


def test_it_is_a_config_backing_store(leader: Member) -> None:
    store: ConfigBackingStore = leader.store
    assert store.snapshot().offset == -1


def test_a_connectors_life(leader: Member, member: Callable[[], Member]) -> None:
    store, follower = leader.store, member()
    config = {"name": "c", "connector.class": "X"}
    store.write(ConnectorWrite("c", config, TargetState.PAUSED))
    state = store.snapshot()
    assert state.connector_config("c") == config
    assert state.target_state("c") is TargetState.PAUSED
    store.write(TargetStateWrite("c", TargetState.STARTED))
    store.write(TaskConfigsWrite("c", [{"i": "0"}, {"i": "1"}]))
    state = store.snapshot()
    assert state.all_task_configs("c") == ({"i": "0"}, {"i": "1"})
    assert state.pending_fencing == {"c"}
    store.write(TaskCountWrite("c", 2))
    state = store.snapshot()
    assert (state.pending_fencing, state.task_count_records["c"]) == (frozenset(), 2)
    assert follower.store.refresh(10) == state
    assert follower.updates == [
        config_log.ConnectorUpdated("c"),
        config_log.TargetStateChanged("c"),
        config_log.TasksUpdated("c"),
    ]


def test_requests_and_keys(leader: Member) -> None:
    key = SessionKey("c2VjcmV0", "HmacSHA256", 5)
    leader.store.write(SessionKeyWrite(key))
    leader.store.write(RestartWrite("c", only_failed=True, include_tasks=False))
    leader.store.write(LoggerLevelWrite("root", "DEBUG"))
    assert leader.store.snapshot().session_key == key
    assert leader.updates == [
        config_log.SessionKeyUpdated(key),
        config_log.RestartRequested("c", True, False),
        config_log.LoggerLevelChanged("root", "DEBUG"),
    ]


def test_a_write_whose_offsets_brokers_do_not_report(leader: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated request may be confirmed without them: the store reads to the topic's end."""
    handle = RecordProducer._on_delivery

    def without_offset(producer: RecordProducer, *arguments: Any) -> None:
        *others, error, message = arguments
        handle(producer, *others, error, Message(topic=message.topic(), partition=message.partition(), error=None))

    monkeypatch.setattr(RecordProducer, "_on_delivery", without_offset)
    for number in range(20):
        leader.store.write(ConnectorWrite("c", {"number": str(number)}))
        assert leader.store.snapshot().connector_config("c") == {"number": str(number)}


def test_each_write_is_one_transaction(leader: Member, broker: Any, topic: str) -> None:
    """As offsets show: a transaction's records follow one another, and its marker takes the offset behind them."""
    leader.store.write(ConnectorWrite("c", {"a": "b"}, TargetState.STOPPED))
    leader.store.write(TaskConfigsWrite("c", [{"i": "0"}, {"i": "1"}]))
    leader.store.write(TaskCountWrite("c", 2))
    assert [(offset, key) for offset, key, _ in _raw_records(broker, topic)] == [
        (0, "target-state-c"),
        (1, "connector-c"),
        (3, "task-c-0"),
        (4, "task-c-1"),
        (5, "commit-c"),
        (7, "tasks-count-c"),
        (8, "tasks-fencing-c"),
    ]


def test_removal_leaves_only_the_task_count(
    leader: Member, broker: Any, topic: str, member: Callable[[], Member], caplog: pytest.LogCaptureFixture
) -> None:
    """A connector of the same name must not find the old one's tasks (KAFKA-16838), and has to fence them (KIP-618)."""
    store = leader.store
    store.write(ConnectorWrite("c", {"a": "b"}))
    store.write(ConnectorWrite("c-0", {"a": "other"}))
    store.write(TaskConfigsWrite("c", [{"i": "0"}, {"i": "1"}]))
    store.write(TaskConfigsWrite("c", [{"i": "0"}]))
    store.write(TaskCountWrite("c", 3))
    store.write(TargetStateWrite("c", TargetState.PAUSED))
    store.write(RestartWrite("c", only_failed=False, include_tasks=True))
    store.write(TaskRestartWrite(ConnectorTaskId("c", 0)))
    store.write(ConnectorWrite("d", {"a": "stays"}))
    store.write(ConnectorRemoval("c"))
    live: dict[str, bytes | None] = {}
    for _, key, value in _raw_records(broker, topic):
        live[key] = value
    assert [key for key, value in live.items() if value is not None] == [
        "connector-c-0",
        "tasks-count-c",
        "tasks-fencing-c",
        "connector-d",
    ]
    state = member().store.snapshot()
    assert state.connectors() == ("c-0", "d")
    assert not state.task_configs
    assert state.task_count_records == {"c": 3}
    assert not state.pending_fencing
    assert leader.updates[-1] == config_log.ConnectorRemoved("c")
    assert not [record.message for record in caplog.records if "makes no sense" in record.message]


def test_a_new_leader_fences_the_old_one(leader: Member, member: Callable[[], Member]) -> None:
    leader.store.write(ConnectorWrite("c", {"v": "1"}))
    successor = member()
    successor.store.claim_write_privileges()
    with pytest.raises(FencedLeaderError, match="Another worker has become the leader") as caught:
        leader.store.write(ConnectorWrite("c", {"v": "2"}))
    assert isinstance(caught.value, RetriableError)
    with pytest.raises(FencedLeaderError, match="may not write"):
        leader.store.write(ConnectorWrite("c", {"v": "3"}))
    successor.store.write(ConnectorWrite("c", {"v": "4"}))
    assert leader.store.refresh(10).connector_config("c") == {"v": "4"}
    leader.store.claim_write_privileges()
    leader.store.write(ConnectorWrite("c", {"v": "5"}))
    assert successor.store.refresh(10).connector_config("c") == {"v": "5"}


def test_privileges_are_needed_and_can_be_given_up(leader: Member, member: Callable[[], Member]) -> None:
    with pytest.raises(FencedLeaderError):
        member().store.write(ConnectorWrite("c", {}))
    leader.store.claim_write_privileges()
    leader.store.release_write_privileges()
    leader.store.release_write_privileges()
    with pytest.raises(FencedLeaderError):
        leader.store.write(SessionKeyWrite(SessionKey("k", "a", 1)))
    assert leader.store.refresh(10).session_key is None


def test_a_write_that_cannot_be_made_costs_the_privileges(leader: Member) -> None:
    """Invariant 5: whatever goes wrong within a transaction, its producer is not used again."""
    with pytest.raises(Exception, match=r"(?i)large|size"):
        leader.store.write(ConnectorWrite("c", {"x": "y" * 3_000_000}))
    with pytest.raises(FencedLeaderError):
        leader.store.write(ConnectorWrite("c", {"x": "small"}))
    leader.store.claim_write_privileges()
    leader.store.write(ConnectorWrite("c", {"x": "small"}))
    assert leader.store.snapshot().connectors() == ("c",)


def test_foreign_records_in_the_config_topic_do_not_end_the_worker(leader: Member, broker: Any, topic: str) -> None:
    producer = client_config.producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": "0"})
    for key, value in ((b"commit-c", b'{"tasks":"many"}'), (None, b"{}"), (b"connector-c", b"{"), (b"odd", b"1")):
        producer.produce(topic, value, key)
    producer.flush(10)
    leader.store.write(ConnectorWrite("c", {"a": "b"}))
    assert leader.store.snapshot().connectors() == ("c",)
    assert leader.store.failure() is None


def test_what_was_there_at_the_start_is_no_update(leader: Member, member: Callable[[], Member]) -> None:
    leader.store.write(ConnectorWrite("c", {"a": "b"}))
    leader.store.write(RestartWrite("c", only_failed=False, include_tasks=True))
    late = member()
    assert late.store.snapshot() == leader.store.snapshot()
    assert late.updates == []


def test_writers_on_many_threads_do_not_mix(leader: Member, broker: Any, topic: str) -> None:
    def write(n: int) -> None:
        leader.store.write(TaskConfigsWrite(f"c{n}", [{"i": "0"}, {"i": "1"}]))

    for n in range(5):
        leader.store.write(ConnectorWrite(f"c{n}", {"a": "b"}))
    threads = [threading.Thread(target=write, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = [key for _, key, _ in _raw_records(broker, topic) if not key.startswith("connector-")]
    names = [key.removeprefix("task-").removeprefix("commit-")[:2] for key in written]
    assert all(len(set(names[n : n + 3])) == 1 for n in range(0, 15, 3))
    state = leader.store.snapshot()
    assert all(state.task_config(ConnectorTaskId(f"c{n}", 1)) == {"i": "1"} for n in range(5))


def test_writes_that_wait_share_a_transaction(leader: Member, broker: Any, topic: str) -> None:
    writes = [ConnectorWrite(f"c{n}", {"a": "b"}, TargetState.PAUSED) for n in range(5)]
    assert written_together(leader, writes) == [None] * 5
    assert leader.store.snapshot().connectors() == ("c0", "c1", "c2", "c3", "c4")
    leader.store.write(ConnectorWrite("d", {}))
    records = _raw_records(broker, topic)
    assert [offset for offset, _, _ in records] == [*range(10), 11], "a marker behind ten records"
    names = [key.removeprefix("target-state-").removeprefix("connector-") for _, key, _ in records]
    assert names[0:10:2] == names[1:10:2], "the records of a write follow one another"


def test_a_record_that_is_too_large_fails_its_own_write_only(leader: Member) -> None:
    large, small = ConnectorWrite("large", {"x": "y" * 3_000_000}), ConnectorWrite("small", {})
    first = written_together(leader, [large, small])
    assert [type(error) for error in first] == [FencedLeaderError] * 2 and "be written again, alone" in str(first[1])
    leader.store.claim_write_privileges()
    again = dict(zip(("large", "small"), written_together(leader, [large, small]), strict=True))
    assert type(again["large"]) is ConfigError and "larger than topic" in str(again["large"])
    leader.store.claim_write_privileges()
    if again["small"] is not None:  # its turn came after the large one's
        assert type(again["small"]) is FencedLeaderError
        leader.store.write(small)
    assert leader.store.snapshot().connectors() == ("small",)
    assert written_together(leader, [ConnectorWrite("a", {}), ConnectorWrite("b", {})]) == [None, None]


def written_together(member: Member, writes: Sequence[ConfigWrite]) -> list[BaseException | None]:
    """Write while another transaction is under way; return the error of each."""
    store = member.store
    with ThreadPoolExecutor(len(writes)) as pool:
        with store._writing:
            futures = [pool.submit(store.write, write) for write in writes]
            wait_for(lambda: len(store._waiting) == len(writes), 10)
        return [future.exception() for future in futures]


def test_more_than_one_partition_is_refused(broker: Any, topic: str) -> None:
    admin = TopicAdmin({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([TopicSpec(topic, 2, 1, {"cleanup.policy": "compact"})])
    with pytest.raises(ConfigError, match=rf"'{topic}' for configuration config\.storage\.topic: it has 2 partitions"):
        Member(broker.bootstrap_servers, topic, topic).store.start()
