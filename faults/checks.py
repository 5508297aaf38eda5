# SPDX-License-Identifier: Apache-2.0
"""What must hold after a run, each a pure function from what was seen to what is wrong with it.

A partition of the topic holds what one source partition gave: the numbers 0, 1, 2, …, whichever tasks wrote them. A
record that its task has aborted carries a negative number. Invariants: 1, 2, 3 and 5.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise, zip_longest

from faults.history import Producer, Transaction, Visible, committed

Marked = tuple[Producer, int]
"""Who committed, and the source offset up to which."""


def numbers(visible: Visible, offset: int) -> list[str]:
    """The visible numbers are 0 to `offset`, the committed source offset (-1: none), each once and in order."""
    problems = []
    aborted = [seqno for seqno in visible.seqnos if seqno < 0]
    if aborted:
        problems.append(f"{len(aborted)} aborted records are visible, the first is {aborted[0]}")
    wrong = [(place, seqno) for place, seqno in enumerate(visible.seqnos) if place != seqno]
    if wrong:
        repeated = len(visible.seqnos) - len(set(visible.seqnos))
        place, seqno = wrong[0]
        problems.append(
            f"{len(wrong)} of {len(visible.seqnos)} records are not where they belong, {repeated} come twice; "
            f"the first is {seqno} where {place} belongs"
        )
    if len(visible.seqnos) != offset + 1:
        problems.append(f"{len(visible.seqnos)} records are visible, but the committed source offset is {offset}")
    return problems


def prefixes(visible: Visible, data: Sequence[Transaction], offsets: Sequence[Marked]) -> list[str]:
    """Each offset record has just what its own transaction made visible, and each transaction has one (invariant 1).

    `offsets` are the visible offset records of the source partition, in the log's order; those that repeat the last
    one are of transactions without records.
    """
    recorded: list[Marked] = []
    problems = []
    last = -1
    for producer, seqno in offsets:
        if seqno < last:
            problems.append(f"the source offset goes back from {last} to {seqno}")
        if seqno > last:
            recorded.append((producer, seqno))
        last = seqno
    made = marks(visible, data)
    for place, (mark, offset) in enumerate(zip_longest(made, recorded)):
        if mark != offset:
            problems.append(
                f"commit {place} makes visible (producer, up to) {mark}, but the offset record says {offset}"
            )
            break
    return problems


def marks(visible: Visible, data: Sequence[Transaction]) -> list[Marked]:
    """For each committed transaction who wrote it, and the number of its last record."""
    found = []
    for one in sorted(committed(data), key=lambda transaction: transaction.last):
        place = bisect_right(visible.offsets, one.last) - 1
        found.append((one.producer, visible.seqnos[place] if place >= 0 else -1))
    return found


def visibility(visible: Visible, data: Sequence[Transaction]) -> list[str]:
    """A consumer sees the records of committed transactions, and no others."""
    expected = {offset for one in committed(data) for first, last in one.spans for offset in range(first, last + 1)}
    different = expected.symmetric_difference(visible.offsets)
    return (
        [f"{len(different)} offsets are visible but not committed, or committed but not visible"] if different else []
    )


def one_writer(data: Sequence[Transaction]) -> list[str]:
    """Writers take turns: none commits again once another has, nor while another one's commit is open (invariant 2)."""
    problems = []
    turns = sorted(committed(data), key=lambda transaction: transaction.first)
    former: set[Producer] = set()
    epochs: dict[int, int] = {}
    for one in turns:
        id, epoch = one.producer
        if epoch < epochs.get(id, epoch):
            problems.append(f"producer {id} commits at offset {one.first} with epoch {epoch} after {epochs[id]}")
        epochs[id] = max(epoch, epochs.get(id, epoch))
    for one, following in pairwise(turns):
        if following.first < (one.end or 0) and following.producer != one.producer:
            problems.append(
                f"{following.producer} writes at {following.first} what it commits, within {one.producer}'s"
            )
        if following.producer != one.producer:
            former.add(one.producer)
            if following.producer in former:
                problems.append(f"{following.producer} commits at {following.first} after its successor {one.producer}")
    return problems


def none_open(data: Sequence[Transaction]) -> list[str]:
    """No transaction is left hanging."""
    return [f"{one.producer} has an open transaction since offset {one.first}" for one in data if one.outcome is None]
