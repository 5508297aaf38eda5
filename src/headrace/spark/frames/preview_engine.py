# SPDX-License-Identifier: Apache-2.0
"""The Spark application of a worker's previews: none of a task's, so that no preview can disturb one.

It is local, wherever tasks run, started by the first preview that needs it, and ends when none has needed it for some
time. A preview whose job does not end when it is cancelled ends it too.
"""

from __future__ import annotations

import itertools
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from headrace.inspection.preview.previews import FramesOffer
from headrace.model.deadline import Clock
from headrace.spark.channel.endpoint import ChannelListener
from headrace.spark.engine.spark_engine import SparkEngine
from headrace.spark.engine.spark_settings import APP_NAME, BIND_ADDRESS, DRIVER_HOST, LOCAL_DIRECTORIES, MASTER, UI
from headrace.spark.frames.preview_jobs import PreviewJobs
from headrace.spark.process.preview_frames import CONNECT, settings_of

log = logging.getLogger(__name__)
_IDLE_S: Final = 300.0
"""Seconds without a preview after which Spark ends."""
_OF_TASKS: Final = (BIND_ADDRESS, DRIVER_HOST, LOCAL_DIRECTORIES, "spark.driver.port", "spark.task.cpus")
"""Settings of the tasks' Spark that another one on the same machine must not share."""


def preview_settings(spark: Mapping[str, str]) -> dict[str, str]:
    """Return the worker's properties ``spark.*`` as they are for previews."""
    kept = {name: value for name, value in spark.items() if name not in _OF_TASKS}
    return {**kept, MASTER: "local[4]", APP_NAME: f"{spark.get(APP_NAME, 'headrace')}: previews", UI: "false"}


class PreviewEngine:
    """Starts and ends the application, and offers it to the processes of previews. Thread-safe."""

    def __init__(
        self,
        directory: Path,
        engine_in: Callable[[Path], SparkEngine],
        idle_s: float = _IDLE_S,
        clock: Clock = time.monotonic,
    ) -> None:
        """``engine_in`` makes the engine, which keeps its files in a directory below ``directory``."""
        self._directory = directory
        self._engine_in = engine_in
        self._idle_s = idle_s
        self._clock = clock
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._engine: SparkEngine | None = None
        self._place: Path | None = None
        self._users = 0
        self._idle: threading.Timer | None = None
        self._stopped = False

    @contextmanager
    def offered(self, until: float) -> Iterator[FramesOffer | None]:
        """Offer Spark to one process within the block.

        None if that is not possible. Jobs are answered and cancelled when the clock has reached ``until``, or when the
        block is left.
        """
        key = f"preview-{next(self._numbers)}"
        # The process, which may be killed, has its own socket beside this one.
        directory = self._directory / key
        try:
            directory.mkdir(mode=0o700)
            listener = ChannelListener(directory / "worker.sock")
        except OSError as error:  # as of a full disk: most previews need no Spark
            log.warning("A preview has no Spark: %s", error)
            yield None
            return
        try:
            with closing(PreviewJobs(key, listener, self, until, self._clock)) as jobs:
                yield FramesOffer(CONNECT, settings_of(listener.endpoint), lambda: jobs.missing)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def acquire(self) -> SparkEngine | None:
        """Return the engine, which is started if there is none, until ``release``; None if the worker stops."""
        with self._lock:
            if self._stopped:
                return None
            self._users += 1
            if self._idle is not None:
                self._idle.cancel()
                self._idle = None
            if self._engine is None:
                self._place = self._directory / f"spark-of-previews-{next(self._numbers)}"
                self._place.mkdir(mode=0o700)
                self._engine = self._engine_in(self._place)
                log.info("Spark starts for previews, apart from that of tasks")
                self._engine.start()
            return self._engine

    def release(self) -> None:
        """Release the engine; without users it ends some time later. Does not block."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._engine is not None and not self._stopped:
                self._idle = threading.Timer(self._idle_s, self._end_idle, (self._engine,))
                self._idle.daemon = True
                self._idle.start()

    def kill(self, engine: SparkEngine) -> None:
        """End an engine at once, with all that runs on it; the next preview starts another one."""
        taken = self._take(engine, lambda: True)
        if (jvm := engine.current()) is not None:
            jvm.kill()
        if taken is not None:
            log.warning("Spark of previews is ended: a job of a preview continued when it was cancelled")
            threading.Thread(target=_end, args=(engine, taken), name="stop-spark", daemon=True).start()

    def stop(self) -> None:
        """End Spark, and start it never again. Blocks until its JVM has ended."""
        with self._lock:
            self._stopped = True
            if self._idle is not None:
                self._idle.cancel()
            engine = self._engine
        if engine is not None and (place := self._take(engine, lambda: True)) is not None:
            _end(engine, place)

    def _end_idle(self, engine: SparkEngine) -> None:
        if (place := self._take(engine, lambda: self._users == 0)) is not None:
            log.info("Spark of previews ends: none has needed it for %.0f s", self._idle_s)
            _end(engine, place)

    def _take(self, engine: SparkEngine, wanted: Callable[[], bool]) -> Path | None:
        """Take the engine out, and return its directory; None if it is not this one's any more, or not ``wanted``."""
        with self._lock:
            if self._engine is not engine or not wanted():
                return None
            place, self._engine, self._place = self._place, None, None
            return place


def _end(engine: SparkEngine, place: Path) -> None:
    engine.stop()
    shutil.rmtree(place, ignore_errors=True)
