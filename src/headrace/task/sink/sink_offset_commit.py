# SPDX-License-Identifier: Apache-2.0
"""Which offsets a sink task may commit. Pure. Java: the offset maps of ``WorkerSinkTask``.

An offset becomes current only when ``put`` has returned, and is committed only when the task's ``pre_commit``, and so
its ``flush``, has said yes to it (invariant 9).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from headrace.api.sink import OffsetAndMetadata, TopicPartition

Offsets = dict[TopicPartition, OffsetAndMetadata]


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """What to commit, and what of the task's answer was not heeded, in words."""

    offsets: Offsets
    ignored: tuple[str, ...] = ()


@dataclass(slots=True)
class SinkOffsetCommit:
    """Offsets by assigned partition; all are those of the next record.

    ``current``: put. ``committed``: in Kafka, or where the task began. ``in_flight``: sent, and not answered yet.
    Partitions without a committed offset are unknown until their first record.
    """

    current: Offsets = field(default_factory=dict)
    committed: Offsets = field(default_factory=dict)
    in_flight: Offsets | None = None
    _consumed: dict[TopicPartition, int] = field(default_factory=dict)

    def assigned(self, positions: Mapping[TopicPartition, int]) -> None:
        """New partitions begin there."""
        begin = {where: OffsetAndMetadata(offset) for where, offset in positions.items()}
        self.committed |= begin
        self.current |= begin

    def consumed(self, ends: Mapping[TopicPartition, int], begins: Mapping[TopicPartition, int]) -> None:
        """A batch is about to be put: ``begins`` and ``ends`` are its first and next offsets.

        Where nothing was ever committed, the begin is what a rewind goes back to.
        """
        self._consumed.update(ends)
        for where, offset in begins.items():
            self.committed.setdefault(where, OffsetAndMetadata(offset))

    def delivered(self) -> None:
        """``put`` has returned: what was consumed is current."""
        self.current |= {where: OffsetAndMetadata(offset) for where, offset in self._consumed.items()}
        self._consumed.clear()

    def rewound(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The task goes on there, by its own wish."""
        self.assigned(offsets)

    def removed(self, partitions: Collection[TopicPartition]) -> None:
        """They are the task's no more."""
        for where in partitions:
            self.current.pop(where, None)
            self.committed.pop(where, None)
            self._consumed.pop(where, None)

    def to_commit(self, partitions: Collection[TopicPartition] | None = None) -> Offsets:
        """What the task is asked about: the current offsets of these partitions, of all if None."""
        if partitions is None:
            return dict(self.current)
        return {where: self.current[where] for where in partitions if where in self.current}

    def plan(self, asked: Offsets, answer: Mapping[TopicPartition, OffsetAndMetadata]) -> CommitPlan:
        """What to commit of the answer to ``asked``. Nothing that was not put, and nothing that is committed already.

        An offset below the committed one is heeded: the task wants its records again.
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

    def refused(self, asked: Offsets) -> dict[TopicPartition, int]:
        """``pre_commit`` has failed: where each partition goes on, which is what is committed."""
        back = {where: self.committed[where] for where in asked if where in self.committed}
        self.current |= back
        for where in back:
            self._consumed.pop(where, None)
        return {where: committed.offset for where, committed in back.items()}

    def sent(self, offsets: Offsets) -> None:
        self.in_flight = dict(offsets)

    def completed(self, offsets: Mapping[TopicPartition, int], failed: bool) -> bool:
        """The answer to a commit of ``offsets``; False if it is not the one in flight, but one given up before."""
        sent = self.in_flight
        if sent is None or {where: each.offset for where, each in sent.items()} != dict(offsets):
            return False
        self.in_flight = None
        if not failed:
            self.committed |= {where: each for where, each in sent.items() if where in self.current}
        return True

    def given_up(self) -> None:
        """The commit in flight is waited for no more; it may succeed all the same."""
        self.in_flight = None
