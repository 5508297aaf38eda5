# SPDX-License-Identifier: Apache-2.0
"""A step of a chain that transforms batches by frame jobs, and its retries and error tolerance."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from headrace.api.errors import ConfigError, DataError, RetriableError
from headrace.api.frame_transform import FrameTransformation
from headrace.api.frames import FrameJob, Frames
from headrace.api.record_frames import FUNCTION, STEP, VARIANTS
from headrace.config.connector_config import ErrorHandling, PluginStage
from headrace.kafka.errors import RetriableKafkaError
from headrace.model.backoff import ExponentialBackoff
from headrace.model.health import Stage as TaskStage
from headrace.model.step_counts import StepKind
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.errors.processing_context import O, Operation, Stage
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, StoppedWhileRetryingError
from headrace.task.task_steps import Step

if TYPE_CHECKING:
    import pyarrow as pa

B = TypeVar("B", bound=Sized)
_FIRST_DELAY: Final = 0.3


class FrameJobNotRunError(RetriableKafkaError):
    """A frame job cannot be run now. Nothing of its batch was written, so it can be read again without loss."""


@dataclass(frozen=True, slots=True)
class FrameInput(Generic[B]):
    """A batch of records with one type of key and one of value, as the table that a frame job reads.

    ``json`` are the columns without a schema, which are JSON. ``records`` returns the job's result as a batch again;
    DataError for rows that are no records.
    """

    table: pa.Table
    json: tuple[str, ...]
    records: Callable[[pa.Table], B]


class Tables(Protocol[B]):
    """Converts batches to the tables that frame jobs read."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Settings of jobs that describe the records, in addition to a step's own."""

    def inputs(self, batch: B) -> list[FrameInput[B]]:
        """Return the inputs of a batch, in order; together they are all of it. DataError."""


class FrameRunner:
    """Runs frame jobs, again while Spark is at fault, as ``errors.retry.*`` say. Task's thread only.

    ``wait`` waits for so many seconds and returns True at once when the task is to stop.
    """

    def __init__(
        self,
        frames: Frames,
        handling: ErrorHandling,
        wait: Callable[[float], bool],
        clock: Callable[[], float] = time.monotonic,
        reports: ErrorReports | None = None,
    ) -> None:
        self._reports = reports or ErrorReports()
        self._frames = frames
        self._handling = handling
        self._wait = wait
        self._clock = clock

    def run_job(self, name: str, job: FrameJob, table: pa.Table, counts: Step) -> pa.Table:
        """Return the result of ``job`` on ``table``. ``name`` is the step's, for messages; ``counts`` has its retries.

        Raises:
            FrameJobNotRunError: the job could not be run for ``errors.retry.timeout``.
            StoppedWhileRetryingError: the task is to stop meanwhile.
            ConfigError, DataError: the step or the batch is at fault.
        """
        timeout = self._handling.retry_timeout
        pauses = ExponentialBackoff(_FIRST_DELAY, self._handling.retry_max_delay).pauses()
        deadline = None if timeout is None else self._clock() + timeout
        while True:
            try:
                result = self._frames.run(job, table)
                self._reports.succeeded(name)
                return result
            except RetriableError as error:
                counts.retries += 1
                if deadline is not None and self._clock() >= deadline:
                    raise FrameJobNotRunError(f"{name} could not be run: {error}") from error
                delay = next(pauses)
                line = f"{name} could not be run and is tried again in {delay:.1f} s: {error}"
                self._reports.retried(name, TaskStage.CONVERTING, error, line, delay=delay)
            except ConfigError as error:
                raise ConfigError(f"{name}: {error}", name) from error
            except DataError as error:
                raise DataError(f"{name}: {error}") from error
            if self._wait(delay):
                raise StoppedWhileRetryingError(f"stopped while {name} was tried again")


class FrameStep(Generic[B]):
    """Applies one transformation to batches, cut where the types of keys or values change. Task's thread only."""

    def __init__(
        self,
        alias: str,
        transformation: FrameTransformation[Any],
        runner: FrameRunner,
        tables: Tables[B],
        counts: Step | None = None,
    ) -> None:
        """``transformation`` has to be configured. ``counts`` are the step's in its task."""
        self._name = f"transforms.{alias}"
        self._transformation = transformation
        self._runner = runner
        self._tables = tables
        self.counts = counts or Step(StepKind.TRANSFORMATION, alias)
        self.counts.filters = False  # a row is not made of one record
        job = transformation.job()
        settings = {**job.settings, **tables.settings, STEP: job.function}
        self._job = replace(job, function=FUNCTION, settings=settings, description=_description(alias, job))

    def apply(self, batch: B) -> list[B]:
        """Return the transformed batches, in order. Errors are those of ``FrameRunner.run_job``."""
        results = [self._transform(each) for each in self._tables.inputs(batch)]
        self.counts.passed(len(batch), sum(map(len, results)))
        return [result for result in results if len(result)]

    def close(self) -> None:
        self._transformation.close()

    def _transform(self, batch: FrameInput[B]) -> B:
        job = replace(self._job, settings={**self._job.settings, VARIANTS: ",".join(batch.json)})
        result = self._runner.run_job(self._name, job, batch.table, self.counts)
        try:
            return batch.records(result)
        except DataError as error:
            raise DataError(f"{self._name}: {error}") from error


def _description(alias: str, job: FrameJob) -> str:
    return f"{alias}: {job.description}" if job.description else alias


class StrictStep(Generic[B]):
    """A step in a chain that tolerates no errors, which counts the one that ends the attempt. Task's thread only."""

    def __init__(self, step: FrameStep[B]) -> None:
        self._step = step

    def apply(self, batch: B) -> list[B]:
        """Return the transformed batches, in order. Errors are those of ``FrameStep.apply``."""
        try:
            return self._step.apply(batch)
        except (ConfigError, DataError):
            self._step.counts.errors += 1
            raise

    def close(self) -> None:
        self._step.close()


class TolerantStep(Generic[B]):
    """A step in a chain that tolerates errors (KIP-298): finds the records that fail, and skips them.

    A batch that fails is tried again in halves, and these in halves, down to the record that fails by itself: one in a
    thousand costs twenty more jobs. Task's thread only.
    """

    def __init__(self, step: FrameStep[B], skip: Callable[[B, DataError], None]) -> None:
        """``skip`` is called with a batch of one record, and raises if that cannot be tolerated."""
        self._step = step
        self._skip = skip

    def apply(self, batch: B) -> list[B]:
        """Return the transformed batches, in order, without the records that fail.

        Other errors are those of ``FrameStep.apply``.
        """
        try:
            return self._step.apply(batch)
        except DataError as error:
            if len(batch) == 1:
                self._skip(batch, error)
                self._step.counts.passed(1, 0)
                return []
        first, rest = _halves(batch)
        return [*self.apply(first), *self.apply(rest)]

    def close(self) -> None:
        self._step.close()


def operation_of(stage: PluginStage, plugins: Plugins) -> Operation:
    """Return the operation that failures of a step are reported as."""
    cls = plugins.transformation(stage.type, f"transforms.{stage.alias}.type")
    return Operation(Stage.TRANSFORMATION, plugins.class_name(PluginKind.TRANSFORMATION, cls), stage.alias)


def create_skip(
    stage: PluginStage, plugins: Plugins, errors: RetryWithTolerance[O], original: Callable[[Any], O]
) -> Callable[[Any, DataError], None]:
    """Return the ``skip`` of a ``TolerantStep`` that applies ``errors``.

    ``original`` returns the record that a batch of one is reported as.
    """
    operation = operation_of(stage, plugins)

    def skip(batch: Any, error: DataError) -> None:
        def failed() -> None:
            raise error

        errors.execute(operation, original(batch), failed)

    return skip


def _halves(batch: Any) -> tuple[Any, Any]:
    """Return both halves of a batch of records or of an Arrow table."""
    middle = len(batch) // 2
    if isinstance(batch, Sequence):
        return batch[:middle], batch[middle:]
    return batch.slice(0, middle), batch.slice(middle)
