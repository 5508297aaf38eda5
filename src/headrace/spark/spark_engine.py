# SPDX-License-Identifier: Apache-2.0
"""The Spark session of a worker: started in the background, started anew when its JVM dies."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from headrace.api.errors import ConfigError, ConnectError
from headrace.spark.spark_process import SparkProcess
from headrace.spark.spark_session import SparkJvm
from headrace.spark.spark_settings import settings
from headrace.spark.task_channel import Address

_log = logging.getLogger(__name__)
_RETRY = 5.0
_LOOK = 0.2


class SparkJobError(ConnectError):
    """A Spark job did not end by itself: cancelled, its task given up, or the JVM lost."""


class SparkEngine:
    """Thread-safe. ``run`` blocks a thread of the caller's for a job's whole life; ``start`` and ``cancel`` do not."""

    def __init__(self, spark: Mapping[str, str], directory: Path, address: Address, authkey: bytes) -> None:
        self._settings = settings(spark, directory)
        self._directory = directory
        self._attach = (address, authkey)
        self._changed = threading.Condition()
        self._starting: SparkProcess | None = None
        self._session: SparkJvm | None = None
        self._started = False
        self._stopping = False
        self._failure: str | None = None

    def start(self) -> None:
        """Returns at once. To start it again has no effect."""
        with self._changed:
            started, self._started = self._started, True
        if not started:
            threading.Thread(target=self._keep_running, name="spark-start", daemon=True).start()

    def run(self, group: str, description: str, given_up: Callable[[], bool], hindered: Callable[[str], None]) -> None:
        """Run one task's job in ``group``; waits for Spark first. SparkJobError unless the job ended by itself.

        While it waits, ``given_up`` is asked, and ``hindered`` is told why Spark cannot be started.
        """
        session = self._await_session(given_up, hindered)
        if session is None:
            return
        try:
            session.run(group, description)
        except Exception as error:
            if not session.alive():
                self._lost(session)
                raise SparkJobError("the JVM of Spark died") from error
            raise SparkJobError(f"Spark gave the job of {description} up: {_first_line(error)}") from error

    def cancel(self, group: str) -> None:
        """Cancel a job; Spark kills its process. On a thread of its own, since Spark may be slow or gone."""
        with self._changed:
            session = self._session
        if session is not None:
            threading.Thread(target=session.cancel, args=(group,), name=f"cancel-{group}", daemon=True).start()

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            starting, session, self._session = self._starting, self._session, None
            self._changed.notify_all()
        if session is not None:
            session.stop()
        elif starting is not None:
            starting.kill()

    def _await_session(self, given_up: Callable[[], bool], hindered: Callable[[str], None]) -> SparkJvm | None:
        told: str | None = None
        while not self._stopping and not given_up():
            with self._changed:
                if self._changed.wait_for(lambda: self._session is not None, _LOOK):
                    return self._session
            failure = self._failure
            if failure is not None and failure != told:
                told = failure
                hindered(failure)
        return None

    def _lost(self, session: SparkJvm) -> None:
        with self._changed:
            if self._session is not session:
                return
            self._session = None
            self._changed.notify_all()
        _log.warning("the JVM of Spark died: starting another one")
        session.stop()

    def _keep_running(self) -> None:
        while not self._stopping:
            session = self._try_start()
            with self._changed:
                if session is None:
                    self._changed.wait_for(lambda: self._stopping, _RETRY)
                elif not self._is_stopping():
                    self._session, session = session, None
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: self._stopping or self._session is None)
            if session is not None:
                session.stop()

    def _is_stopping(self) -> bool:
        return self._stopping

    def _try_start(self) -> SparkJvm | None:
        try:
            process = self._launch()
            if process is None:
                return None
            session = SparkJvm(process, self._settings, *self._attach)
        except ConfigError as error:
            self._complain(str(error))
            return None
        except Exception as error:
            self._complain(
                f"Spark could not be started with spark.master = {self._settings['spark.master']}: {_first_line(error)}"
            )
            return None
        self._failure = None
        return session

    def _launch(self) -> SparkProcess | None:
        """A new JVM, which ``stop`` finds from its first moment on; None if it has come before."""
        with self._changed:
            if self._stopping:
                return None
            self._starting = SparkProcess(self._settings, self._directory)
            return self._starting

    def _complain(self, failure: str) -> None:
        if failure != self._failure and not self._stopping:
            _log.error("%s; trying again every %.0f s", failure, _RETRY)
        self._failure = failure


def _first_line(error: BaseException) -> str:
    """What an error says; a Java error's first line only tells which call it came from."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[1].removeprefix(": ") if len(lines) > 1 and lines[1].startswith(": ") else lines[0]
