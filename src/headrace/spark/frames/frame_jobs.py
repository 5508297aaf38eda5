# SPDX-License-Identifier: Apache-2.0
"""Runs the frame jobs of one task in the worker: ordinary short Spark jobs, in a session of the task's own."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace.api.errors import ConfigError, RetriableError
from headrace.config.connector_config import FRAME_JOB_TIMEOUT
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.spark.channel.messages import FrameFault, FrameJobEnded, RunFrameJob
from headrace.spark.engine.slots import remedy
from headrace.spark.engine.spark_engine import SparkEngine
from headrace.spark.errors.frame_errors import known_fault
from headrace.spark.frames.frame_breaker import FrameBreaker

if TYPE_CHECKING:
    from headrace.spark.engine.jvm import Jvm

_log = logging.getLogger(__name__)
_PATIENCE: Final = 15.0
"""Seconds until a job of which nothing runs is given up."""
_MOMENT: Final = 0.5
"""Seconds between the two looks that find nothing running."""
_AGAIN: Final = 1.0
"""Seconds after which a job that goes on beyond its time is cancelled again: it may have begun another Spark job."""
_LOOK: Final = 0.05
_ENDING: Final = 2.0
"""Seconds in which a JVM is seen to be dead that broke a job off."""


@dataclass(frozen=True, slots=True)
class FrameLimits:
    """What frame jobs of a connector may do. ``timeout`` is in seconds, and for jobs whose result is not streamed."""

    connector: str
    breaker: FrameBreaker = field(default_factory=FrameBreaker)
    timeout: float = 600.0
    results: ResultLimit = field(default_factory=ResultLimit)


class FrameJobs:
    """``key`` is the task's launch, ``name`` what Spark's UI shows. Thread-safe."""

    def __init__(self, key: str, name: str, engine: SparkEngine, limits: FrameLimits) -> None:
        self._key = key
        self._name = name
        self._engine = engine
        self._limits = limits
        self._lock = threading.Condition()
        self._running: dict[int, str] = {}
        self._cancelled: set[int] = set()
        self._jvm: Jvm | None = None

    def run(self, request: RunFrameJob) -> FrameJobEnded:
        """Run a job to its end; never raises. On a thread of its own."""
        group = f"{self._key}-frame-{request.number}"
        with self._lock:
            self._running[request.number] = group
        gave_up: list[str] = []
        try:
            with self._not_waiting_for_ever(group, gave_up, self._timeout(request)), self._own_turn(request.number):
                return self._run(group, request)
        except Exception as error:
            fault, text = (FrameFault.RETRIABLE, gave_up[0]) if gave_up else self._fault(error)
            _log.debug("frame job %s: %s", group, text, exc_info=error)
            return FrameJobEnded(request.number, fault=fault, error=text)
        finally:
            with self._lock:
                self._running.pop(request.number, None)
                self._cancelled.discard(request.number)
                self._lock.notify_all()

    def cancel(self, number: int) -> None:
        with self._lock:
            group = self._running.get(number)
            self._cancelled.update((number,) if group is not None else ())
        if group is not None:
            self._engine.cancel(group)

    def cancel_all(self) -> None:
        """The process that waits for them is gone."""
        with self._lock:
            groups = list(self._running.values())
            self._cancelled.update(self._running)
        for group in groups:
            self._engine.cancel(group)

    def close(self) -> None:
        """No job follows."""
        jvm = self._jvm
        if jvm is not None:
            jvm.forget_frames(self._key)

    def await_ended(self, seconds: float) -> bool:
        """After ``cancel_all``: whether none runs any more. What a function does beside Spark is not cancelled."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._running, seconds)

    def _run(self, group: str, request: RunFrameJob) -> FrameJobEnded:
        jvm = self._jvm = self._engine.current()
        if jvm is None:
            raise RetriableError("Spark is not running")
        description = f"{self._name}: {request.job.description or request.job.function}"
        return jvm.run_frame_job(self._key, group, description, request)

    @contextmanager
    def _own_turn(self, number: int) -> Iterator[None]:
        """The breaker hears that a job runs, and of the death of the engine in its midst before it hears of its end."""
        breaker, connector, jvm = self._limits.breaker, self._limits.connector, self._engine.current()
        with breaker.running(connector, jvm, lambda: number in self._cancelled):
            try:
                yield
            except Exception as error:
                if jvm is not None and _died(jvm, error):
                    breaker.engine_died(connector, jvm)
                elif "ExecutorLostFailure" in known_fault(error)[1]:
                    breaker.lost_executors(connector)
                if (refusal := breaker.refusal(connector)) is not None:
                    raise ConfigError(refusal) from error
                raise

    def _timeout(self, request: RunFrameJob) -> float:
        return math.inf if request.streamed else self._limits.timeout

    @contextmanager
    def _not_waiting_for_ever(self, group: str, told: list[str], timeout: float) -> Iterator[None]:
        """Cancels the job if it gets no core, or runs too long, and then says so in ``told``."""
        over = threading.Event()
        end = time.monotonic() + timeout

        def look() -> None:
            while not over.wait(max(0.0, min(_PATIENCE, end - time.monotonic()))):
                if time.monotonic() >= end:
                    told.append(f"it ran longer than {FRAME_JOB_TIMEOUT}={timeout * 1000:.0f}, and was cancelled")
                    break
                # Twice: between two of its stages nothing of a job runs for a moment.
                if self._starved(group) and not over.wait(_MOMENT) and self._starved(group):
                    told.append(self._no_core())
                    break
            while not over.is_set():
                self._engine.cancel(group)
                over.wait(_AGAIN)

        threading.Thread(target=look, name="frame-job-watch", daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def _starved(self, group: str) -> bool:
        """Nothing of it runs, and no core is free: on a machine with too much to do Spark may be slow to begin."""
        if not self._engine.unscheduled(group):
            return False
        cores = self._engine.cores()
        return cores is None or cores.total - cores.busy < self._engine.cores_per_task

    def _no_core(self) -> str:
        cores = self._engine.cores()
        gives = f" gives this worker {cores.total}, {cores.busy} of them in use" if cores is not None else ""
        return (
            f"no core was free for {_PATIENCE:.0f} s: spark.master={self._engine.master}{gives}; a job on frames needs "
            f"one beside those of the tasks: {remedy(self._engine.master)}"
        )

    def _fault(self, error: Exception) -> tuple[FrameFault, str]:
        jvm = self._jvm
        # A refusal is one, whatever has become of the JVM.
        if jvm is not None and not isinstance(error, ConfigError) and not jvm.alive():
            return FrameFault.RETRIABLE, "the JVM of Spark died"
        fault, text = known_fault(error)
        return fault, self._engine.told(text)


def _died(jvm: Jvm, error: Exception) -> bool:
    """Whether the JVM ended by itself, and the job with it."""
    # Its connections break a moment before it has ended.
    end = time.monotonic() + (_ENDING if known_fault(error)[0] is FrameFault.RETRIABLE else 0.0)
    while jvm.alive() and time.monotonic() < end:
        time.sleep(_LOOK)
    return not jvm.alive() and not jvm.killed
