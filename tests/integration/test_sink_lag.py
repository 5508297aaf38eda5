# SPDX-License-Identifier: Apache-2.0
"""The lag of a sink's consumer behind transactions: their markers and aborted records are no records for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from headrace.api.sink import TopicPartition
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.data.sink_consumer import SinkConsumer
from tests.integration.test_sink_consumer import Heard, consume
from tests.support.polling import wait_for
from tests.support.sinks import make_topic, numbers

Make = Callable[..., SinkConsumer]


class Transactions:
    """A transactional producer to partition 0 of a topic."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self.producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
        self.producer.init_transactions()

    def open(self, first: int, count: int) -> None:
        self.producer.begin_transaction()
        for value in numbers(first, count):
            self.producer.produce(self._topic, value, partition=0)
        assert self.producer.flush(20) == 0

    def commit(self, first: int, count: int) -> None:
        self.open(first, count)
        self.producer.commit_transaction()

    def abort(self, first: int, count: int) -> None:
        self.open(first, count)
        self.producer.abort_transaction()


@pytest.fixture
def make(broker: EmbeddedBroker, unique: str) -> Iterator[Make]:
    made: list[SinkConsumer] = []

    def make(isolation: str) -> SinkConsumer:
        base = {"bootstrap.servers": broker.bootstrap_servers, "group.id": f"group-{unique}", "client.id": unique}
        base |= {"auto.offset.reset": "earliest", "enable.auto.commit": "false", "isolation.level": isolation}
        made.append(SinkConsumer(base))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


def lag_of(consumer: SinkConsumer, where: TopicPartition) -> int | None:
    end, position = consumer.end_offset(where), consumer.positions().get(where)
    return None if end is None or position is None else end - position


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_at_the_end_of_transactions_nothing_is_left(
    make: Make, broker: EmbeddedBroker, unique: str, isolation: str
) -> None:
    make_topic(broker.bootstrap_servers, unique)
    where, committed_only = TopicPartition(unique, 0), isolation == "read_committed"
    transactions, consumer = Transactions(broker.bootstrap_servers, unique), make(isolation)

    def await_end(end: int, position: int) -> None:
        """Wait until there is no lag at the partition's ``end``, the high watermark, and the task at ``position``."""

        def there() -> bool:
            assert len(consumer.consume(100, 0.05)) == 0
            _, high = consumer.client.get_watermark_offsets(consumer.client.assignment()[0], cached=True)
            return (high, consumer.positions().get(where), lag_of(consumer, where)) == (end, position, 0)

        wait_for(there, 20, lambda: f"{consumer.positions()} of {consumer.end_offset(where)}, and {end} expected")

    def expect(values: list[bytes | None], *, undecided: bool = False) -> None:
        if not (undecided and committed_only):
            assert consume(consumer, len(values)) == values

    consumer.subscribe([unique], Heard())
    transactions.commit(0, 3)
    expect(numbers(0, 3))
    await_end(4, 4)
    transactions.abort(3, 2)
    expect(numbers(3, 2), undecided=True)
    await_end(7, 7)
    transactions.open(5, 5)
    expect(numbers(5, 5), undecided=True)
    await_end(12, 7 if committed_only else 12)  # at the last stable offset
    transactions.producer.abort_transaction()
    await_end(13, 13)
    # a rewind to the marker, as to an offset that was committed before it
    consumer.seek({where: 12})
    assert consumer.positions() == {}
    await_end(13, 13)
    consumer.seek({where: 2})
    expect(numbers(2, 1) if committed_only else [*numbers(2, 3), *numbers(5, 5)])
    await_end(13, 13)


def test_an_open_transaction_is_no_lag_of_what_is_committed(make: Make, broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique)
    where, consumer = TopicPartition(unique, 0), make("read_committed")
    transactions = Transactions(broker.bootstrap_servers, unique)
    transactions.commit(0, 10)
    transactions.open(10, 5)
    consumer.subscribe([unique], Heard())
    wait_for(lambda: len(consumer.consume(1, 0.05)) == 1, 20, "the first record")
    consumer.pause_whenever(lambda: [where])
    consumer.apply_pauses()
    # 9 records and the first marker are left; those of the open transaction are none yet
    wait_for(
        lambda: len(consumer.consume(1, 0.05)) == 0 and consumer.end_offset(where) is not None, 20, "the statistics"
    )
    assert (consumer.positions(), lag_of(consumer, where)) == ({where: 1}, 10)


def test_a_new_consumer_has_the_lag_of_its_commit(make: Make, broker: EmbeddedBroker, unique: str) -> None:
    """That is at the marker, as the offset after the last record; and it is assigned with a position that it knows."""
    make_topic(broker.bootstrap_servers, unique)
    where = TopicPartition(unique, 0)
    Transactions(broker.bootstrap_servers, unique).commit(0, 3)
    first = make("read_uncommitted")
    first.subscribe([unique], Heard())
    assert consume(first, 3) == numbers(0, 3)
    first.commit({where: 3})
    first.close()
    second = make("read_uncommitted")
    second.subscribe([unique], Heard())
    wait_for(lambda: not second.consume(1, 0.05) and lag_of(second, where) == 0, 20, lambda: str(second.positions()))
    assert second.positions() == {where: 4}
