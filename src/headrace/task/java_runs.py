# SPDX-License-Identifier: Apache-2.0
"""The stages of a chain that Java can do, where other stages need Python: each run of them takes a batch in one call.

The records cross as columns before a run and behind it, those of a Java task only behind the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from headrace.api.errors import ConnectError
from headrace.api.record import SinkRecord
from headrace.java.arrays import WORTH_COLUMNS
from headrace.java.columns_to_records import java_sink_records, java_source_records
from headrace.java.functions import without
from headrace.java.jvm import java_class
from headrace.java.polled_records import PolledRecords
from headrace.java.record_columns import column_contents
from headrace.java.records import with_contents, with_parts
from headrace.java.transformations import JavaTransformation
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.retry_with_tolerance import SKIPPED, RetryWithTolerance
from headrace.task.java_chain import JavaStep, java_steps, recover
from headrace.task.transformation_chain import StageCounts, StageRun, TransformationChain


class JavaRun:
    """``StageRun`` of stages that are all Java's. Task's thread only."""

    def __init__(self, first: int, steps: Sequence[JavaStep], errors: RetryWithTolerance[Any]) -> None:
        self.first = first
        self.end = first + len(steps)
        self._steps = steps
        self._errors = errors

    def apply(self, records: Sequence[Any], originals: Sequence[Any], counts: StageCounts) -> Sequence[Any] | None:
        """Return each record as the stages transform it, None if one drops it or if it is skipped.

        None for all if there are few, or if Java cannot hold one: none has been transformed then.
        """
        if len(records) < WORTH_COLUMNS:
            return None
        try:
            rows = _Rows(records, originals, self._errors)
        except ConnectError:
            return None
        for stage, step in enumerate(self._steps, self.first):
            dropped, skipped = rows.transform(step)
            counts.dropped[stage] += dropped
            counts.skipped[stage] += skipped
        result, skipped = rows.python_records(self._steps[-1])
        counts.skipped[self.end - 1] += skipped
        return result


class _Rows:
    """The Java records of a batch as its steps have left them."""

    def __init__(self, records: Sequence[Any], originals: Sequence[Any], errors: RetryWithTolerance[Any]) -> None:
        """Raise ConnectError if Java cannot hold a record."""
        self._records = records
        self._originals = originals
        self._errors = errors
        self._java = _java_records(records)
        self._places: Sequence[int] = range(len(records))

    def transform(self, step: JavaStep) -> tuple[int, int]:
        """Replace each record by what ``step`` returns; return how many it drops, and how many are skipped."""
        skipped: set[int] = set()
        self._java = step.function(self._java, recover(self._errors, step.operation, self._original, skipped))
        if self._java.indexOf(None) < 0:
            return 0, 0
        gone = {row for row, record in enumerate(self._java.toArray()) if record is None}
        self._places = [place for row, place in enumerate(self._places) if row not in gone]
        self._java = without(self._java, gone)
        return len(gone) - len(skipped), len(skipped)

    def python_records(self, step: JavaStep) -> tuple[list[Any], int]:
        """Return the records with what is in Java's, None for those that are gone; and how many are skipped here.

        One that Python cannot hold is a failure of ``step``, which has made it.
        """
        result: list[Any] = [None] * len(self._records)
        if not self._places:
            return result, 0
        try:
            for place, parts in zip(self._places, column_contents(self._java), strict=True):
                result[place] = with_parts(self._records[place], parts)
            return result, 0
        except ConnectError:
            return self._single_records(result, step)

    def _single_records(self, result: list[Any], step: JavaStep) -> tuple[list[Any], int]:
        skipped = 0
        for row, (place, java) in enumerate(zip(self._places, self._java.toArray(), strict=True)):
            convert = partial(with_contents, self._records[place], java)
            made = self._errors.execute(step.operation, self._original(row), convert)
            skipped += made is SKIPPED
            result[place] = None if made is SKIPPED else made
        return result, skipped

    def _original(self, row: int) -> Any:
        return self._originals[self._places[row]]


def _java_records(records: Sequence[Any]) -> Any:
    """Return a Java list of records. Raise ConnectError if Java cannot hold one."""
    if isinstance(records, PolledRecords):
        return records.java
    of_sink = isinstance(records[0], SinkRecord)
    return java_class("java.util.Arrays").asList((java_sink_records if of_sink else java_source_records)(records))


def chain_with_java_runs(
    assembly: TaskAssembly[Any, Any],
    chain: TransformationChain[Any, Any],
    errors: RetryWithTolerance[Any],
    *,
    java_task: bool,
) -> TransformationChain[Any, Any]:
    """Return ``chain`` with its runs of stages in Java; itself if there are none.

    A stage that both have is part of a run between two of Java's, or before the first stage that only Python has if
    the records are those of a Java task.
    """
    in_java = [isinstance(stage.transformation, JavaTransformation) for stage in chain.stages]
    if not any(in_java) and not java_task:
        return chain
    runs = list(_runs(assembly, chain, errors, java_task=java_task))
    return TransformationChain(chain.stages, errors, runs) if runs else chain


def _runs(
    assembly: TaskAssembly[Any, Any],
    chain: TransformationChain[Any, Any],
    errors: RetryWithTolerance[Any],
    *,
    java_task: bool,
) -> Iterator[StageRun]:
    steps = java_steps(assembly, chain)
    for possible, stages in groupby(range(len(steps)), key=lambda stage: steps[stage] is not None):
        if not possible:
            continue
        run: Sequence[int] = list(stages)
        if not (java_task and run[0] == 0):
            run = _from_java_to_java(chain, run)
        if run:
            yield JavaRun(run[0], [step for stage in run if (step := steps[stage]) is not None], errors)


def _from_java_to_java(chain: TransformationChain[Any, Any], run: Sequence[int]) -> Sequence[int]:
    """Return the part of a run from its first stage in Java to its last; empty if there is none."""
    in_java = [stage for stage in run if isinstance(chain.stages[stage].transformation, JavaTransformation)]
    return range(in_java[0], in_java[-1] + 1) if in_java else ()
