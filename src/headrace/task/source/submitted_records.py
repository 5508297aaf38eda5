# SPDX-License-Identifier: Apache-2.0
"""In-order acknowledgement: which offsets may be committed while records are still in flight. Pure.

Java: ``SubmittedRecords`` (KAFKA-12226). Here the unit is a polled batch, so that nothing is kept per record.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from headrace.task.source.source_offsets import OffsetsByKey


@dataclass(slots=True)
class SubmittedBatch:
    """A batch on its way: done when ``unacked`` is 0."""

    unacked: int
    offsets: OffsetsByKey = field(default_factory=dict)

    def ack(self, topic: str, partition: int, offset: int, timestamp: int | None) -> None:
        """One of its records is delivered."""
        self.unacked -= 1


class SubmittedRecords:
    """The task's thread only, which also runs the delivery callbacks."""

    def __init__(self) -> None:
        self._batches: deque[SubmittedBatch] = deque()

    def submit(self, size: int, offsets: OffsetsByKey) -> SubmittedBatch:
        """A batch that is about to be sent; size 0 (all dropped) counts as delivered in its turn."""
        batch = SubmittedBatch(size, offsets)
        self._batches.append(batch)
        return batch

    def committable(self) -> OffsetsByKey:
        """Offsets of the longest run of delivered batches; forgets those batches.

        An offset behind a batch that is still in flight waits, whatever its partition: a record is never skipped.
        """
        offsets: OffsetsByKey = {}
        while self._batches and self._batches[0].unacked == 0:
            for key, offset in self._batches.popleft().offsets.items():
                offsets.pop(key, None)
                offsets[key] = offset
        return offsets

    @property
    def in_flight(self) -> int:
        """Records not yet delivered."""
        return sum(batch.unacked for batch in self._batches)
