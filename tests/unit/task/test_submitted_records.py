# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from headrace.task.source.source_batch import OffsetsByKey, SourceOffset
from headrace.task.source.submitted_records import SubmittedBatch, SubmittedRecords


def offsets(**positions: int) -> OffsetsByKey:
    return {k.encode(): SourceOffset({"p": k}, {"n": n}, k.encode(), b"%d" % n) for k, n in positions.items()}


def committable(records: SubmittedRecords) -> list[tuple[bytes, bytes | None]]:
    return [(key, offset.value) for key, offset in records.take_committable().items()]


def ack(batch: SubmittedBatch, times: int) -> None:
    for _ in range(times):
        batch.ack("t", 0, 0, None)


def test_nothing_is_committable_before_all_of_it_is_delivered() -> None:
    records = SubmittedRecords()
    batch = records.submit(2, offsets(a=1))
    ack(batch, 1)
    assert committable(records) == []
    assert records.in_flight == 1
    ack(batch, 1)
    assert committable(records) == [(b"a", b"1")]
    assert committable(records) == []


def test_a_batch_waits_for_all_before_it() -> None:
    records = SubmittedRecords()
    first, second, third = (records.submit(1, offsets(**{k: n})) for n, k in enumerate("aba"))
    ack(second, 1)
    ack(third, 1)
    assert committable(records) == []
    ack(first, 1)
    assert committable(records) == [(b"b", b"1"), (b"a", b"2")], "the last offset, where it was last seen"


def test_a_batch_of_dropped_records_takes_its_turn() -> None:
    records = SubmittedRecords()
    first = records.submit(1, offsets(a=1))
    records.submit(0, offsets(a=2))
    assert committable(records) == []
    ack(first, 1)
    assert committable(records) == [(b"a", b"2")]
