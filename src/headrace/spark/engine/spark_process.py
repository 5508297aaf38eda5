# SPDX-License-Identifier: Apache-2.0
"""The operating system's process of Spark's JVM, a child from its first moment on, so that it can always be ended."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from headrace.api.errors import ConnectError
from headrace.config.engine_config import DEFAULT_CONSOLE, ConsoleLimits
from headrace.jvm.java_runtime import ARCHIVE_IN_PLACE, find_java, spark_java_home
from headrace.model.process_group import end_with_this_thread, ignore_stop_signals
from headrace.spark.engine.class_archive import class_archive
from headrace.spark.engine.console_log import REMARKS, Console
from headrace.spark.engine.master import is_local
from headrace.spark.engine.runtime_directory import VARIABLE
from headrace.spark.engine.spark_settings import MASTER, LogSettings, write_log_settings
from headrace.spark.engine.submission import Submission
from headrace.spark.process.python_path import PLUGIN_PATH_VARIABLE

_CHECK_INTERVAL_S: Final = 0.05
_LAST_WORDS_TIMEOUT_S: Final = 2.0
_ERROR: Final = " ERROR "
_SOCKET_NAME: Final = 43
"""Characters of a socket's name, as Spark makes it, with the separator."""
_MAX_SOCKET_PATH: Final = 103
"""Characters of a socket's path, on the system that allows least."""
_NO_CONFIGURATION: Final = "/nonexistent/headrace"
"""Stands for Spark's configuration directory: all settings are the worker's."""
_LAUNCHER_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""For the short-lived JVM of Spark's launcher: the quickest to start."""
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_ENVIRONMENT = threading.Lock()


class SparkProcess:
    """Spark's JVM, started by the constructor. It ends when this process' end of its standard input closes.

    PySpark's own launcher blocks until the JVM answers; a JVM whose worker ends meanwhile would stay.
    """

    def __init__(
        self,
        conf: Mapping[str, str],
        directory: Path,
        plugin_path: Sequence[str] = (),
        console: ConsoleLimits = DEFAULT_CONSOLE,
        *,
        tied: bool = False,
    ) -> None:
        """``directory`` is for logs and the JVM's connection file; ``plugin_path`` has the plugins' directories.

        A process that is ``tied`` to the calling thread is killed when that ends, if the system can do that.

        Raises:
            NoJavaError: there is no Java 17 or 21.
        """
        self._connection_file = directory / f"gateway-{time.monotonic_ns()}"
        self._console = console_file(directory)
        logs, java_home = write_log_settings(directory), spark_java_home(find_java())
        self._log, self._logged = logs.log, _size(logs.log)
        self._submission = Submission.write_files(directory, conf, _java_options(directory, logs))
        self._process = subprocess.Popen(
            [*_submit_command(), f"--properties-file={self._submission.properties}", "pyspark-shell"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                **own_environment(),
                **_environment(conf, java_home, plugin_path),
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._connection_file),
                VARIABLE: str(directory),
            },
            preexec_fn=_preparation(end_with_this_thread() if tied else None),
        )
        assert self._process.stdout is not None
        self._printed = Console(self._process.stdout, self._console, console)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def gateway(self) -> Any:
        """Wait for the JVM, and return PySpark's connection to it.

        Raises:
            ConnectError: the JVM has ended; the message is its last error.
        """
        from pyspark.java_gateway import launch_gateway

        where = self._await_connection()
        self._submission.remove()
        with _environment_variables(where):
            return launch_gateway()  # type: ignore[no-untyped-call]

    def last_words(self) -> str | None:
        """Return the last error that the JVM has printed, or logged in Spark's log; None if there is none."""
        return last_words(self._console, self._log, self._logged)

    def end(self, within: float) -> None:
        """End the JVM in order or, after ``within`` seconds, by force; its Python daemon ends with it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _await_connection(self) -> dict[str, str]:
        from pyspark.serializers import UTF8Deserializer, read_int

        while not self._connection_file.exists():  # the JVM makes it whole, by a rename
            if not self.alive:
                self._printed.await_end(_LAST_WORDS_TIMEOUT_S)
                raise ConnectError(self.last_words() or "its JVM ended without a word")
            time.sleep(_CHECK_INTERVAL_S)
        with self._connection_file.open("rb") as file:
            port = read_int(file)  # type: ignore[no-untyped-call]
            secret = UTF8Deserializer().loads(file)  # type: ignore[no-untyped-call]
        self._connection_file.unlink()
        return {_PORT: str(port), _SECRET: secret}


def own_environment() -> dict[str, str]:
    """Return this process' environment, without the variables that PySpark gets for a moment to find a JVM."""
    with _ENVIRONMENT:
        return dict(os.environ)


def console_file(directory: Path) -> Path:
    """Return the file of the JVM's console output."""
    return directory / "spark-console.log"


def last_words(console: Path, log: Path, begin: int = 0) -> str | None:
    """Return a JVM's last error on its console, or in Spark's log after ``begin``; None if there is none."""
    with suppress(OSError):
        return _reason(console) or _last_error(log, begin)
    return None


def _preparation(tie: Callable[[], None] | None) -> Callable[[], None]:
    """Return the function that runs in the new process before it becomes the JVM."""

    def prepare() -> None:
        ignore_stop_signals()
        if tie is not None:
            tie()

    return prepare


def _submit_command() -> list[str]:
    from pyspark.find_spark_home import _find_spark_home

    return [str(Path(_find_spark_home()) / "bin" / "spark-submit")]


def _environment(conf: Mapping[str, str], java_home: Path, plugin_path: Sequence[str]) -> dict[str, str]:
    source, plugins = str(Path(__file__).resolve().parents[3]), [str(Path(place).absolute()) for place in plugin_path]
    # The JVM itself starts Python for data sources that are written in Python, with this variable alone.
    path = [source, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *plugins]
    return {
        "JAVA_HOME": str(java_home),
        "SPARK_CONF_DIR": _NO_CONFIGURATION,
        "SPARK_CONNECT_MODE": "0",
        "SPARK_LAUNCHER_OPTS": os.environ.get("SPARK_LAUNCHER_OPTS", _LAUNCHER_OPTIONS),
        "PYSPARK_PYTHON": conf.get("spark.pyspark.python", sys.executable),
        "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1"),
        # Else the working directory, where connectors may write, would stand first on the path of these processes.
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
        **_ui_at_loopback(conf, os.environ),
        PLUGIN_PATH_VARIABLE: os.pathsep.join(plugins),
    }


def _ui_at_loopback(conf: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for Spark's UI to listen at loopback only: there is no setting for its address.

    Those of the worker's environment win.
    """
    if "SPARK_LOCAL_IP" in environment:
        return {}
    variables = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_PUBLIC_DNS": "localhost"}
    if is_local(conf.get(MASTER, "local")):
        variables["SPARK_LOCAL_HOSTNAME"] = socket.gethostname()  # only the name by which tasks' host is shown
    return {name: environment.get(name, value) for name, value in variables.items()}


def _java_options(directory: Path, logs: LogSettings) -> list[str]:
    """Return the JVM's options beside the session's settings.

    Log4j's settings are given by an option, not on the class path, which has to be the same for each session: else its
    classes could not come from the archive.
    """
    options = [
        f"-Dlog4j2.configurationFile={logs.settings.as_uri()}",
        f"-XX:ErrorFile={directory / 'hs_err_pid%p.log'}",  # has its options in it
        # In whatever thread: a JVM that has lost a thread to it would continue without that.
        "-XX:+ExitOnOutOfMemoryError",
        *ARCHIVE_IN_PLACE,
        *class_archive().jvm_options,
    ]
    if (temporary := _temporary(directory)) is not None:
        options.append(f"-Djava.io.tmpdir={temporary}")
    return options


def _temporary(directory: Path) -> Path | None:
    """Make the JVM's directory of temporary files and sockets; None if a socket's path would be too long."""
    temporary = directory / "tmp"
    if len(os.fsencode(temporary)) + _SOCKET_NAME > _MAX_SOCKET_PATH:
        return None
    temporary.mkdir(mode=0o700, exist_ok=True)
    return temporary


@contextmanager
def _environment_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment within the block: only by them PySpark finds a JVM that runs already."""
    with _ENVIRONMENT:
        os.environ.update(variables)
        try:
            yield
        finally:
            for name in variables:
                del os.environ[name]


def _reason(console: Path) -> str | None:
    """Return the first line on the console that is not just a remark."""
    lines = (line.strip() for line in console.read_text(errors="replace").splitlines())
    errors = (line for line in lines if line and not line.startswith(REMARKS))
    return next(errors, None)


def _last_error(log: Path, begin: int) -> str | None:
    """Return the last error in Spark's log after ``begin``, without its time and trace."""
    with log.open("rb") as file:
        file.seek(begin if begin <= _size(log) else 0)  # a log that is shorter now is a new one
        lines = file.read().decode(errors="replace").splitlines()
    return next((line.partition(_ERROR)[2] for line in reversed(lines) if _ERROR in line), None)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
