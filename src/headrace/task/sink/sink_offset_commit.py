# SPDX-License-Identifier: Apache-2.0
"""The offsets that a sink task may commit. Pure. Java: the offset maps of ``WorkerSinkTask``.

An offset becomes current only when ``put`` has returned, and is committed only when the task's ``pre_commit``, and so
its ``flush``, has returned it (invariant 9).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from headrace.api.sink import OffsetAndMetadata, TopicPartition

Offsets = dict[TopicPartition, OffsetAndMetadata]


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """The offsets to commit, and those of the task's answer that were ignored, in words."""

    offsets: Offsets
    ignored: tuple[str, ...] = ()


@dataclass(slots=True)
class SinkOffsetCommit:
    """Offsets by assigned partition; all are those of the next record.

    ``current``: put. ``committed``: in Kafka, or those the task began at. ``in_flight``: sent, and not answered yet.
    Partitions without a committed offset are unknown until their first record.
    """

    current: Offsets = field(default_factory=dict)
    committed: Offsets = field(default_factory=dict)
    in_flight: Offsets | None = None
    _consumed: dict[TopicPartition, int] = field(default_factory=dict)

    def add_partitions(self, positions: Mapping[TopicPartition, int]) -> None:
        """Begin new partitions at these positions."""
        begin = {where: OffsetAndMetadata(offset) for where, offset in positions.items()}
        self.committed |= begin
        self.current |= begin

    def record_consumed(self, ends: Mapping[TopicPartition, int], begins: Mapping[TopicPartition, int]) -> None:
        """Note a batch that is about to be put: ``begins`` and ``ends`` are its first and next offsets.

        Where nothing was ever committed, a rewind goes back to the first offset.
        """
        self._consumed.update(ends)
        for where, offset in begins.items():
            self.committed.setdefault(where, OffsetAndMetadata(offset))

    @property
    def active(self) -> int:
        """The number of records, by offsets, that are put and not committed yet."""
        return sum(
            max(0, put.offset - self.committed[where].offset)
            for where, put in self.current.items()
            if where in self.committed
        )

    def position(self, where: TopicPartition) -> int | None:
        """Return the next offset to consume of a partition; None while it is not known."""
        put = self.current.get(where)
        return self._consumed.get(where, put.offset if put is not None else None)

    def record_put(self) -> None:
        """Make the consumed offsets current, after ``put`` has returned."""
        self.current |= {where: OffsetAndMetadata(offset) for where, offset in self._consumed.items()}
        self._consumed.clear()

    def rewind(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Continue at these offsets, as the task has asked for."""
        self.add_partitions(offsets)

    def remove_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Forget partitions that are no longer the task's."""
        for where in partitions:
            self.current.pop(where, None)
            self.committed.pop(where, None)
            self._consumed.pop(where, None)

    def to_commit(self, partitions: Collection[TopicPartition] | None = None) -> Offsets:
        """Return the offsets for ``pre_commit``: the current ones of these partitions, of all if None."""
        if partitions is None:
            return dict(self.current)
        return {where: self.current[where] for where in partitions if where in self.current}

    def plan(self, asked: Offsets, answer: Mapping[TopicPartition, OffsetAndMetadata]) -> CommitPlan:
        """Return what to commit of the answer to ``asked``: only what was put, and is not committed already.

        An offset below the committed one counts: the task wants its records again.
        """
        offsets: Offsets = {}
        ignored = []
        for where, offered in answer.items():
            if where not in asked:
                reason = "it was not asked about" if where in self.current else "it is not assigned"
                ignored.append(f"offset {offered.offset} of {where}: {reason}")
            elif offered.offset > asked[where].offset:
                ignored.append(f"offset {offered.offset} of {where}: only those below {asked[where].offset} were put")
            elif offered != self.committed.get(where):
                offsets[where] = offered
        return CommitPlan(offsets, tuple(ignored))

    def rewind_to_committed(self, asked: Offsets) -> dict[TopicPartition, int]:
        """Go back to the committed offsets, after ``pre_commit`` has failed, and return them."""
        back = {where: self.committed[where] for where in asked if where in self.committed}
        self.current |= back
        for where in back:
            self._consumed.pop(where, None)
        return {where: committed.offset for where, committed in back.items()}

    def begin_commit(self, offsets: Offsets) -> None:
        """Note a commit that is now in flight."""
        self.in_flight = dict(offsets)

    def complete_commit(self, offsets: Mapping[TopicPartition, int], failed: bool) -> bool:
        """Note the answer to a commit of ``offsets``; return False if it is not in flight, but was given up before."""
        sent = self.in_flight
        if sent is None or {where: each.offset for where, each in sent.items()} != dict(offsets):
            return False
        self.in_flight = None
        if not failed:
            self.committed |= {where: each for where, each in sent.items() if where in self.current}
        return True

    def abandon_commit(self) -> None:
        """Stop waiting for the commit in flight, which may still succeed."""
        self.in_flight = None
