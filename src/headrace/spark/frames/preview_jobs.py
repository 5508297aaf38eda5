# SPDX-License-Identifier: Apache-2.0
"""The frame jobs of one preview, in the worker, from its process' connection to the preview's end."""

from __future__ import annotations

import math
import threading
from contextlib import closing, suppress
from multiprocessing import AuthenticationError
from typing import TYPE_CHECKING, Final, Protocol

from headrace.model.deadline import Clock, Deadline
from headrace.spark.channel.endpoint import ChannelListener, Link
from headrace.spark.channel.messages import CancelFrameJob, FrameFault, FrameJobEnded, RunFrameJob
from headrace.spark.frames.frame_jobs import FrameJobs, FrameLimits
from headrace.spark.process.preview_frames import StartSpark

if TYPE_CHECKING:
    from headrace.spark.engine.spark_engine import SparkEngine

_CANCEL_S: Final = 15.0
"""Seconds that a cancelled job has to end; then its JVM is killed.

A Spark job ends at once, but not the analysis of a query, which takes its time in a JVM that has just started.
"""
_CHECK_INTERVAL_S: Final = 0.5
LATE: Final = "it did not end within the time of the preview, and was cancelled"
NOT_STARTED: Final = "Spark has not started within the time of the preview; its start continues, for the next one"
_STOPPED: Final = "the worker stops"


class EnginePool(Protocol):
    """The engine of previews, for as long as one needs it."""

    def acquire(self) -> SparkEngine | None: ...

    def release(self) -> None: ...

    def kill(self, engine: SparkEngine) -> None: ...


class PreviewJobs:
    """Serves the one process that connects. At ``until`` all jobs are answered, and cancelled. Thread-safe."""

    def __init__(self, key: str, listener: ChannelListener, pool: EnginePool, until: float, clock: Clock) -> None:
        self._key = key
        self._listener = listener
        self._pool = pool
        self._until = until
        self._clock = clock
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._link: Link | None = None
        self._engine: SparkEngine | None = None
        self._jobs: FrameJobs | None = None
        self._running: list[threading.Thread] = []
        self._unanswered: set[int] = set()
        self.missing: str | None = None
        """The reason that a job was refused since Spark has not started."""
        self._closed = threading.Event()
        threading.Thread(target=self._serve, name=f"{key}-frames", daemon=True).start()

    def close(self) -> None:
        """Cancel all jobs, and end those that do not end by that, their JVM with them. Does not wait for their ends."""
        with self._lock:
            self._closed.set()
        self._listener.close()
        if self._engine is not None and self._jobs is not None:
            ending = threading.Thread(target=self._end, args=(self._engine, self._jobs), name=f"{self._key}-end")
            ending.daemon = True
            ending.start()

    def _end(self, engine: SparkEngine, jobs: FrameJobs) -> None:
        patience = Deadline.after(_CANCEL_S, self._clock)
        while self._is_running():
            if patience.expired:
                self._pool.kill(engine)
                break
            jobs.cancel_all()
            self._running[0].join(_CHECK_INTERVAL_S)
        else:
            jobs.close()
        self._pool.release()

    def _is_running(self) -> bool:
        self._running = [each for each in self._running if each.is_alive()]
        return bool(self._running)

    def _serve(self) -> None:
        with suppress(EOFError, OSError, AuthenticationError), closing(self._admitted()) as link:
            with self._lock:
                self._link = link
            threading.Thread(target=self._watch, name=f"{self._key}-watch", daemon=True).start()
            while True:
                self._handle(link.recv())

    def _admitted(self) -> Link:
        return self._listener.admit(self._listener.accept())

    def _handle(self, message: object) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            if isinstance(message, StartSpark):
                self._start()
            elif isinstance(message, RunFrameJob):
                self._unanswered.add(message.number)
                job = threading.Thread(target=self._run, args=(message,), name=f"{self._key}-job", daemon=True)
                job.start()
                self._running.append(job)
            elif isinstance(message, CancelFrameJob) and self._jobs is not None:
                self._jobs.cancel(message.number)

    def _start(self) -> None:
        engine = self._pool.acquire()
        if engine is not None:
            self._engine = engine
            self._jobs = FrameJobs(self._key, "preview", engine, FrameLimits(self._key, timeout=math.inf))

    def _run(self, request: RunFrameJob) -> None:
        if self._engine is None or self._jobs is None:
            self._fail(request.number, _STOPPED)
        elif self._engine.await_jvm(self._is_over) is None or self._is_over():
            self._fail(request.number, self._reason())
        else:
            self._answer(self._jobs.run_frame_job(request))

    def _is_over(self) -> bool:
        return self._closed.is_set() or self._clock() >= self._until

    def _watch(self) -> None:
        """Answer at ``until`` what is not answered, and cancel it until the preview is closed."""
        if self._closed.wait(max(0.0, self._until - self._clock())):
            return
        with self._lock:
            left, jobs = list(self._unanswered), self._jobs
        for number in left:
            self._fail(number, self._reason())
        while jobs is not None:
            jobs.cancel_all()
            if self._closed.wait(_CHECK_INTERVAL_S):
                return

    def _reason(self) -> str:
        """Return the reason why a job had no end by ``until``."""
        if self._engine is None or self._engine.current() is not None:
            return LATE
        self.missing = self._engine.failure or NOT_STARTED
        return self.missing

    def _fail(self, number: int, reason: str) -> None:
        self._answer(FrameJobEnded(number, fault=FrameFault.RETRIABLE, error=reason))

    def _answer(self, ended: FrameJobEnded) -> None:
        """Send a job's end, once."""
        with self._lock:
            if ended.number not in self._unanswered or self._link is None:
                return
            self._unanswered.remove(ended.number)
            link = self._link
        with suppress(OSError), self._sending:
            link.send(ended)
