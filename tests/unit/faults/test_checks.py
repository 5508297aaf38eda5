# SPDX-License-Identifier: Apache-2.0
"""Bad histories, each of which one check has to find."""

from __future__ import annotations

from collections.abc import Iterable

from faults.checks import marks, none_open, numbers, one_writer, prefixes, visibility
from faults.history import Outcome, Producer, Transaction, Visible

OLD, NEW, OTHER = (7, 0), (7, 1), (9, 0)


def visible(*seqnos: int, offsets: Iterable[int] | None = None) -> Visible:
    found = Visible()
    for offset, seqno in zip(range(len(seqnos)) if offsets is None else offsets, seqnos, strict=True):
        found.add(offset, seqno)
    return found


def commit(producer: Producer, *spans: tuple[int, int]) -> Transaction:
    return Transaction(producer, spans, Outcome.COMMIT, spans[-1][1] + 1)


def test_numbers() -> None:
    assert numbers(visible(0, 1, 2), 2) == []
    assert numbers(visible(), -1) == []
    assert (
        "2 of 4 records are not where they belong, 1 come twice; the first is 1 where 2"
        in numbers(visible(0, 1, 1, 2), 3)[0]
    )
    assert "the first is 2 where 1 belongs" in numbers(visible(0, 2), 1)[0]
    assert "3 records are visible, but the committed source offset is 1" in numbers(visible(0, 1, 2), 1)[0]
    assert "2 records are visible, but the committed source offset is 2" in numbers(visible(0, 1), 2)[0]
    assert "1 aborted records are visible, the first is -4" in numbers(visible(0, -4, 1), 1)[0]


# Offsets 2 and 6 are markers'.
SEEN = visible(0, 1, 2, 3, 4, offsets=(0, 1, 3, 4, 5))
DATA = [commit(OLD, (0, 1)), commit(NEW, (3, 4), (5, 5))]


def test_each_commit_has_its_offset_record() -> None:
    assert marks(SEEN, DATA) == [(OLD, 1), (NEW, 4)]
    assert prefixes(SEEN, DATA, [(OLD, 1), (NEW, 4)]) == []
    assert prefixes(SEEN, DATA, [(OLD, 1), (OLD, 1), (NEW, 4), (NEW, 4)]) == []
    assert prefixes(visible(), [], [(OLD, -1)]) == []


def test_an_offset_record_that_does_not_fit_is_found() -> None:
    for offsets in (
        [(OLD, 1)],  # a commit without
        [(NEW, 4)],
        [(OLD, 1), (NEW, 3)],  # one that says less than is visible
        [(OLD, 1), (NEW, 4), (NEW, 9)],  # one without its records
        [(OLD, 1), (OLD, 4)],  # one of another producer
    ):
        assert "but the offset record says" in prefixes(SEEN, DATA, offsets)[0]
    assert "goes back from 4 to 1" in prefixes(SEEN, DATA, [(OLD, 1), (NEW, 4), (OLD, 1)])[0]


def test_what_is_visible_is_what_is_committed() -> None:
    assert visibility(SEEN, DATA) == []
    assert visibility(SEEN, DATA[:1]) != []
    assert visibility(SEEN, [*DATA, commit(NEW, (8, 9))]) != []
    aborted = Transaction(NEW, ((8, 9),), Outcome.ABORT, 10)
    assert visibility(SEEN, [*DATA, aborted]) == []


def test_writers_take_turns() -> None:
    turns = [
        commit(OLD, (0, 1)),
        commit(OLD, (3, 3)),
        commit(NEW, (5, 6)),
        commit(OTHER, (8, 9)),
        commit((7, 2), (11, 11)),
    ]
    assert one_writer(turns) == []


def test_a_writer_that_comes_back_is_found() -> None:
    problems = one_writer([commit(OLD, (0, 1)), commit(NEW, (3, 4)), commit(OLD, (6, 7))])
    assert any("with epoch 0 after 1" in problem for problem in problems)
    assert any("after its successor" in problem for problem in problems)
    assert one_writer([commit(OLD, (0, 1)), commit(OTHER, (3, 4)), commit(OLD, (6, 7))]) != []


def test_two_that_write_at_once_are_found() -> None:
    first = Transaction(OLD, ((0, 1), (4, 4)), Outcome.COMMIT, 6)
    second = Transaction(OTHER, ((2, 3),), Outcome.COMMIT, 5)
    assert "within" in one_writer([first, second])[0]
    aborted = Transaction(OTHER, ((2, 3),), Outcome.ABORT, 5)
    assert one_writer([first, aborted]) == []


def test_a_hanging_transaction_is_found() -> None:
    assert none_open(DATA) == []
    assert none_open([*DATA, Transaction(NEW, ((9, 9),))]) == [f"{NEW} has an open transaction since offset 9"]
