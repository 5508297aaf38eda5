# SPDX-License-Identifier: Apache-2.0
"""Counts what each step of a task's data path does with the task's records."""

from __future__ import annotations

from dataclasses import replace

from headrace.model.step_counts import StepCounts, StepKind


class Step:
    """The counts of one step, which are those of ``StepCounts``. Task's thread only.

    Added to per batch; per record only for one that fails.
    """

    __slots__ = ("alias", "errors", "filtered", "filters", "kind", "records_in", "records_out", "retries")

    def __init__(self, kind: StepKind, alias: str | None = None) -> None:
        self.kind = kind
        self.alias = alias
        self.filters = kind is StepKind.TRANSFORMATION
        """True if ``filtered`` is known."""
        self.records_in = self.records_out = self.filtered = self.errors = self.retries = 0

    def passed(self, records: int, results: int, filtered: int = 0) -> None:
        """Count a batch that the step is done with; ``filtered`` of its records were dropped."""
        self.records_in += records
        self.records_out += results
        self.filtered += filtered

    def counts(self) -> StepCounts:
        filtered = self.filtered if self.filters else None
        return StepCounts(self.kind, self.alias, self.records_in, self.records_out, filtered, self.errors, self.retries)


class TaskSteps:
    """The steps of one task. Task's thread only."""

    def __init__(self, *, sink: bool = False) -> None:
        self.connector = Step(StepKind.SINK if sink else StepKind.SOURCE)
        """The source or sink itself."""
        self._transformations: dict[str | None, Step] = {}
        """By alias, in the order of the chain, which is created in that order."""
        self._converter = Step(StepKind.CONVERTER)
        self._topic = Step(StepKind.TOPIC)

    def of(self, kind: StepKind, alias: str | None = None) -> Step:
        """Return a step; ``alias`` is a transformation's, which is created unless it is known."""
        match kind:
            case StepKind.TRANSFORMATION:
                return self._transformations.setdefault(alias, Step(kind, alias))
            case StepKind.CONVERTER:
                return self._converter
            case StepKind.TOPIC:
                return self._topic
            case _:
                return self.connector

    def converted(self, records: int, results: int) -> None:
        """Count a batch that the converters are done with: a source's goes to topics, a sink's came from them."""
        self._converter.passed(records, results)
        self._topic.passed(results, records)

    def counts(self) -> tuple[StepCounts, ...]:
        """Return the counts of all steps in the order in which records pass them."""
        steps = [self.connector, *self._transformations.values(), self._converter, self._topic]
        if self.connector.kind is StepKind.SINK:
            steps = [self._topic, self._converter, *self._transformations.values(), self.connector]
        first, *others, last = (step.counts() for step in steps)
        return (replace(first, records_in=None), *others, replace(last, records_out=None))
