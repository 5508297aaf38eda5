# SPDX-License-Identifier: Apache-2.0
"""One step of a chain that transforms batches by frame jobs."""

from __future__ import annotations

import logging
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
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import O, Operation, Stage
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, StoppedWhileRetryingError

if TYPE_CHECKING:
    import pyarrow as pa

B = TypeVar("B", bound=Sized)
_log = logging.getLogger(__name__)
_FIRST_DELAY: Final = 0.3


class FrameJobNotRunError(RetriableKafkaError):
    """A frame job cannot be run now. Nothing of its batch was written: whoever reads it again loses nothing."""


@dataclass(frozen=True, slots=True)
class FrameInput(Generic[B]):
    """A batch of records with one type of key and one of value. ``json``: the columns that are JSON, of no schema.

    ``records`` makes of the job's result what goes on. DataError for rows that are no records.
    """

    table: pa.Table
    json: tuple[str, ...]
    records: Callable[[pa.Table], B]


class Tables(Protocol[B]):
    """Batches as what steps on frames are given."""

    @property
    def settings(self) -> Mapping[str, str]:
        """What jobs are told of the records, beside a step's own settings."""

    def inputs(self, batch: B) -> list[FrameInput[B]]:
        """In order; together all of the batch. DataError."""


class FrameRunner:
    """Runs frame jobs again while they fail for Spark's sake, as ``errors.retry.*`` say. Task's thread only.

    ``wait`` waits for so many seconds and returns True at once when the task is to stop.
    """

    def __init__(
        self,
        frames: Frames,
        handling: ErrorHandling,
        wait: Callable[[float], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._frames = frames
        self._handling = handling
        self._wait = wait
        self._clock = clock

    def run(self, name: str, job: FrameJob, table: pa.Table) -> pa.Table:
        """``name`` is the step's, for messages.

        Raises:
            FrameJobNotRunError: as long as ``errors.retry.timeout``.
            StoppedWhileRetryingError: the task is to stop meanwhile.
            ConfigError, DataError: the step or the batch is at fault.
        """
        timeout, delay = self._handling.retry_timeout, _FIRST_DELAY
        deadline = None if timeout is None else self._clock() + timeout
        while True:
            try:
                return self._frames.run(job, table)
            except RetriableError as error:
                if deadline is not None and self._clock() >= deadline:
                    raise FrameJobNotRunError(f"{name} could not be run: {error}") from error
                _log.warning("%s could not be run and is tried again in %.1f s: %s", name, delay, error)
            except ConfigError as error:
                raise ConfigError(f"{name}: {error}", name) from error
            except DataError as error:
                raise DataError(f"{name}: {error}") from error
            if self._wait(delay):
                raise StoppedWhileRetryingError(f"stopped while {name} was tried again")
            delay = min(2 * delay, self._handling.retry_max_delay)


class FrameStep(Generic[B]):
    """Its batches are those of its input, cut where the types of keys or values change. Task's thread only."""

    def __init__(
        self, alias: str, transformation: FrameTransformation[Any], runner: FrameRunner, tables: Tables[B]
    ) -> None:
        """``transformation`` is configured."""
        self._name = f"transforms.{alias}"
        self._transformation = transformation
        self._runner = runner
        self._tables = tables
        asked = transformation.job()
        settings = {**asked.settings, **tables.settings, STEP: asked.function}
        self._job = replace(asked, function=FUNCTION, settings=settings, description=_told(alias, asked))

    def apply(self, batch: B) -> list[B]:
        """What the batch becomes, in order. Errors are ``FrameRunner.run``'s."""
        results = (self._transformed(given) for given in self._tables.inputs(batch))
        return [result for result in results if len(result)]

    def close(self) -> None:
        self._transformation.close()

    def _transformed(self, given: FrameInput[B]) -> B:
        job = replace(self._job, settings={**self._job.settings, VARIANTS: ",".join(given.json)})
        result = self._runner.run(self._name, job, given.table)
        try:
            return given.records(result)
        except DataError as error:
            raise DataError(f"{self._name}: {error}") from error


def _told(alias: str, job: FrameJob) -> str:
    return f"{alias}: {job.description}" if job.description else alias


class TolerantStep(Generic[B]):
    """A batch that fails is tried again in halves, and these in halves, down to the record that fails by itself.

    One in a thousand costs twenty jobs more. Task's thread only.
    """

    def __init__(self, step: FrameStep[B], skip: Callable[[B, DataError], None]) -> None:
        """``skip`` is given a batch of one record, and raises where that cannot be tolerated."""
        self._step = step
        self._skip = skip

    def apply(self, batch: B) -> list[B]:
        """What the batch becomes without those that fail, in order. Other errors are ``FrameStep.apply``'s."""
        try:
            return self._step.apply(batch)
        except DataError as error:
            if len(batch) == 1:
                self._skip(batch, error)
                return []
        first, rest = _halves(batch)
        return [*self.apply(first), *self.apply(rest)]

    def close(self) -> None:
        self._step.close()


def skipping(
    stage: PluginStage, plugins: Plugins, errors: RetryWithTolerance[O], original: Callable[[Any], O]
) -> Callable[[Any, DataError], None]:
    """What ``TolerantStep`` does by ``errors.*``. ``original`` gives what a batch of one record is reported as."""
    cls = plugins.transformation(stage.type, f"transforms.{stage.alias}.type")
    operation = Operation(Stage.TRANSFORMATION, plugins.class_name(PluginKind.TRANSFORMATION, cls), stage.alias)

    def skip(batch: Any, error: DataError) -> None:
        def failed() -> None:
            raise error

        errors.execute(operation, original(batch), failed)

    return skip


def _halves(batch: Any) -> tuple[Any, Any]:
    """Of records, or of an Arrow table."""
    middle = len(batch) // 2
    if isinstance(batch, Sequence):
        return batch[:middle], batch[middle:]
    return batch.slice(0, middle), batch.slice(middle)
