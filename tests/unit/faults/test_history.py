# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from faults.history import Batch, Outcome, Transaction, committed, transactions


def records(first: int, last: int, producer: tuple[int, int]) -> Batch:
    return Batch(first, last, producer, True, 0)


def marker(offset: int, producer: tuple[int, int], outcome: Outcome) -> Batch:
    return Batch(offset, offset, producer, True, 0, outcome)


def test_batches_become_transactions_in_the_order_of_their_ends() -> None:
    found = transactions(
        [
            records(0, 4, (1, 0)),
            records(5, 5, (2, 0)),
            records(6, 9, (1, 0)),
            marker(10, (2, 0), Outcome.ABORT),
            marker(11, (1, 0), Outcome.COMMIT),
            records(12, 12, (1, 0)),
        ]
    )
    assert found == [
        Transaction((2, 0), ((5, 5),), Outcome.ABORT, 10),
        Transaction((1, 0), ((0, 4), (6, 9)), Outcome.COMMIT, 11),
        Transaction((1, 0), ((12, 12),)),
    ]
    assert committed(found) == [found[1]]
    assert (found[1].first, found[1].last) == (0, 9)


def test_the_one_who_fences_ends_the_transaction_with_a_later_epoch() -> None:
    found = transactions([records(0, 1, (1, 0)), marker(2, (1, 1), Outcome.ABORT), records(3, 3, (1, 1))])
    assert [one.outcome for one in found] == [Outcome.ABORT, None]


def test_markers_without_records_and_plain_records_are_no_transactions() -> None:
    assert transactions([marker(0, (1, 0), Outcome.COMMIT), Batch(1, 5, (-1, -1), False, 0)]) == []
