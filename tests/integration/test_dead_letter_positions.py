# SPDX-License-Identifier: Apache-2.0
"""Exactly-once redrives where positions are lost, topics are shared, and records are lost or not yet committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from headrace.api.sink import TopicPartition
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.inspection.dead_letters.letter import Letter
from headrace.inspection.dead_letters.letter_filter import parse_filter
from headrace.inspection.dead_letters.redrive_rules import Action, LetterRequest, Outcome, original_record
from headrace.kafka.admin.consumer_groups import ConsumerGroups
from headrace.kafka.data.assigned_consumer import AssignedConsumer, Fetched
from headrace.kafka.data.range_reader import Range, RangeReader
from tests.integration.written_letters import Dead
from tests.support.topics import read_committed

NAME = "__connect.errors.connector.name"


@pytest.fixture
def dead(broker: EmbeddedBroker, unique: str) -> Dead:
    return Dead(broker.bootstrap_servers, unique)


def values(dead: Dead) -> list[bytes]:
    return sorted(each.value or b"" for each in dead.redriven())


def lose_positions(dead: Dead) -> None:
    """Delete the group, as a broker does at the end of ``offsets.retention.minutes``: it never has members."""
    ConsumerGroups(dead.worker.raw).delete_group(dead.topic().group)


def delete_records(dead: Dead, offset: int) -> None:
    """Delete the letters before an offset, as a broker does at the end of ``retention.ms``."""
    client = AdminClient({"bootstrap.servers": dead.bootstrap})
    place = Position(dead.dead, 0, offset)
    client.delete_records([place])[place].result(30)


def test_positions_that_have_expired(dead: Dead) -> None:
    dead.write(*(b"%d" % n for n in range(700)))
    dead.write(b"other", partition=1)
    dead.redrive(LetterRequest(Action.REDRIVE, parse_filter(["offset=0:0-599"], 0))).run()
    dead.redrive(LetterRequest(Action.REDRIVE, parse_filter(["offset=0:0-649"], 0))).run()
    lose_positions(dead)
    assert sorted(map(bytes, dead.pending())) == sorted([*(b"%d" % n for n in range(650, 700)), b"other"])  # type: ignore[arg-type]
    dead.redrive().run()
    lose_positions(dead)
    dead.redrive().run()
    assert values(dead) == sorted([*(b"%d" % n for n in range(700)), b"other"])
    assert dead.pending() == []


def test_positions_that_an_operator_has_set_are_those_that_count(dead: Dead) -> None:
    dead.write(b"0", b"1", b"2")
    dead.redrive().run()
    groups = ConsumerGroups(dead.worker.raw)
    groups.alter_offsets(dead.topic().group, {TopicPartition(dead.dead, 0): 1})
    dead.redrive(LetterRequest(Action.REDRIVE, limit=1)).run()
    assert values(dead) == [b"0", b"1", b"1", b"2"]
    lose_positions(dead)
    assert dead.pending() == [b"2"]


def test_connectors_that_share_a_topic(dead: Dead) -> None:
    """Of the same topic they read the same records: each has letters of its own about them."""
    other = Dead(dead.bootstrap, f"{dead.name}-other", dead.name)
    for connector in (dead, other):
        connector.write(*(b"%s %d" % (connector.name.encode(), n) for n in range(3)), **{NAME: connector.name.encode()})
    for connector in (dead, other):
        connector.redrive().run()
    expected = sorted(b"%s %d" % (name.encode(), n) for name in (dead.name, other.name) for n in range(3))
    assert values(dead) == expected


def test_letters_that_one_of_them_has_written_again(dead: Dead) -> None:
    other = Dead(dead.bootstrap, f"{dead.name}-other", dead.name)
    for number in range(4):
        connector = (dead, other)[number % 2]
        connector.write(b"%d" % number, stage="AB"[number // 2], **{NAME: connector.name.encode()})
    # Each writes what it passes again: 0 and 1, and 2 with them.
    for connector in (dead, other):
        connector.redrive(LetterRequest(Action.REDRIVE, parse_filter(["stage=B"], 0))).run()
    assert values(dead) == [b"2", b"3"]
    for connector in (dead, other, dead, other):
        connector.redrive().run()
    assert values(dead) == [b"0", b"1", b"2", b"3"]


def test_letters_of_a_connector_that_is_gone(dead: Dead) -> None:
    """They are taken if they are named."""
    dead.write(b"0", **{NAME: b"gone"})
    dead.write(b"1", **{NAME: dead.name.encode()})
    redrive = dead.redrive()
    redrive.run()
    assert (values(dead), redrive.counts.of_others) == ([b"1"], 1)
    dead.redrive(LetterRequest(Action.REDRIVE, parse_filter(["connector=gone"], 0))).run()
    assert values(dead) == [b"0", b"1"]
    dead.redrive(LetterRequest(Action.REDRIVE, parse_filter(["connector=gone"], 0))).run()
    assert values(dead) == [b"0", b"1"]


@contextmanager
def transaction(bootstrap: str, id: str) -> Iterator[Producer]:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": id})
    producer.init_transactions(30)
    producer.begin_transaction()
    yield producer


def test_open_and_aborted_transactions_in_the_topic(dead: Dead) -> None:
    headers = [("__connect.errors.topic", dead.read.encode())]
    dead.write(b"0")
    with transaction(dead.bootstrap, f"{dead.name}-a") as producer:
        producer.produce(dead.dead, b"aborted", partition=0, headers=headers)
        producer.flush(30)
        producer.abort_transaction(30)
    dead.write(b"1")
    with transaction(dead.bootstrap, f"{dead.name}-b") as producer:
        producer.produce(dead.dead, b"2", partition=0, headers=headers)
        producer.flush(30)
        dead.write(b"3")
        # All behind the open transaction has to wait.
        dead.redrive().run()
        assert [each.value for each in read_committed(dead.bootstrap, dead.read)] == [b"0", b"1"]
        producer.commit_transaction(30)
    dead.pending()
    dead.redrive().run()
    dead.redrive().run()
    assert values(dead) == [b"0", b"1", b"2", b"3"]


def test_a_topic_that_loses_its_end_while_it_is_read(dead: Dead, monkeypatch: pytest.MonkeyPatch) -> None:
    """The consumer is sent back to the first letter, which was redriven before."""
    dead.write(b"0", b"1", b"2")
    sent_back: list[bytes | None] = []

    fetch = AssignedConsumer.fetch

    def watched(consumer: AssignedConsumer, count: int, timeout: float) -> list[Fetched]:
        found = list(fetch(consumer, count, timeout))
        if not sent_back and (messages := [each.message for each in found if each.message is not None]):
            sent_back.extend(message.value() for message in messages)
            dead.write(*(b"%d" % n for n in range(3, 9)))
        return found

    monkeypatch.setattr(AssignedConsumer, "fetch", watched)
    with closing(RangeReader(dead.topic().props, dead.dead, {0: Range(5, 8)})) as reader:
        assert [message.value() for message in reader.read(10)] == [b"5", b"6", b"7"]
    assert sent_back[0] == b"0"


def test_letters_that_expire_during_a_redrive(dead: Dead) -> None:
    dead.write(*(b"%d" % n for n in range(1_500)))

    def redriver(letters: Sequence[Letter]) -> Sequence[Outcome]:
        if letters[0].record.offset == 0:
            delete_records(dead, 1_200)
        return [original_record(letter, None, dead.read.__eq__) for letter in letters]

    dead.redrive(redriver=redriver).run()
    found = [int(each) for each in values(dead)]
    assert len(found) == len(set(found)) and set(found) >= {*range(500), *range(1_200, 1_500)}
    assert dead.pending() == []
