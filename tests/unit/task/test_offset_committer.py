# SPDX-License-Identifier: Apache-2.0
"""With a real producer that never finds its broker: what waits, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from headrace.api.errors import RetriableError
from headrace.kafka.data.record_producer import RecordColumns, RecordProducer
from headrace.kafka.errors import RetriableKafkaError
from headrace.task.source.offset_committer import LinkOffsetWriter, OffsetCommitter, TopicOffsetWriter
from headrace.task.source.source_batch import SourceBatch, offsets_of_records
from headrace.task.topic_batch import TopicBatch


@pytest.fixture
def committer() -> Iterator[OffsetCommitter]:
    # Port 1 refuses at once.
    producer = RecordProducer({"bootstrap.servers": "127.0.0.1:1"}, every_delivery=True)
    made = OffsetCommitter(
        producer, TopicOffsetWriter(producer, "offsets"), interval=10.0, timeout=0.05, remember=False
    )
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
        assert not committer.commit()
    assert len(caplog.messages) == 1 and "offsets are not committed yet" in caplog.messages[0]
    assert committer.take_committed() == ()
    assert committer.take_delivered()[1] == [record("a", 1)]


class Noting(RecordProducer):
    """Notes the topics of records that have headers."""

    sent: ClassVar[list[str]] = []

    def send_all(self, records: RecordColumns, *callbacks: Any) -> None:
        self.sent.append(records.topic)
        super().send_all(records, *callbacks)


def test_dead_letters_are_sent_and_waited_for_too(record: Any) -> None:
    producer = Noting({"bootstrap.servers": "127.0.0.1:1"}, every_delivery=True)
    writer = TopicOffsetWriter(producer, "offsets")
    committer = OffsetCommitter(producer, writer, interval=10.0, timeout=0.05, remember=True)
    polled = [record("a", 1), record("b", 2)]
    letters = TopicBatch("dead", [b"b"], [None], headers=[[("h", b"1")]])
    offsets = offsets_of_records("c", polled)
    committer.send(SourceBatch([TopicBatch("t", [b"a"])], offsets, 2, polled[1:], letters))
    assert Noting.sent == ["t", "dead"]
    assert not committer.commit()
    committer.close()


def test_a_worker_without_a_topic_is_asked_until_it_has_written(
    link: Any, record: Any, caplog: pytest.LogCaptureFixture
) -> None:
    producer = RecordProducer({"bootstrap.servers": "127.0.0.1:1"}, every_delivery=True)
    committer = OffsetCommitter(producer, LinkOffsetWriter(link), interval=10.0, timeout=0.05, remember=False)

    def delivered(*records: Any) -> None:
        committer.send(SourceBatch([], offsets_of_records("c", records), 0, list(records)))

    assert not committer.commit()  # there is nothing, and so the worker is not asked
    link.refusal = RetriableError("the disk is full")
    delivered(record("a", 1), record("b", 7, partition="q"))
    assert not committer.commit()
    assert caplog.messages == ["offsets are not committed yet: the disk is full; they are with the next commit"]
    delivered(record("a", 2))
    link.refusal = None
    assert committer.commit()
    assert link.written == [{b'["c",{"p":"p"}]': b'{"n":2}', b'["c",{"p":"q"}]': b'{"n":7}'}]
    assert [offset.offset for offset in committer.take_committed()] == [{"n": 1}, {"n": 7}, {"n": 2}]
    assert not committer.commit()
    # What Kafka has not acknowledged is not the worker's to keep.
    committer.send(batch(record("c", 3)))
    assert not committer.commit()
    assert len(link.written) == 1
    committer.close()
