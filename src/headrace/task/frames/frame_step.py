# SPDX-License-Identifier: Apache-2.0
"""One step of a chain that transforms batches by frame jobs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from headrace.api.errors import ConfigError, DataError, RetriableError
from headrace.api.frame_transform import FrameTransformation
from headrace.api.frames import FrameJob, Frames
from headrace.api.record_frames import FUNCTION, STEP, VARIANTS
from headrace.config.connector_config import ErrorHandling
from headrace.kafka.errors import RetriableKafkaError
from headrace.task.errors.retry_with_tolerance import StoppedWhileRetryingError

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
