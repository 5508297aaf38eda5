# SPDX-License-Identifier: Apache-2.0
"""The frame jobs of previews: those that a task reads by, and those of its steps, with plan and records of rows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.frames import FrameJob, Frames
from headrace.inspection.preview.step_functions import EXPLAIN, MAX_ROWS, OF_BATCH, OF_EACH, PLAN, RECORD, WHOLE

if TYPE_CHECKING:
    import pyarrow as pa


class OfferedFrames(Frames):
    """Frames that the worker has offered to this process: Spark is asked for when a step needs it. One thread."""

    def __init__(self, offer: Mapping[str, Any] | None) -> None:
        """``offer`` names the function that returns the frames, and its settings; None if there is no Spark."""
        self._offer = offer
        self._connected: Frames | None = None

    def prepare(self) -> None:
        """Have Spark start. An error is raised again by each job."""
        with suppress(RetriableError):
            self._frames()

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        try:
            return self._frames().run(job, table)
        except OSError as error:
            raise RetriableError(f"Spark cannot be reached: {error}") from error

    def stream(self, job: FrameJob) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        return self._frames().stream(job)

    def _frames(self) -> Frames:
        if self._offer is None:
            raise RetriableError("this worker has no Spark for previews")
        if self._connected is None:
            module, _, function = self._offer["function"].partition(":")
            self._connected = getattr(importlib.import_module(module), function)(self._offer["settings"])
        connected: Frames = self._connected
        return connected


class ReadingFrames(Frames):
    """The jobs of a previewed task: what would change something outside is not run, and noted. One thread."""

    def __init__(self, frames: Frames, note: Callable[[str], None]) -> None:
        self._frames = frames
        self._note = note

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        if job.changes:
            return self._left_out(job)
        return self._frames.run(job, table)

    def stream(self, job: FrameJob) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        return self._frames.stream(job)

    def _left_out(self, job: FrameJob) -> pa.Table:
        import pyarrow as pa

        self._note(f"A preview changes nothing, so this was not done: {job.description}")
        return pa.table({})


class StepFrames(Frames):
    """The jobs of one step. ``run`` is for its batches; ``origins`` names the records of the rows. One thread."""

    def __init__(self, frames: Frames, show_plan: Callable[[str], None], *, each: bool) -> None:
        """``each``: each record is a batch of its own. ``show_plan`` gets the step's plan, once."""
        self._frames = frames
        self._show_plan: Callable[[str], None] | None = show_plan
        self._each = each
        self._begin = 0
        self.origins: list[int] = []
        """For each row since ``reset`` the number of its record, if ``each``."""
        self.combined: list[range] = []
        """The records since ``reset`` of which a query made its rows together; these count as rows of the last one."""

    def reset(self) -> None:
        """Begin with another batch."""
        self._begin, self.origins, self.combined = 0, [], []

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        assert table is not None
        self._explain(job, table)
        result = self._frames.run(replace(job, function=OF_EACH if self._each else OF_BATCH), table)
        if result.num_rows > MAX_ROWS:
            raise RetriableError(f"it makes more than {MAX_ROWS:,} rows of these records, which are not shown")
        if not self._each:
            return result
        batch, numbers = range(self._begin, self._begin + table.num_rows), result.column(RECORD).to_pylist()
        if WHOLE in numbers:
            self.combined.append(batch)
        self.origins += [batch[number] for number in numbers]
        self._begin = batch.stop
        return result.drop_columns([RECORD])

    def stream(self, job: FrameJob) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        return self._frames.stream(job)

    def _explain(self, job: FrameJob, table: pa.Table) -> None:
        """Show the plan; what fails here fails the step as well, which reports it."""
        if self._show_plan is not None:
            with suppress(ConnectError):
                plan = self._frames.run(replace(job, function=EXPLAIN), table)
                self._show_plan(plan.column(PLAN)[0].as_py())
                self._show_plan = None
