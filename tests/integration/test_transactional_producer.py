# SPDX-License-Identifier: Apache-2.0
"""The data path's producers against a real broker: what is visible, fenced, tainted (invariants 1 to 5)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from kafka.partitioner.default import murmur2

from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.data.transactional_producer import IllegalProducerStateError, TransactionalProducer
from headrace.kafka.errors import (
    IncompleteTransactionError,
    KafkaClientError,
    ProducerFencedError,
    UncertainCommitError,
)
from headrace.task.source.source_batch import SourceOffset
from headrace.task.source.transactional_writer import TransactionalWriter
from headrace.task.topic_batch import TopicBatch
from tests.support.polling import wait_for
from tests.support.sinks import make_topic
from tests.support.topics import read_committed, values

MakeProducer = Callable[..., TransactionalProducer]


@pytest.fixture
def make(broker: EmbeddedBroker, unique: str) -> Iterator[MakeProducer]:
    """Producers with the test's own transactional id, closed at its end."""
    made: list[TransactionalProducer] = []

    def new(*, every_delivery: bool = False, **props: str) -> TransactionalProducer:
        all_props = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": unique, **props}
        made.append(TransactionalProducer(all_props, every_delivery=every_delivery))
        return made[-1]

    yield new
    for producer in made:
        producer.close()


@pytest.fixture
def topic(broker: EmbeddedBroker, unique: str) -> str:
    """One partition."""
    make_topic(broker.bootstrap_servers, unique, 1)
    return unique


def test_the_table_of_moves(make: MakeProducer) -> None:
    producer = make()
    for too_early in (producer.begin, lambda: producer.commit(5), lambda: producer.abort(5)):
        with pytest.raises(IllegalProducerStateError, match=r"history: NEW\)"):
            too_early()
    producer.init_transactions(30)
    with pytest.raises(IllegalProducerStateError, match="cannot go from READY to NEW"):
        producer.init_transactions(30)
    with pytest.raises(IllegalProducerStateError):
        producer.commit(5)
    producer.begin()
    assert producer.in_transaction
    with pytest.raises(IllegalProducerStateError):
        producer.begin()
    producer.commit(30)
    assert not producer.in_transaction
    producer.begin()
    producer.abort(30)
    producer.close()
    producer.close()
    with pytest.raises(IllegalProducerStateError, match="from CLOSED"):
        producer.begin()


def test_committed_is_visible_and_aborted_is_not(make: MakeProducer, broker: EmbeddedBroker, topic: str) -> None:
    producer = make()
    producer.init_transactions(30)
    producer.begin()
    producer.records.send(topic, None, b"1")
    producer.commit(30)
    producer.begin()
    producer.records.send_all(TopicBatch(topic, [b"aborted"] * 3))
    producer.abort(30)
    # What the abort purged must not taint the next transaction.
    producer.begin()
    producer.records.send(topic, None, b"2")
    assert values(broker.bootstrap_servers, topic) == [b"1"]
    producer.commit(30)
    assert values(broker.bootstrap_servers, topic) == [b"1", b"2"]


def test_an_abort_does_not_overtake_what_it_aborts(make: MakeProducer, broker: EmbeddedBroker, topic: str) -> None:
    """The coordinator refuses to abort what it has not heard of, which would be the producer's end, now and then."""
    producer = make()
    producer.init_transactions(30)
    for number in range(60):
        producer.begin()
        producer.records.send(topic, None, b"%d" % number)
        producer.commit(30)
        producer.begin()
        producer.records.send(topic, None, b"never visible")
        producer.abort(30)
    assert values(broker.bootstrap_servers, topic) == [b"%d" % number for number in range(60)]


def test_closing_ends_an_open_transaction(make: MakeProducer, broker: EmbeddedBroker, topic: str) -> None:
    """Left open it would hide what others commit until it times out."""
    producer, other = make(), make(**{"transactional.id": f"{topic}-other"})
    for each in (producer, other):
        each.init_transactions(30)
        each.begin()
    producer.records.send(topic, None, b"never visible")
    producer.records.flush(30)
    other.records.send(topic, None, b"visible")
    producer.close()
    other.commit(30)
    assert values(broker.bootstrap_servers, topic) == [b"visible"]


def test_a_second_init_fences_the_first_before_its_commit(
    make: MakeProducer, broker: EmbeddedBroker, topic: str
) -> None:
    first = make()
    first.init_transactions(30)
    first.begin()
    first.records.send(topic, None, b"first")
    first.records.flush(30)
    second = make()
    second.init_transactions(30)
    with pytest.raises(ProducerFencedError):
        first.commit(30)
    with pytest.raises(IllegalProducerStateError, match="from TAINTED"):
        first.commit(30)
    second.begin()
    second.records.send(topic, None, b"second")
    second.commit(30)
    assert values(broker.bootstrap_servers, topic) == [b"second"]


def test_a_fenced_producer_hears_of_it_also_when_it_sends(make: MakeProducer, topic: str) -> None:
    """Records on their way fail with the new epoch, long before the commit: the reason is still the fencing."""
    first, second = make(), make()
    first.init_transactions(30)
    first.begin()
    second.init_transactions(30)
    with pytest.raises(ProducerFencedError):
        for _ in range(200):
            first.records.send(topic, None, b"late")
            first.records.serve(0.05)
        first.commit(30)


def test_a_record_that_the_client_refuses_names_its_topic(make: MakeProducer, topic: str) -> None:
    producer = make()
    producer.init_transactions(30)
    producer.begin()
    with pytest.raises(KafkaClientError, match=f"writing to topic {topic} failed.*size"):
        producer.records.send(topic, None, b"x" * 2_000_000)
    with pytest.raises(KafkaClientError, match=f"writing to topic {topic} failed.*size"):
        producer.records.send_all(TopicBatch(topic, [b"small", b"x" * 2_000_000]))


def send_until_refused(producer: TransactionalProducer, topic: str) -> None:
    """Send without looking at reports, as within a batch: only the client knows that the transaction has failed."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        producer.records.send(topic, None, b"more")


@pytest.mark.parametrize("later", [None, "reported", "unreported"])
def test_a_record_that_the_broker_refuses_is_the_records_fault(
    make: MakeProducer, broker: EmbeddedBroker, unique: str, later: str | None
) -> None:
    """Not an uncertain commit, after which it would be tried for ever; also if more is sent before the commit."""
    topic = unique
    make_topic(broker.bootstrap_servers, topic, 1, **{"max.message.bytes": "20000"})
    producer = make()
    producer.init_transactions(30)
    producer.begin()
    producer.records.send(topic, None, b"x" * 100_000)
    with pytest.raises(KafkaClientError, match=f"writing to topic {topic} failed.*(?i:too large)") as raised:
        if later == "reported":
            producer.records.flush(30)
            producer.records.send(topic, None, b"more")
        if later == "unreported":
            send_until_refused(producer, topic)
        producer.commit(30)
    assert type(raised.value) is KafkaClientError
    producer.close()
    assert values(broker.bootstrap_servers, topic) == []


@pytest.mark.parametrize("later", [False, True])
def test_records_that_do_not_arrive_in_time_taint(make: MakeProducer, topic: str, later: bool) -> None:
    """Partition 7 does not exist: the record waits for it in vain, as records wait for a broker that is away."""
    producer = make(**{"delivery.timeout.ms": "1500", "linger.ms": "0"})
    producer.init_transactions(30)
    producer.begin()
    with pytest.raises(UncertainCommitError, match=f"writing to topic {topic} failed"):
        producer.records.send(f"{topic}", None, b"x", partition=7)
        if later:
            producer.records.flush(30)
            producer.records.send(topic, None, b"more")
        producer.commit(30)


class _Stumbled:
    """A client whose commit's request meets a coordinator that stumbles over its own state.

    A broker does so at times if another producer's init comes at that very moment.
    """

    def __init__(self, client: Producer) -> None:
        self.client = client

    def commit_transaction(self, *_: object) -> None:
        raise KafkaException(KafkaError(KafkaError.UNKNOWN))

    def __getattr__(self, name: str) -> object:
        return getattr(self.client, name)


def test_a_commit_that_fails_in_the_broker_is_uncertain(
    make: MakeProducer, broker: EmbeddedBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another attempt finds out; the task has not failed."""
    producer = make()
    producer.init_transactions(30)
    producer.begin()
    producer.records.send(topic, None, b"never visible")
    monkeypatch.setattr(producer.records, "client", _Stumbled(producer.records.client))
    with pytest.raises(UncertainCommitError, match=r"commit_transaction of producer .* failed.*\(UNKNOWN\)"):
        producer.commit(30)
    make().init_transactions(30)
    assert values(broker.bootstrap_servers, topic) == []


def test_a_transaction_timeout_that_the_broker_refuses_is_the_configurations_fault(make: MakeProducer) -> None:
    with pytest.raises(KafkaClientError, match=r"transaction.timeout") as raised:
        make(**{"transaction.timeout.ms": "999999999"}).init_transactions(30)
    assert type(raised.value) is KafkaClientError


def test_a_transaction_that_the_broker_has_ended_is_never_the_tasks_fault(
    make: MakeProducer, broker: EmbeddedBroker, topic: str
) -> None:
    """Too old for ``transaction.timeout.ms``: the broker aborts it and moves the epoch on."""
    producer = make(**{"transaction.timeout.ms": "1000"})
    producer.init_transactions(30)
    producer.begin()
    producer.records.send(topic, None, b"never visible")
    producer.records.flush(30)
    witness = make(**{"transactional.id": f"{topic}-witness"})
    witness.init_transactions(30)
    witness.begin()
    witness.records.send(topic, None, b"after the abort")
    witness.commit(30)
    wait_for(lambda: values(broker.bootstrap_servers, topic), 40, "the broker's abort")
    with pytest.raises((ProducerFencedError, UncertainCommitError)):
        producer.commit(30)
    assert values(broker.bootstrap_servers, topic) == [b"after the abort"]


def test_everything_arrives_once_and_in_order(make: MakeProducer, broker: EmbeddedBroker, topic: str) -> None:
    """Several chunks through a buffer that holds a fraction of one."""
    producer = make(every_delivery=True, **{"buffer.memory": "20000"})
    reported: list[int] = []
    producer.init_transactions(30)
    producer.begin()
    sent = [b"%d" % n for n in range(25_000)]
    batch = TopicBatch(topic, sent)
    producer.records.send_all(batch, lambda topic, partition, offset, timestamp: reported.append(offset))
    producer.commit(60)
    assert values(broker.bootstrap_servers, topic) == sent
    assert reported == list(range(25_000))


def test_columns_of_several_chunks_arrive_row_by_row(make: MakeProducer, broker: EmbeddedBroker, unique: str) -> None:
    """Each record has its own row's key, partition, timestamp and headers, and is reported with its row and place."""
    make_topic(broker.bootstrap_servers, unique, 3)
    producer = make(every_delivery=True)
    places: dict[int, tuple[int, int, int | None]] = {}
    count = 25_000
    batch = TopicBatch(
        unique,
        [b"%d" % row for row in range(count)],
        keys=[None if row % 2 else b"k%d" % row for row in range(count)],
        partitions=[None if row % 5 == 4 else row % 3 for row in range(count)],
        timestamps=[None if row % 7 == 0 else row for row in range(count)],
        headers=[None if row % 3 else [("row", b"%d" % row)] for row in range(count)],
    )
    producer.init_transactions(30)
    producer.begin()
    producer.records.send_all(batch, None, None, lambda row, *place: places.__setitem__(row, place))
    producer.commit(60)
    found = read_committed(broker.bootstrap_servers, unique)
    assert len(found) == len(places) == count
    for read in found:
        row = int(read.value or b"")
        assert (read.partition, read.offset, read.timestamp) == places[row]
        assert read.key == (None if row % 2 else b"k%d" % row)
        assert row % 5 == 4 or read.partition == row % 3
        assert read.timestamp == row if row % 7 else read.timestamp > count
        assert read.headers == ([] if row % 3 else [("row", b"%d" % row)])


def test_one_by_one_keeps_what_batches_cannot(make: MakeProducer, broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique, 3)
    producer = make()
    producer.init_transactions(30)
    producer.begin()
    producer.records.send(unique, b"k", None, 2, 1234, [("h", b"v"), ("h", None)])
    producer.commit(30)
    [read] = read_committed(broker.bootstrap_servers, unique)
    assert (read.partition, read.timestamp, read.key, read.value) == (2, 1234, b"k", None)
    assert read.headers == [("h", b"v"), ("h", None)]


def test_offsets_go_last_and_survive_an_abort(
    make: MakeProducer, broker: EmbeddedBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invariant 1."""
    producer = make()
    sent: list[str] = []
    send, send_all = producer.records.send, producer.records.send_all
    monkeypatch.setattr(producer.records, "send", lambda to, *rest: (sent.append(to), send(to, *rest)))
    monkeypatch.setattr(
        producer.records, "send_all", lambda batch, *rest: (sent.append(batch.topic), send_all(batch, *rest))
    )
    offsets_topic = f"{topic}-offsets"
    writer = TransactionalWriter(producer, offsets_topic, 30, remember=False)
    writer.init()
    assert not writer.pending
    writer.add_offsets({b"k": SourceOffset({}, {}, b"k", b"offset 1")})
    writer.write([TopicBatch(topic, [b"1", b"2"])], 2)
    writer.add_offsets({b"k": SourceOffset({}, {}, b"k", b"offset 2")})
    assert (writer.size, writer.pending) == (2, True)
    offsets, _ = writer.commit()
    assert sent == [topic, offsets_topic]
    assert [o.value for o in offsets] == [b"offset 2"]
    assert (writer.size, writer.pending) == (0, False)
    writer.write([TopicBatch(topic, [b"aborted"])], 1)
    writer.add_offsets({b"k": SourceOffset({}, {}, b"k", b"offset 3")})
    writer.abort()
    assert writer.pending
    writer.commit()
    assert values(broker.bootstrap_servers, topic) == [b"1", b"2"]
    assert values(broker.bootstrap_servers, offsets_topic) == [b"offset 2", b"offset 3"]


@pytest.mark.parametrize("every_delivery", [False, True])
@pytest.mark.parametrize("missing", ["the offset", "a record"])
def test_an_incomplete_transaction_is_not_committed(
    missing: str,
    every_delivery: bool,
    make: MakeProducer,
    broker: EmbeddedBroker,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever lost it on the way: records without their offset record would be read again (invariant 1)."""
    producer = make(every_delivery=every_delivery)
    writer = TransactionalWriter(producer, f"{topic}-offsets", 30, remember=every_delivery)
    writer.init()
    writer.write([TopicBatch(topic, [b"1", b"2"])], 2)
    writer.add_offsets({b"k": SourceOffset({}, {}, b"k", b"2")})
    writer.commit()
    writer.write([TopicBatch(topic, [b"3"])], 2 if missing == "a record" else 1)
    writer.add_offsets({b"k": SourceOffset({}, {}, b"k", b"3")})
    if missing == "the offset":
        monkeypatch.setattr(producer.records, "send", lambda *_: None)
    with pytest.raises(IncompleteTransactionError, match=r"[23] records belong to it, [12] were acknowledged"):
        writer.commit()
    writer.close()
    assert values(broker.bootstrap_servers, topic) == [b"1", b"2"], "what was written of it is aborted at once"
    assert values(broker.bootstrap_servers, f"{topic}-offsets") == [b"2"]


def test_a_commit_fails_if_a_record_has_no_delivery_report(
    make: MakeProducer, broker: EmbeddedBroker, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_topic(broker.bootstrap_servers, unique, 1, **{"max.message.bytes": "1000"})
    producer = make()
    monkeypatch.setattr(producer.records, "delivery_failure", lambda: None)
    producer.init_transactions(30)
    producer.begin()
    producer.records.send(unique, None, b"x")
    producer.records.send(unique, None, os.urandom(5_000))
    with pytest.raises(IncompleteTransactionError, match=r"2 records belong to it, [01] were acknowledged"):
        producer.commit(30, 2)


def test_records_of_aborted_transactions_do_not_count(make: MakeProducer, topic: str) -> None:
    producer = make()
    producer.init_transactions(30)
    for flushed in (True, False):
        producer.begin()
        producer.records.send_all(TopicBatch(topic, [b"x"] * 500))
        if flushed:
            assert producer.records.flush(30)
        producer.abort(30)
        producer.begin()
        producer.records.send(topic, None, b"1")
        producer.commit(30, 1)


def test_each_record_is_reported_with_its_own_place(make: MakeProducer, broker: EmbeddedBroker, topic: str) -> None:
    polled = [SourceRecord({}, {}, topic, value=f"{n}") for n in range(3)]
    writer = TransactionalWriter(make(every_delivery=True), f"{topic}-offsets", 30, remember=True)
    writer.init()
    writer.write([TopicBatch(topic, [b"0", b"1", b"2"], sources=polled)], 3)
    _, (delivered,) = writer.commit()
    assert [(record.value, metadata.offset) for record, metadata in delivered] == [
        ("0", 0),
        ("1", 1),
        ("2", 2),
    ]


def test_writing_to_a_topic_that_does_not_exist_names_it_and_is_uncertain(make: MakeProducer, unique: str) -> None:
    """And tried again by another attempt: an operator may create it."""
    with EmbeddedBroker(
        port=0, properties={"auto.create.topics.enable": "false"}, jvm_options=QUICK_START_JVM_OPTIONS
    ) as broker:
        producer = make(**{"bootstrap.servers": broker.bootstrap_servers, "delivery.timeout.ms": "3000"})
        producer.init_transactions(30)
        producer.begin()
        producer.records.send(unique, None, b"x")
        with pytest.raises(UncertainCommitError, match=f"writing to topic {unique} failed"):
            producer.commit(60)


def test_keys_go_where_java_sends_them(broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique, 7)
    producer = RecordProducer({"bootstrap.servers": broker.bootstrap_servers})
    keys = [b"%d" % n for n in range(40)] + [b"foobar", "grüße".encode()]
    producer.send_all(TopicBatch(unique, keys, keys))
    assert producer.flush(30)
    placed = {read.key: read.partition for read in read_committed(broker.bootstrap_servers, unique)}
    assert placed == {key: (murmur2(key) & 0x7FFFFFFF) % 7 for key in keys}
    # Java: Utils.toPositive(Utils.murmur2("foobar".getBytes())) is 1357151166.
    assert placed[b"foobar"] == 1357151166 % 7
    producer.close()


def test_a_wrong_clock_is_not_the_records_fault(make: MakeProducer, broker: EmbeddedBroker, unique: str) -> None:
    """To a topic that takes no old records, those that linger come as from a machine whose clock is slow."""
    make_topic(broker.bootstrap_servers, unique, 1, **{"message.timestamp.before.max.ms": "200"})
    refused: list[bytes | None] = []

    def on_refused(error: ConnectError, key: bytes | None, value: bytes | None) -> None:
        refused.append(value)

    def begun() -> TransactionalProducer:
        producer = make(**{"linger.ms": "600"})
        producer.init_transactions(30)
        producer.begin()
        return producer

    def answered(records: RecordProducer) -> bool:
        records.serve(0.1)
        return len(records.client) == 0

    for send in (
        lambda records: records.send(unique, None, b"now", on_refused=on_refused),
        lambda records: records.send_all(TopicBatch(unique, [b"now"]), on_refused=on_refused),
    ):
        producer = begun()
        send(producer.records)
        wait_for(lambda producer=producer: answered(producer.records), 30)  # type: ignore[misc]
        with pytest.raises(UncertainCommitError, match=f"writing to topic {unique} failed: the clock of this machine"):
            producer.commit(30)
        producer.close()
        assert refused == []
    producer = begun()
    producer.records.send(unique, None, b"then", timestamp=1, on_refused=on_refused)
    wait_for(lambda: answered(producer.records), 30)
    assert refused == [b"then"]
