# SPDX-License-Identifier: Apache-2.0
"""What a connector of `journaled_source` has to be after requests, and what its records have to be. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

RUNNING, PAUSED, STOPPED = "RUNNING", "PAUSED", "STOPPED"
PARTITIONS = 3
"""Source partitions, and partitions of the output topic."""


class Written(NamedTuple):
    """A visible record of one source partition."""

    seqno: int
    label: int
    start: str
    """Which start of which task wrote it."""


@dataclass(frozen=True, slots=True)
class Cut:
    """From a place in a source partition's records on the sequence begins at `next`.

    The place is the first record from index `index` on, or the first of a label that is `label` or newer.
    """

    next: int
    index: int | None = None
    label: int | None = None

    def reached(self, index: int, record: Written) -> bool:
        return index >= self.index if self.index is not None else record.label >= (self.label or 0)


@dataclass(frozen=True, slots=True)
class Model:
    """A connector as it is once everything asked for so far has been done."""

    exists: bool = False
    state: str = RUNNING
    label: int = 0
    """Of the newest configuration; each has one of its own."""
    tasks: int = 0
    """How many the newest configuration comes to."""
    task_label: int = 0
    """Of the configuration that the newest tasks were made from."""
    running: int = 0
    """How many tasks there are, also if they are paused."""
    cuts: Mapping[int, tuple[Cut, ...]] = field(default_factory=dict)

    def created(self, state: str, tasks_max: int) -> Model:
        """As in Kafka Connect, a connector that is created PAUSED has no tasks until it is resumed."""
        made = replace(self, exists=True, state=state, label=self.label + 1, tasks=min(tasks_max, PARTITIONS))
        return made._with_tasks() if state == RUNNING else replace(made, running=0)

    def configured(self, tasks_max: int) -> Model:
        """What is paused keeps its tasks with their configurations until it is resumed."""
        changed = replace(self, label=self.label + 1, tasks=min(tasks_max, PARTITIONS))
        return changed._with_tasks() if self.state == RUNNING else changed

    def paused(self) -> Model:
        return replace(self, state=PAUSED)

    def resumed(self) -> Model:
        return replace(self, state=RUNNING)._with_tasks()

    def stopped(self) -> Model:
        return replace(self, state=STOPPED, running=0)

    def deleted(self, with_offsets: bool) -> Model:
        """With its offsets: whatever is created next begins at 0."""
        gone = replace(self, exists=False, state=RUNNING, running=0)
        return gone.cut(dict.fromkeys(range(PARTITIONS), Cut(0, label=self.label + 1))) if with_offsets else gone

    def cut(self, cuts: Mapping[int, Cut]) -> Model:
        return replace(self, cuts={**self.cuts, **{p: (*self.cuts.get(p, ()), cut) for p, cut in cuts.items()}})

    def _with_tasks(self) -> Model:
        return replace(self, running=self.tasks, task_label=self.label)

    # ---- what must be seen

    def statuses(self, name: str) -> dict[str, str]:
        """The keys of the status topic that have a value, with the state of each."""
        if not self.exists:
            return {}
        tasks = {f"status-task-{name}-{task}": self.state for task in range(self.running)}
        return {f"status-connector-{name}": self.state, **tasks}

    def offsets(self, records: Mapping[int, Sequence[Written]]) -> dict[int, int]:
        """The committed source offsets by these visible records: the last one's, or what they were changed to."""
        found = {}
        for partition in range(PARTITIONS):
            written = records.get(partition, ())
            last = written[-1].seqno if written else -1
            for cut in self.cuts.get(partition, ()):
                if not any(cut.reached(index, record) for index, record in enumerate(written)):
                    last = cut.next - 1
            if last >= 0:
                found[partition] = last
        return found

    def disorder(self, records: Mapping[int, Sequence[Written]]) -> list[str]:
        """What is wrong with the visible records: each next one is due, and written by a task that may write."""
        return [
            f"partition {partition}: {problem}"
            for partition, written in sorted(records.items())
            for problem in _disorder(written, self.cuts.get(partition, ()), self.task_label)
        ]


def _disorder(written: Sequence[Written], cuts: Sequence[Cut], newest: int) -> list[str]:
    due, former = 0, set[str]()
    pending = list(cuts)
    last: Written | None = None
    for index, record in enumerate(written):
        while pending and pending[0].reached(index, record):
            due = pending.pop(0).next
        around = f"at {index}, after {last}"
        if record.seqno != due:
            return [f"{record} where {due} is due, {around}"]
        if last is not None and record.start != last.start:
            former.add(last.start)
        if record.start in former:
            return [f"{record} is written after its task's successor has begun, {around}"]
        if record.label > newest or (last is not None and record.label < last.label):
            return [f"{record} is of a configuration that has no tasks now, {around}; the newest is {newest}"]
        last, due = record, due + 1
    return []
