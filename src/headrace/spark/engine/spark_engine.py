# SPDX-License-Identifier: Apache-2.0
"""The Spark application of a worker: started in the background until it is up, and again if it is lost."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar, cast

from headrace.api.errors import ConfigError, ConnectError
from headrace.config.engine_config import DEFAULT_CONSOLE, ConsoleLimits
from headrace.jvm.java_runtime import NoJavaError
from headrace.logs.context import in_same_context
from headrace.model.service_threads import ServiceThread
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.engine.hosted_jvm import HostedJvm, HostProcess
from headrace.spark.engine.jvm import Jvm, JvmProcess, Restarts, RunningJob
from headrace.spark.engine.master import is_local, unreachable
from headrace.spark.engine.shipment import Shipment
from headrace.spark.engine.slots import Cores
from headrace.spark.engine.spark_process import SparkProcess
from headrace.spark.engine.spark_session import SparkJvm
from headrace.spark.engine.spark_settings import LOCAL_DIRECTORIES, MASTER, cores_per_task
from headrace.spark.errors.error_texts import first_line, text_of, with_limit, with_remedy

log = logging.getLogger(__name__)
_CHECK_INTERVAL_S = 0.2
_WATCH_INTERVAL_S = 1.0
"""Seconds between two checks that the JVM lives: if it dies idle, no job's end shows it."""
_SLOW_S = 20.0
_FIRST_REPORT_S = 10.0
"""Seconds after which a start that lasts is logged; then after twice as many each time."""
T = TypeVar("T")


class SparkJobError(ConnectError):
    """A Spark job did not end by itself: cancelled, its task given up, or the JVM lost."""


@dataclass(frozen=True, slots=True)
class JvmStart:
    """The way in which an application's JVM is started.

    A start that takes longer than ``timeout`` seconds has failed, and another one follows. ``hosted``: another process
    has the JVM, as this one can have only one.
    """

    plugin_path: Sequence[str] = ()
    console: ConsoleLimits = DEFAULT_CONSOLE
    timeout: float = 300.0
    hosted: bool = False


DEFAULT_START: Final = JvmStart()


class SparkEngine:
    """One Spark application with its JVM. Thread-safe.

    ``run_task_job`` blocks a thread of the caller's for a job's whole life; ``start`` and ``cancel`` do not block.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        directory: Path,
        endpoint: Endpoint,
        shipment: Shipment | None = None,
        jvm_start: JvmStart = DEFAULT_START,
    ) -> None:
        """``settings`` are the SparkConf; ``shipment`` is for executors on other machines."""
        self._settings = settings
        self._directory = directory
        self._endpoint = endpoint
        self._shipment = shipment
        self._jvm_start = jvm_start
        self._clock = time.monotonic
        self._changed = threading.Condition()
        self._starting: JvmProcess | None = None
        self._session: Jvm | None = None
        self._started = False
        self._stopping = False
        self._failure: str | None = None
        self._loss: str | None = None
        self._launched = math.inf
        self._next = -math.inf

    def start(self) -> None:
        """Start Spark in the background, and return at once. A second call has no effect."""
        with self._changed:
            started, self._started = self._started, True
        if not started:
            run = in_same_context(self._keep_running)
            ServiceThread("spark-start", run, "Spark is not started, and no task can run").start()

    def run_task_job(
        self, group: str, description: str, given_up: Callable[[], bool], on_unavailable: Callable[[str], None]
    ) -> None:
        """Run one task's job in ``group``, after waiting for Spark. SparkJobError unless the job ended by itself.

        The wait ends when ``given_up`` returns True; ``on_unavailable`` gets the reason why Spark cannot be started.
        """
        session = self._await_session(given_up, on_unavailable)
        if session is None:
            return
        try:
            session.run_task_job(group, description)
        except Exception as error:
            if not session.alive():
                self._lost(session)
                raise SparkJobError("the JVM of Spark died") from error
            raise SparkJobError(f"Spark gave the job of {description} up: {self.describe_error(error)}") from error

    def cancel(self, group: str) -> None:
        """Cancel a job; Spark kills its process. On a thread of its own, since Spark may be slow or gone."""
        with self._changed:
            session = self._session
        if session is not None:
            threading.Thread(target=session.cancel, args=(group,), name=f"cancel-{group}", daemon=True).start()

    def current(self) -> Jvm | None:
        """Return the JVM; None while Spark is not running."""
        return self._session

    def await_jvm(self, given_up: Callable[[], bool]) -> Jvm | None:
        """Wait for the JVM and return it; None if the engine stops, or ``given_up`` returns True, before it is up."""
        return self._await_session(given_up, lambda reason: None)

    def own(self) -> SparkJvm | None:
        """Return the JVM as ``current``, of an engine that is not hosted: with sessions for this process."""
        return cast("SparkJvm | None", self._session)

    def trouble(self) -> str | None:
        """Return the reason why no task can run now; None if Spark is up, or is starting without an error yet."""
        if self._session is not None or self._stopping:
            return None
        failure = self._failure or self._loss
        if failure is None:
            return self._slowness()
        left = self._next - self._clock()
        return f"{failure}; it is started again " + (f"in {left:.0f} s" if left >= 1 else "now")

    @property
    def failure(self) -> str | None:
        """The reason why Spark could not be started; None if it is up, or is starting for the first time."""
        return self._failure

    @property
    def master(self) -> str:
        return self._settings[MASTER]

    @property
    def cores_per_task(self) -> int:
        return cores_per_task(self._settings)

    def describe_error(self, error: Exception | str) -> str:
        """Return the error's message; if a disk of the worker's is full, with its directory."""
        text = error if isinstance(error, str) else first_line(error)
        local = self._settings.get(LOCAL_DIRECTORIES, "") if is_local(self.master) else ""
        return with_remedy(text, [self._directory, *map(Path, filter(None, local.split(",")))])

    def unscheduled(self, group: str) -> bool:
        """Return True if a job of the group is there of which nothing runs. Blocks for a moment, as the next ones."""
        return bool(self._ask(lambda session: session.unscheduled(group)))

    def running(self, group: str) -> RunningJob | None:
        """Return the newest job of a group, and its executor; None while Spark is not running."""
        return self._ask(lambda session: session.running(group))

    def cores(self) -> Cores | None:
        """Return the cores of the executors; None while Spark is not running."""
        return self._ask(lambda session: session.cores())

    def restart_if_forgotten(self) -> None:
        """Start Spark again if the cluster is there but has forgotten this worker, which ends no job by itself."""
        session = self._session
        if session is None or unreachable(self.master) or not self._ask(lambda session: session.is_unknown_to_master()):
            return
        log.warning("%s does not know this worker any more", self.master)
        # Not in order: PySpark would forget the new context when the old one has stopped.
        session.kill()
        self._lost(session)

    def _ask(self, ask: Callable[[Jvm], T]) -> T | None:
        """Return the answer of the JVM; None if there is none, or it fails."""
        session = self._session
        if session is None:
            return None
        try:
            return ask(session)
        except Exception as error:
            log.debug("asking Spark: %s", text_of(error))
            return None

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            starting, session, self._session = self._starting, self._session, None
            self._changed.notify_all()
        if session is not None:
            session.stop()
        elif starting is not None:
            starting.kill()

    def _await_session(self, given_up: Callable[[], bool], on_unavailable: Callable[[str], None]) -> Jvm | None:
        reported: str | None = None
        while not self._stopping and not given_up():
            with self._changed:
                if self._changed.wait_for(lambda: self._session is not None, _CHECK_INTERVAL_S):
                    return self._session
            failure = self._failure or self._slowness()
            if failure is not None and failure != reported:
                reported = failure
                on_unavailable(failure)
        return None

    def _slowness(self) -> str | None:
        """Return the message for a start that takes long: some clusters are slow to refuse a connection."""
        if self._clock() - self._launched < _SLOW_S:
            return None
        took = f"for {_SLOW_S:.0f} s"
        return f"Spark has not come up with spark.master={self.master} {took}; Spark's own log may show more"

    def _lost(self, session: Jvm) -> None:
        with self._changed:
            if self._session is not session:
                return
            self._session = None
            self._loss = "the JVM of Spark died"
            self._changed.notify_all()
        log.warning("the JVM of Spark died: starting another one")
        session.stop()

    def _keep_running(self) -> None:
        restarts = Restarts()
        while not self._stopping:
            session, begun = self._try_start(), self._clock()
            if session is None:
                restarts = restarts.failed()
            else:
                self._serve(session)
                restarts = restarts.lost(self._clock() - begun)
            self._pause(restarts.delay)

    def _serve(self, session: Jvm) -> None:
        """Offer the session to jobs until it is lost, or the engine stops."""
        with self._changed:
            wanted = not self._stopping
            if wanted:
                self._session, self._failure, self._loss = session, None, None
                self._changed.notify_all()
        if not wanted:
            session.stop()
        while wanted and not self._is_over(session, _WATCH_INTERVAL_S):
            if not session.process_alive:
                self._lost(session)

    def _is_over(self, session: Jvm, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._stopping or self._session is not session, seconds)

    def _pause(self, seconds: float) -> None:
        with self._changed:
            self._next = self._clock() + seconds
            self._changed.wait_for(lambda: self._stopping, seconds)

    def _try_start(self) -> Jvm | None:
        """Return a new JVM; None if it could not be started, with the reason in ``_failure``. Never raises."""
        try:
            if reason := unreachable(self._settings[MASTER]):
                raise ConnectError(reason)
            process = self._launch()
            if process is None:
                return None
            with self._limited(process), self._reported():
                return self._connect(process)
        except (ConfigError, NoJavaError) as error:
            self._note_failure(str(error))
        except Exception as error:
            reason = with_limit(self.describe_error(error))
            self._note_failure(f"Spark could not be started with spark.master={self.master}: {reason}")
        finally:
            self._launched = math.inf
        if self._starting is not None:
            self._starting.kill()
        return None

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Log that Spark is being started, again and again at growing intervals while the block lasts."""
        if self._failure is None:  # its repetitions are in the error
            log.info("Spark starts with spark.master=%s", self.master)
        over = threading.Event()

        def report() -> None:
            pause, begun = _FIRST_REPORT_S, self._clock()
            while not over.wait(pause):
                log.info("Spark is still starting, since %.0f s", self._clock() - begun)
                pause *= 2

        threading.Thread(target=in_same_context(report), name="spark-start-report", daemon=True).start()
        try:
            yield
        finally:
            over.set()

    @contextmanager
    def _limited(self, process: JvmProcess) -> Iterator[None]:
        """Kill the process if the block takes longer than a start may, which ends every wait for it."""
        over = threading.Event()

        def end() -> None:
            over.set()
            process.kill()

        timer = threading.Timer(self._jvm_start.timeout, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Exception as error:
            if not over.is_set():
                raise
            words = process.last_words()
            raise ConnectError(
                f"it did not come up within engine.start.timeout.ms={self._jvm_start.timeout * 1000:.0f}"
                + (f"; its JVM last said: {words}" if words else "")
            ) from error
        finally:
            timer.cancel()

    def _launch(self) -> JvmProcess | None:
        """Start a JVM's process, which ``stop`` can end from its first moment on; None if that was called before."""
        with self._changed:
            if self._stopping:
                return None
            self._launched = self._clock()
            start: Callable[..., JvmProcess] = HostProcess if self._jvm_start.hosted else SparkProcess
            plugin_path, console = self._jvm_start.plugin_path, self._jvm_start.console
            self._starting = start(self._settings, self._directory, plugin_path, console)
            return self._starting

    def _connect(self, process: JvmProcess) -> Jvm:
        connect: Callable[..., Jvm] = HostedJvm if self._jvm_start.hosted else SparkJvm
        return connect(process, self._settings, self._endpoint, self._shipment)

    def _note_failure(self, failure: str) -> None:
        if failure != self._failure and not self._stopping:
            log.error("%s; it is tried again until it works", failure)
        self._failure = failure
