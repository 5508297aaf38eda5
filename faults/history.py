# SPDX-License-Identifier: Apache-2.0
"""The transactions that a partition's log shows. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

Producer = tuple[int, int]
"""A producer's id and epoch."""


class Outcome(Enum):
    """How a transaction ended, as the marker in the log says."""

    ABORT = 0
    COMMIT = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch: its offsets, both inclusive, and who wrote it; a marker has an `outcome`."""

    first: int
    last: int
    producer: Producer
    transactional: bool
    timestamp: int
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Transaction:
    """A producer's run of batches, up to `end`, the marker's offset; open as long as that is None."""

    producer: Producer
    spans: tuple[tuple[int, int], ...]
    outcome: Outcome | None = None
    end: int | None = None

    @property
    def first(self) -> int:
        return self.spans[0][0]

    @property
    def last(self) -> int:
        return self.spans[-1][1]


@dataclass(slots=True)
class Visible:
    """What a read_committed consumer saw of one partition: offsets, and the number that each record carries."""

    offsets: array[int] = field(default_factory=lambda: array("q"))
    seqnos: array[int] = field(default_factory=lambda: array("q"))

    def add(self, offset: int, seqno: int) -> None:
        self.offsets.append(offset)
        self.seqnos.append(seqno)


def transactions(batches: Iterable[Batch]) -> list[Transaction]:
    """All transactions of a partition, in the order of their ends; the open ones come last.

    A client that fences a producer ends its transaction with a later epoch, so a marker belongs to the producer's id.
    """
    ended: list[Transaction] = []
    open: dict[int, Transaction] = {}
    for batch in batches:
        id = batch.producer[0]
        if batch.outcome is not None:
            if id in open:
                ended.append(replace(open.pop(id), outcome=batch.outcome, end=batch.first))
        elif batch.transactional:
            former = open.get(id, Transaction(batch.producer, ()))
            open[id] = replace(former, spans=(*former.spans, (batch.first, batch.last)))
    return [*ended, *open.values()]


def committed(found: Iterable[Transaction]) -> list[Transaction]:
    return [one for one in found if one.outcome is Outcome.COMMIT]
