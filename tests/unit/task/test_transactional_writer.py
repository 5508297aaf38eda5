# SPDX-License-Identifier: Apache-2.0
"""What the writer declares to belong to a transaction, by its own count and not by what the producer took."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConnectError
from headrace.kafka.errors import IncompleteTransactionError
from headrace.task.source.source_batch import SourceOffset
from headrace.task.source.transactional_writer import TransactionalWriter
from headrace.task.topic_batch import TopicBatch

ONE, TWO = ({key: SourceOffset({}, {}, key, b"1")} for key in (b"one", b"two"))


class Producer:
    """Transactions in memory; records of a ``lost`` topic never arrive, without an error."""

    def __init__(self) -> None:
        self.records = self
        self.in_transaction = False
        self.lost: str | None = None
        self.committed: list[int] = []
        self._arrived = 0

    def begin(self) -> None:
        self.in_transaction, self._arrived = True, 0

    def send(self, topic: str, *_: Any) -> None:
        self._arrived += topic != self.lost

    def send_all(self, batch: TopicBatch, *_: Any) -> None:
        self._arrived += len(batch.values) * (batch.topic != self.lost)

    def commit(self, timeout: float, records: int) -> None:
        if records != self._arrived:
            raise IncompleteTransactionError(f"{records} belong to it, {self._arrived} have arrived")
        self.committed.append(records)
        self.in_transaction = False

    def abort(self, timeout: float) -> None:
        self.in_transaction = False


@pytest.fixture
def producer() -> Any:
    return Producer()


@pytest.fixture
def writer(producer: Any) -> TransactionalWriter:
    return TransactionalWriter(producer, "offsets", 1, remember=False)


def test_records_and_offsets_count_from_commit_to_commit(writer: TransactionalWriter, producer: Any) -> None:
    writer.write([TopicBatch("t", [b"1", b"2"]), TopicBatch("u", [b"3"])], 3)
    writer.add_offsets(ONE)
    writer.write([TopicBatch("t", [b"4"])], 1)
    writer.add_offsets(ONE | TWO)
    writer.commit()
    writer.write([TopicBatch("t", [b"aborted"] * 5)], 5)
    writer.add_offsets(TWO)
    writer.abort()
    writer.commit()
    writer.add_offsets(ONE)
    writer.commit()
    assert producer.committed == [4 + 2, 0 + 1, 0 + 1]


@pytest.mark.parametrize("lost", ["t", "offsets"])
def test_what_is_lost_on_the_way_is_missed(lost: str, writer: TransactionalWriter, producer: Any) -> None:
    """Java has committed records without their offset record: they were all delivered again (invariant 1)."""
    producer.lost = lost
    writer.write([TopicBatch("t", [b"1"])], 1)
    writer.add_offsets(ONE)
    with pytest.raises(IncompleteTransactionError, match="2 belong to it, 1 have arrived"):
        writer.commit()
    assert producer.committed == []


def test_what_the_conversion_loses_is_missed(writer: TransactionalWriter) -> None:
    writer.write([TopicBatch("t", [b"1"])], 2)
    with pytest.raises(IncompleteTransactionError):
        writer.commit()


def test_the_tasks_own_offsets_topic_is_not_written_to(writer: TransactionalWriter, producer: Any) -> None:
    with pytest.raises(ConnectError, match="to topic offsets, which the task's own offsets are in"):
        writer.write([TopicBatch("t", [b"1"]), TopicBatch("offsets", [b"2"])], 2)
    assert not producer.in_transaction
