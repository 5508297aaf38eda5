# SPDX-License-Identifier: Apache-2.0
"""The consumer of sink tasks on a real broker, without a worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest
from confluent_kafka import Message
from confluent_kafka import TopicPartition as Position

from headrace.api.errors import ConnectError
from headrace.api.sink import ConsumerGroupMetadata, TopicPartition
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.admin.consumer_groups import ConsumerGroups
from headrace.kafka.data.group_membership import parse_group_metadata
from headrace.kafka.data.sink_consumer import SinkConsumer
from tests.support.polling import wait_for
from tests.support.sinks import make_topic, numbers, send


class Heard:
    """A listener that remembers, and begins where `begin` says."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, list[TopicPartition]]] = []
        self.begin: dict[TopicPartition, int] = {}
        self.error: Exception | None = None

    def assigned(
        self, partitions: Sequence[TopicPartition], committed: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        self.heard.append(("assigned", sorted(partitions)))
        if self.error is not None:
            raise self.error
        return self.begin

    def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.heard.append(("revoked", sorted(partitions)))

    def lost(self, partitions: Sequence[TopicPartition]) -> None:
        self.heard.append(("lost", sorted(partitions)))


Make = Callable[..., SinkConsumer]


@pytest.fixture
def make(broker: EmbeddedBroker, unique: str) -> Iterator[Make]:
    made: list[SinkConsumer] = []

    def make(**more: str) -> SinkConsumer:
        base = {"bootstrap.servers": broker.bootstrap_servers, "group.id": f"group-{unique}", "client.id": unique}
        base |= {"auto.offset.reset": "earliest", "enable.auto.commit": "false"}
        made.append(SinkConsumer({**base, **{name.replace("_", "."): value for name, value in more.items()}}))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


def consume(consumer: SinkConsumer, count: int, seconds: float = 30) -> list[bytes | None]:
    values: list[bytes | None] = []
    wait_for(
        lambda: values.extend(consumer.consume(100, 0.1).values) or len(values) >= count, seconds, lambda: str(values)
    )
    return values


def test_a_removed_consumer_cannot_commit(make: Make, broker: EmbeddedBroker, unique: str) -> None:
    where = TopicPartition(unique, 0)
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, numbers(0, 10))
    zombie = make()
    zombie.subscribe([unique], Heard())
    consume(zombie, 10)
    zombie.commit({where: 5})
    groups = ConsumerGroups({"bootstrap.servers": broker.bootstrap_servers})
    assert groups.remove_members(f"group-{unique}", "somebody else") == 0
    assert groups.remove_members(f"group-{unique}", unique) == 1
    successor = make()
    successor.subscribe([unique], Heard())
    # At once, though the zombie has not left.
    began = time.monotonic()
    assert consume(successor, 5) == numbers(5, 5)
    assert time.monotonic() - began < 10
    with pytest.raises(ConnectError):
        zombie.commit({where: 10})
    assert groups.offsets(f"group-{unique}") == {where: 5}
    assert groups.remove_members("there is none", unique) == 0


@pytest.mark.parametrize("instance", [None, "instance-1"])
def test_membership_and_what_the_group_has_committed(
    make: Make, broker: EmbeddedBroker, unique: str, instance: str | None
) -> None:
    """As sinks need it that commit offsets in transactions of their own."""
    first, second = TopicPartition(unique, 0), TopicPartition(unique, 1)
    make_topic(broker.bootstrap_servers, unique, 2)
    send(broker.bootstrap_servers, unique, numbers(0, 3))
    consumer = make(**({} if instance is None else {"group_instance_id": instance}))
    assert consumer.group_metadata() == ConsumerGroupMetadata(f"group-{unique}", -1, "", instance)
    consumer.subscribe([unique], Heard())
    consume(consumer, 3)
    member = consumer.group_metadata()
    assert member.generation_id > 0 and member.member_id == consumer.client.memberid()
    assert (member.group_id, member.group_instance_id) == (f"group-{unique}", instance)
    assert consumer.committed([first, second]) == {}
    consumer.commit({first: 2})
    assert consumer.committed([first, second]) == {first: 2}


def test_another_format_of_membership() -> None:
    for written in (b"CGMDv3:xxxx", b"CGMDv2:\0"):
        with pytest.raises(ConnectError, match="cannot be read from"):
            parse_group_metadata(written)


def test_a_listener_decides_where_to_begin_and_may_seek(make: Make, broker: EmbeddedBroker, unique: str) -> None:
    where = TopicPartition(unique, 0)
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, numbers(0, 10))
    consumer, heard = make(), Heard()
    heard.begin = {where: 7}
    consumer.subscribe([unique], heard)
    assert consume(consumer, 3) == numbers(7, 3)
    consumer.seek({where: 9})
    assert consume(consumer, 1) == numbers(9, 1)
    assert heard.heard == [("assigned", [where])]
    consumer.subscribe([], heard)
    wait_for(lambda: consumer.consume(1, 0.05) is None or len(heard.heard) == 2, 20, "the end")
    assert heard.heard[1:] == [("revoked", [where])]


def test_messages_from_before_a_rebalance_do_not_move_the_new_assignment(
    make: Make, broker: EmbeddedBroker, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partition is assigned again before them: from there on all is delivered again."""
    where, position = TopicPartition(unique, 0), Position(unique, 0)
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, numbers(0, 5))
    consumer, heard = make(), Heard()
    consumer.subscribe([unique], heard)
    assert consume(consumer, 5) == numbers(0, 5)
    send(broker.bootstrap_servers, unique, numbers(5, 5))
    before = consumer._consume(2, 20)
    assert before

    def consume_within_a_rebalance(limit: int, timeout: float) -> list[Message]:
        heard.begin = {where: 2}
        consumer._on_revoke(consumer.client, [position])
        consumer._on_assign(consumer.client, [position])
        return before

    with monkeypatch.context() as patch:
        patch.setattr(consumer, "_consume", consume_within_a_rebalance)
        assert not consumer.consume(2, 0)
    assert consume(consumer, 8) == numbers(2, 8)


def test_what_a_listener_raises_comes_out_of_consume(make: Make, broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique)
    consumer, heard = make(), Heard()
    heard.error = ValueError("not here")
    consumer.subscribe([unique], heard)
    with pytest.raises(ValueError, match="not here"):
        consume(consumer, 1)


def test_pauses_hold_from_the_assignment_on(make: Make, broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique, 2)
    paused = {TopicPartition(unique, 0)}
    send(broker.bootstrap_servers, unique, numbers(0, 5), 0)
    consumer = make()
    consumer.pause_whenever(lambda: paused)
    consumer.subscribe([unique], Heard())
    send(broker.bootstrap_servers, unique, numbers(10, 5), 1)
    assert consume(consumer, 5) == numbers(10, 5)
    paused.clear()
    consumer.apply_pauses()
    assert consume(consumer, 5) == numbers(0, 5)


def test_a_rebalance_during_something_slow_waits_for_its_end(make: Make, broker: EmbeddedBroker, unique: str) -> None:
    """It comes up on the keeper's thread, and is done on the busy one, after which that goes on reading."""
    make_topic(broker.bootstrap_servers, unique, 2)
    short = {"max_poll_interval_ms": "3000", "session_timeout_ms": "3000", "heartbeat_interval_ms": "500"}
    consumer, heard = make(**short), Heard()
    consumer.subscribe([unique], heard)
    wait_for(lambda: consumer.consume(1, 0.05) is None or heard.heard, 20, "an assignment")
    other, others = make(**short), Heard()
    with consumer.busy():
        other.subscribe([unique], others)
        end = time.monotonic() + 4.5
        while time.monotonic() < end:
            other.consume(1, 0.1)
            assert [what for what, _ in heard.heard] == ["assigned"]
    assert [what for what, _ in heard.heard] == ["assigned", "revoked"]
    wait_for(
        lambda: (consumer.consume(1, 0.05), other.consume(1, 0.05)) is None or (len(heard.heard) == 3 and others.heard),
        30,
        lambda: f"{heard.heard} {others.heard}",
    )
    assert len(consumer.assignment) == len(other.assignment) == 1
    assert "lost" not in [what for what, _ in heard.heard]
    send(broker.bootstrap_servers, unique, [b"x"], next(iter(consumer.assignment)).partition)
    assert consume(consumer, 1) == [b"x"]


def test_which_topics_exist(make: Make, broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique)
    consumer = make()
    assert consumer.existing([unique, f"{unique}-not"]) == {unique}
    assert unique in consumer.existing(None)
    assert not consumer.existing(None) & {"__consumer_offsets"}
