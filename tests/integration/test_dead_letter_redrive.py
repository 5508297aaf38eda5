# SPDX-License-Identifier: Apache-2.0
"""A redrive's transactions on a real broker: which letters are written, which stay, and what a second redrive does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headrace.api.errors import ConnectError
from headrace.api.sink import TopicPartition as KafkaPartition
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.inspection.dead_letters.letter import KEPT, Letter, Mark
from headrace.inspection.dead_letters.letter_filter import parse_filter
from headrace.inspection.dead_letters.redrive_rules import Action, LetterRequest, Outcome, original_record
from headrace.kafka.admin.consumer_groups import ConsumerGroups
from headrace.kafka.errors import ProducerFencedError
from tests.integration.written_letters import Dead, P
from tests.support.sinks import send
from tests.support.topics import read_committed


@pytest.fixture
def dead(broker: EmbeddedBroker, unique: str) -> Dead:
    return Dead(broker.bootstrap_servers, unique)


def test_a_record_is_written_as_it_was(dead: Dead) -> None:
    dead.write(b"one", b"two")
    redrive = dead.redrive()
    redrive.run()
    assert dead.pending() == []
    assert (redrive.counts.passed, redrive.counts.redriven, redrive.counts.kept) == (2, 2, 0)
    first, second = dead.redriven()
    assert [(each.partition, each.key, each.value, each.timestamp) for each in (first, second)] == [
        (1, b"k", b"one", dead.timestamp),
        (1, b"k", b"two", dead.timestamp),
    ]
    mark = b'{"connector":"%s","count":1,"topic":"%s","partition":0,"offset":1}'
    names = dead.name.encode(), dead.dead.encode()
    assert second.headers == [("own", b"1"), ("headrace.redriven", mark % names)]
    # Nothing is pending, so nothing is done.
    dead.redrive().run()
    assert len(dead.redriven()) == 2


def test_an_old_record_gets_the_present_time(dead: Dead) -> None:
    """Kafka keeps records for seven days, so it could delete this one before the connector reads it."""
    dead.timestamp -= 4 * 86_400_000
    dead.write(b"old", b"kept")
    dead.redrive(LetterRequest(Action.REDRIVE, limit=1)).run()
    (redriven,) = dead.redriven()
    assert redriven.value == b"old" and redriven.timestamp > dead.timestamp + 4 * 86_400_000


def test_letters_that_are_not_selected_stay(dead: Dead) -> None:
    dead.write(b"0", stage="TRANSFORMATION")
    dead.write(b"1")
    dead.write(b"2", stage="TRANSFORMATION")
    dead.write(b"3", partition=1, stage="TRANSFORMATION")
    redrive = dead.redrive(LetterRequest(Action.REDRIVE, parse_filter(["stage=VALUE_CONVERTER"], 0)))
    plan = redrive.plan()
    assert (plan.counts.planned, plan.counts.taken) == (2, 1)
    assert [(p, r.begin, r.end) for p, r in plan.ranges.items()] == [(0, 0, 2)]
    redrive.run()
    assert [each.value for each in dead.redriven()] == [b"1"]
    assert sorted(map(bytes, dead.pending())) == [b"0", b"2", b"3"]  # type: ignore[arg-type]
    again = next(each for each in read_committed(dead.bootstrap, dead.dead) if each.offset > 2 and each.partition == 0)
    before = read_committed(dead.bootstrap, dead.dead)[0]
    assert (again.key, again.value, again.timestamp) == (before.key, before.value, before.timestamp)
    assert again.headers == [*before.headers, Mark(dead.name, dead.dead, 0, 0).header(KEPT)]
    # The header stays out of the record.
    dead.redrive().run()
    assert dead.pending() == []
    assert sorted(each.value for each in dead.redriven()) == [b"0", b"1", b"2", b"3"]
    assert {name for each in dead.redriven() for name, _ in each.headers} == {"own", "headrace.redriven"}


def test_limit_discard_and_dry_run(dead: Dead) -> None:
    dead.write(*(b"%d" % n for n in range(1_200)))
    dead.redrive(LetterRequest(Action.REDRIVE, limit=700)).run()
    assert [each.value for each in dead.redriven()] == [b"%d" % n for n in range(700)]
    assert dead.pending() == [b"%d" % n for n in range(700, 1_200)]
    assert dead.redrive(LetterRequest(Action.DISCARD, limit=3)).plan().counts.taken == 3
    assert len(dead.pending()) == 500
    dead.redrive(LetterRequest(Action.DISCARD, limit=499)).run()
    assert dead.pending() == [b"1199"]
    assert len(dead.redriven()) == 700


def test_a_position_beyond_the_end_is_refused(dead: Dead) -> None:
    """The topic has lost records: to begin anew would redrive letters twice."""
    dead.write(b"0", b"1")
    dead.redrive().run()
    groups = ConsumerGroups(dead.worker.raw)
    groups.alter_offsets(dead.topic().group, {KafkaPartition(dead.dead, 0): 9})
    with pytest.raises(ConnectError, match=rf"has passed offset 9 of {dead.dead}-0, which ends at \d+: records"):
        dead.redrive().run()
    assert len(dead.redriven()) == 2


def test_a_letter_that_cannot_be_redriven_stays(dead: Dead) -> None:
    dead.write(b"0")
    send(dead.bootstrap, dead.dead, [b"without headers"])
    send(dead.bootstrap, dead.dead, [b"of another topic"], headers=[(P + "topic", b"__consumer_offsets")])
    dead.write(b"3")
    redrive = dead.redrive()
    redrive.run()
    assert [each.value for each in dead.redriven()] == [b"0", b"3"]
    assert dead.pending() == [b"without headers", b"of another topic"]
    assert redrive.failures == [
        "0:1: the letter has no header with its topic; name one with to_topic",
        "0:2: the connector does not consume topic __consumer_offsets; name a topic with to_topic",
    ]


def test_a_loop_is_stopped(dead: Dead) -> None:
    dead.write(b"0")
    dead.redrive().run()
    mark = dict(dead.redriven()[0].headers)["headrace.redriven"]
    assert mark is not None
    # It fails again: the connector writes it as a letter with all its headers.
    dead.write(b"0", **{"headrace.redriven": mark})
    redrive = dead.redrive()
    assert redrive.plan().counts.redriven_before == 1
    redrive.run()
    assert len(dead.redriven()) == 1
    assert dead.pending() == [b"0"]
    dead.redrive(LetterRequest(Action.REDRIVE, again=True)).run()
    assert b'"count":2' in (dict(dead.redriven()[1].headers)["headrace.redriven"] or b"")
    assert dead.pending() == []


def test_a_second_redrive_fences_the_first(dead: Dead) -> None:
    dead.write(*(b"%d" % n for n in range(1_500)))
    calls: list[int] = []

    def redriver(letters: Sequence[Letter]) -> Sequence[Outcome]:
        calls.append(len(letters))
        if len(calls) == 2:
            # In the midst of the first one, before its second transaction.
            dead.redrive().run()
        return [original_record(letter, None, dead.name.__eq__) for letter in letters]

    with pytest.raises(ProducerFencedError):
        dead.redrive(redriver=redriver).run()
    assert [each.value for each in dead.redriven()] == [b"%d" % n for n in range(1_500)]
    assert dead.pending() == []
