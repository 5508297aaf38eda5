# SPDX-License-Identifier: Apache-2.0
"""A JVM of Spark's in another process of this worker's; ``SparkJvm`` is that of the worker's own process."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.api.protected_files import protected
from headrace.config.engine_config import DEFAULT_CONSOLE, ConsoleLimits
from headrace.logs.context import in_same_context
from headrace.logs.formats import log_again
from headrace.logs.loggers import Loggers
from headrace.model.process_group import ignore_stop_signals
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.channel.messages import FrameJobEnded, Log, LogLevels, RunFrameJob
from headrace.spark.engine.jvm import RunningJob
from headrace.spark.engine.jvm_calls import Answer, Call, HostStart, HostUp
from headrace.spark.engine.runtime_directory import VARIABLE
from headrace.spark.engine.shipment import Shipment
from headrace.spark.engine.slots import Cores
from headrace.spark.engine.spark_process import console_file, last_words, own_environment
from headrace.spark.engine.spark_settings import log_file
from headrace.spark.errors.frame_errors import ERRORS

_STOP_TIMEOUT_S: Final = 20.0
_DEATH_MESSAGE: Final = "the JVM of Spark died"


class HostProcess:
    """The process of ``jvm_host``, started by the constructor. It ends with this process, and its JVM with it."""

    def __init__(
        self,
        conf: Mapping[str, str],
        directory: Path,
        plugin_path: Sequence[str] = (),
        console: ConsoleLimits = DEFAULT_CONSOLE,
    ) -> None:
        """The parameters are those of ``SparkProcess``."""
        self._conf = conf
        self._directory = directory
        self._plugin_path = tuple(str(Path(place).absolute()) for place in plugin_path)
        self._console = console
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "headrace.spark.engine.jvm_host", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**own_environment(), "PYTHONPATH": _module_path(), VARIABLE: str(directory)},
                preexec_fn=ignore_stop_signals,
            )
        self.link: Connection[Any, Any] = Connection(ours.detach())

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def begin(self, endpoint: Endpoint, shipped: bool) -> None:
        """Have it start Spark; its answer comes over ``link``. OSError if it has ended."""
        self.link.send(
            HostStart(
                *(self._conf, self._directory, self._plugin_path, self._console, endpoint, shipped),
                module_path=tuple(sys.path),
                protected_paths=protected(),
                log_levels=Loggers().set_levels(),
            )
        )

    def last_words(self) -> str | None:
        """Return the last error that the JVM has printed or logged; None if there is none."""
        return last_words(console_file(self._directory), log_file(self._directory))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class HostedJvm:
    """A ``jvm.Jvm`` over a connection. Thread-safe; calls wait for their answers, or the host's end."""

    def __init__(
        self, process: HostProcess, conf: Mapping[str, str], endpoint: Endpoint, shipment: Shipment | None = None
    ) -> None:
        """The parameters are those of ``SparkJvm``."""
        self.killed = False
        self._process = process
        self._link = process.link
        self._sending = threading.Lock()
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[Any]] = {}
        self._over = False
        try:
            self._begin(endpoint, shipment is not None)
        except BaseException:
            process.kill()
            raise
        threading.Thread(target=in_same_context(self._listen), name="hosted-jvm", daemon=True).start()

    def run_task_job(self, group: str, description: str) -> None:
        self._call("run_task_job", group, description)

    def run_frame_job(self, key: str, group: str, description: str, request: RunFrameJob) -> FrameJobEnded:
        ended: FrameJobEnded = self._call("run_frame_job", key, group, description, request)
        return ended

    def close_frame_session(self, key: str) -> None:
        with suppress(ConnectError):
            self._request("close_frame_session", key)

    def cancel(self, group: str) -> None:
        with suppress(ConnectError):
            self._request("cancel", group)

    def running(self, group: str) -> RunningJob:
        job: RunningJob = self._call("running", group)
        return job

    def unscheduled(self, group: str) -> bool:
        return bool(self._call("unscheduled", group))

    def cores(self) -> Cores:
        cores: Cores = self._call("cores")
        return cores

    def is_unknown_to_master(self) -> bool:
        return bool(self._call("is_unknown_to_master"))

    @property
    def process_alive(self) -> bool:
        return self._process.alive

    def alive(self) -> bool:
        try:
            return self._process.alive and bool(self._call("alive"))
        except ConnectError:
            return False

    def stop(self) -> None:
        with suppress(ConnectError, TimeoutError):
            self._request("stop").result(_STOP_TIMEOUT_S)
        self._process.kill()

    def kill(self) -> None:
        self.killed = True
        self._process.kill()

    def send_log_levels(self, levels: Mapping[str, int]) -> None:
        """Send the worker's log levels, which have changed, to the host."""
        with suppress(OSError), self._sending:
            self._link.send(LogLevels(levels))

    def _begin(self, endpoint: Endpoint, shipped: bool) -> None:
        try:
            self._process.begin(endpoint, shipped)
            while not isinstance(up := self._link.recv(), HostUp):
                _log_again(up)
        except (EOFError, OSError) as error:
            raise ConnectError(self._process.last_words() or "its process ended without a word") from error
        if up.error is not None:
            raise (ConfigError if up.for_good else ConnectError)(up.error)

    def _call(self, method: str, *arguments: object) -> Any:
        """Return the method's result. RetriableError if the JVM ends meanwhile, and the errors of ``Frames``."""
        return self._request(method, *arguments).result()

    def _request(self, method: str, *arguments: object) -> Future[Any]:
        answer: Future[Any] = Future()
        with self._lock:
            if self._over:
                raise RetriableError(_DEATH_MESSAGE)
            number = next(self._numbers)
            self._waiting[number] = answer
        try:
            with self._sending:
                self._link.send(Call(number, method, arguments))
        except OSError as error:
            raise RetriableError(_DEATH_MESSAGE) from error
        return answer

    def _listen(self) -> None:
        try:
            while True:
                message = self._link.recv()
                if isinstance(message, Answer):
                    self._on_answer(message)
                else:
                    _log_again(message)
        except (EOFError, OSError):
            pass
        finally:
            self._fail_waiting()

    def _fail_waiting(self) -> None:
        """Fail all calls that wait: the host has ended."""
        with self._lock:
            self._over = True
            left = list(self._waiting.values())
        for answer in left:
            answer.set_exception(RetriableError(_DEATH_MESSAGE))
        with self._sending:
            self._link.close()

    def _on_answer(self, message: Answer) -> None:
        with self._lock:
            answer = self._waiting.pop(message.number)
        if message.fault is None:
            answer.set_result(message.value)
        else:
            answer.set_exception(ERRORS[message.fault](message.error))


def _log_again(message: object) -> None:
    if isinstance(message, Log):
        log_again(message.logger, message.level, message.message, message.trace)


def _module_path() -> str:
    """Return the directory of headrace itself, followed by the environment's PYTHONPATH."""
    return os.pathsep.join(filter(None, [str(Path(__file__).resolve().parents[3]), os.environ.get("PYTHONPATH")]))
