# SPDX-License-Identifier: Apache-2.0
"""With a real producer that never finds its broker: what waits, and for how long."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from headrace.kafka.errors import RetriableKafkaError
from headrace.kafka.record_producer import RecordProducer
from headrace.task.record_converter import TopicBatch
from headrace.task.source.offset_committer import OffsetCommitter
from headrace.task.source.source_batch import SourceBatch
from headrace.task.source.source_offsets import offsets_of_records


@pytest.fixture
def committer() -> Iterator[OffsetCommitter]:
    # Port 1 refuses at once.
    producer = RecordProducer({"bootstrap.servers": "127.0.0.1:1"}, every_delivery=True)
    made = OffsetCommitter(producer, "offsets", interval=10.0, timeout=0.05, remember=False)
    yield made
    made.close()


def batch(*records: Any) -> SourceBatch:
    values = [r.value.encode() for r in records]
    return SourceBatch([TopicBatch("t", values)] if values else [], offsets_of_records("c", records), len(values))


def test_due_every_interval(committer: OffsetCommitter) -> None:
    assert [committer.due(now) for now in (100.0, 109.9, 110.0, 110.1, 120.0)] == [False, False, True, False, True]


def test_nothing_to_commit(committer: OffsetCommitter) -> None:
    assert not committer.commit()
    committer.flush()


def test_offsets_wait_for_their_records(
    committer: OffsetCommitter, record: Any, caplog: pytest.LogCaptureFixture
) -> None:
    committer.send(batch(record("a", 1)))
    assert not committer.commit()
    assert committer.take_committed() == ()
    with pytest.raises(RetriableKafkaError, match=r"1 records were not delivered within offset.flush.timeout.ms = 50$"):
        committer.flush()


def test_a_commit_that_times_out_is_said_and_tried_again(
    committer: OffsetCommitter, record: Any, caplog: pytest.LogCaptureFixture
) -> None:
    dropped = SourceBatch([], offsets_of_records("c", [record("a", 1)]), 0, [record("a", 1)])
    committer.send(dropped)
    for _ in range(2):
        with caplog.at_level(logging.WARNING):
            assert not committer.commit()
        assert "offsets are not committed yet" in caplog.messages[-1]
        caplog.clear()
    assert committer.take_committed() == ()
    assert committer.take_delivered()[1] == [record("a", 1)]


class Noting(RecordProducer):
    """Tells the topics that single records, such as those with headers, are sent to."""

    sent: ClassVar[list[str]] = []

    def send(self, topic: str, *record: Any) -> None:
        self.sent.append(topic)
        super().send(topic, *record)


def test_dead_letters_are_sent_and_waited_for_too(record: Any) -> None:
    committer = OffsetCommitter(
        Noting({"bootstrap.servers": "127.0.0.1:1"}, every_delivery=True),
        "offsets",
        interval=10.0,
        timeout=0.05,
        remember=True,
    )
    polled = [record("a", 1), record("b", 2)]
    letters = TopicBatch("dead", [b"b"], [None], headers=[[("h", b"1")]])
    offsets = offsets_of_records("c", polled)
    committer.send(SourceBatch([TopicBatch("t", [b"a"])], offsets, 2, polled[1:], letters))
    assert Noting.sent == ["dead"]
    assert not committer.commit()
    committer.close()
