# SPDX-License-Identifier: Apache-2.0
"""The frame jobs of one task, in the worker: ordinary short Spark jobs, in a session of the task's own."""

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

log = logging.getLogger(__name__)
_NO_CORE_S: Final = 15.0
"""Seconds without a core after which a job is given up."""
_RECHECK_DELAY_S: Final = 0.5
"""Seconds between the two checks that find nothing running."""
_CANCEL_INTERVAL_S: Final = 1.0
"""Seconds after which a job beyond its timeout is cancelled again: it may have begun another Spark job."""
_CHECK_INTERVAL_S: Final = 0.05
_DEATH_GRACE_S: Final = 2.0
"""Seconds until a JVM whose end broke a job off is seen to be dead."""


@dataclass(frozen=True, slots=True)
class FrameLimits:
    """Limits of a connector's frame jobs. ``timeout``, in seconds, is for jobs whose result is not streamed."""

    connector: str
    breaker: FrameBreaker = field(default_factory=FrameBreaker)
    timeout: float = 600.0
    results: ResultLimit = field(default_factory=ResultLimit)


class FrameJobs:
    """The frame jobs of the task's launch ``key``, shown in Spark's UI as ``name``. Thread-safe."""

    def __init__(self, key: str, name: str, engine: SparkEngine, limits: FrameLimits) -> None:
        self._key = key
        self._name = name
        self._engine = engine
        self._limits = limits
        self._lock = threading.Condition()
        self._running: dict[int, str] = {}
        self._cancelled: set[int] = set()
        self._jvm: Jvm | None = None

    def run_frame_job(self, request: RunFrameJob) -> FrameJobEnded:
        """Run a job to its end; never raises. On a thread of its own."""
        group = f"{self._key}-frame-{request.number}"
        with self._lock:
            self._running[request.number] = group
        gave_up: list[str] = []
        try:
            with self._starvation_watchdog(group, gave_up, self._timeout(request)), self._own_turn(request.number):
                return self._run(group, request)
        except Exception as error:
            fault, text = (FrameFault.RETRIABLE, gave_up[0]) if gave_up else self._fault(error)
            log.debug("frame job %s: %s", group, text, exc_info=error)
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
        """Cancel all jobs, as the process that waits for them is gone."""
        with self._lock:
            groups = list(self._running.values())
            self._cancelled.update(self._running)
        for group in groups:
            self._engine.cancel(group)

    def close(self) -> None:
        """Close the session of the launch: no job follows."""
        jvm = self._jvm
        if jvm is not None:
            jvm.close_frame_session(self._key)

    def await_ended(self, seconds: float) -> bool:
        """Wait after ``cancel_all``; return False if jobs still run: Python code of a function is not cancelled."""
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
        """Note a job with the breaker within the block, and the engine's death before the job's end."""
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
    def _starvation_watchdog(self, group: str, reasons: list[str], timeout: float) -> Iterator[None]:
        """Cancel the job if it gets no core, or runs too long, and add the reason to ``reasons``."""
        over = threading.Event()
        end = time.monotonic() + timeout

        def watch() -> None:
            while not over.wait(max(0.0, min(_NO_CORE_S, end - time.monotonic()))):
                if time.monotonic() >= end:
                    reasons.append(f"it ran longer than {FRAME_JOB_TIMEOUT}={timeout * 1000:.0f}, and was cancelled")
                    break
                # Twice: between two of its stages nothing of a job runs for a moment.
                if self._starved(group) and not over.wait(_RECHECK_DELAY_S) and self._starved(group):
                    reasons.append(self._no_core())
                    break
            while not over.is_set():
                self._engine.cancel(group)
                over.wait(_CANCEL_INTERVAL_S)

        threading.Thread(target=watch, name="frame-job-watch", daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def _starved(self, group: str) -> bool:
        """Return True if nothing of it runs and no core is free: on a busy machine Spark may just be slow to begin."""
        if not self._engine.unscheduled(group):
            return False
        cores = self._engine.cores()
        return cores is None or cores.total - cores.busy < self._engine.cores_per_task

    def _no_core(self) -> str:
        cores = self._engine.cores()
        gives = f" gives this worker {cores.total}, {cores.busy} of them in use" if cores is not None else ""
        return (
            f"no core was free for {_NO_CORE_S:.0f} s: spark.master={self._engine.master}{gives}; a job on frames "
            f"needs one beside those of the tasks: {remedy(self._engine.master)}"
        )

    def _fault(self, error: Exception) -> tuple[FrameFault, str]:
        jvm = self._jvm
        # A refusal stays one, even if the JVM is dead.
        if jvm is not None and not isinstance(error, ConfigError) and not jvm.alive():
            return FrameFault.RETRIABLE, "the JVM of Spark died"
        fault, text = known_fault(error)
        return fault, self._engine.describe_error(text)


def _died(jvm: Jvm, error: Exception) -> bool:
    """Return True if the JVM ended by itself, and the job with it."""
    # Its connections break a moment before it has ended.
    end = time.monotonic() + (_DEATH_GRACE_S if known_fault(error)[0] is FrameFault.RETRIABLE else 0.0)
    while jvm.alive() and time.monotonic() < end:
        time.sleep(_CHECK_INTERVAL_S)
    return not jvm.alive() and not jvm.killed
