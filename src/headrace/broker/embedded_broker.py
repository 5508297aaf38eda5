# SPDX-License-Identifier: Apache-2.0
"""A real Kafka broker in a child process: one KRaft node on loopback, for trying things out, tests and benchmarks."""

from __future__ import annotations

import fcntl
import logging
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from headrace.api.errors import ConfigError, ConnectError
from headrace.broker.broker_files import (
    LOG_FILE,
    broker_command,
    has_run,
    server_properties,
    write_configuration,
    write_storage,
)
from headrace.broker.broker_log import written_from_now
from headrace.broker.broker_recovery import end_former_session
from headrace.broker.broker_template import BrokerTemplate, broker_template
from headrace.broker.child_process import start_child
from headrace.broker.free_port import LOOPBACK, check_free, free_port, is_free

log = logging.getLogger(__name__)

DEFAULT_JVM_OPTIONS = ("-Xmx512m", "-Xms128m", "-XX:-UsePerfData")
QUICK_START_JVM_OPTIONS = (*DEFAULT_JVM_OPTIONS, "-XX:TieredStopAtLevel=1")
"""For many short lives: 2 CPU seconds a start instead of 3.4, paid for with throughput."""
_PORT_ATTEMPTS = 3


class PortTakenError(ConnectError):
    """Another process took one of the broker's ports between its choice and its use."""


class EmbeddedBroker:
    """A broker, started and stopped any number of times on the same port and data.

    As a context manager it runs from entry to exit. It never outlives this process (on Linux, not even its SIGKILL).
    Methods are for one thread; properties may be read from any.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        port: int = 9092,
        properties: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = DEFAULT_JVM_OPTIONS,
        proxies: Mapping[int, int] | None = None,
    ) -> None:
        """`data_dir` None is a temporary directory that `close` removes, `port` 0 any free one, kept until then.

        `properties` go to server.properties and win over headrace's choice for a single node. `proxies` are further
        ports that the broker listens on, each with the port of the proxy before it that its clients are sent to.
        """
        self._temporary = Path(tempfile.mkdtemp(prefix="headrace-broker-")) if data_dir is None else None
        self._data_dir = (self._temporary or data_dir or Path()).absolute()
        self._port = port or free_port(*(proxies or ()))
        # A proxy has been given the port, and clients know that of a broker that has run.
        self._may_move = port == 0 and not proxies
        self._properties = dict(properties or {})
        self._jvm_options = tuple(jvm_options)
        self._proxies = dict(proxies or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` for clients."""
        return f"{LOOPBACK}:{self._port}"

    @property
    def data_dir(self) -> Path:
        """The directory of topics, configuration and log."""
        return self._data_dir

    @property
    def log_path(self) -> Path:
        """The path of the broker's log; nothing of it goes to the console."""
        return self._data_dir / LOG_FILE

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self, timeout: float = 60.0) -> None:
        """Start it, and return when it serves clients; do nothing if it runs already.

        The first start of all downloads Kafka's jars; `timeout` (seconds) does not count that.

        Raises:
            NoJavaError: no Java.
            ConfigError: busy port, a data directory that cannot be written, unknown jars.
            ConnectError: it ended, or did not get ready in time; the message gives the reason and names the log.
        """
        if self.pid is not None:
            return
        template = broker_template()
        deadline = time.monotonic() + timeout
        for attempt in range(_PORT_ATTEMPTS):
            if self._may_move and not is_free(self._port):
                self._port = free_port()
            try:
                self._start(template, deadline)
                break
            except PortTakenError:
                if attempt + 1 == _PORT_ATTEMPTS:
                    raise
        self._may_move = False

    def _start(self, template: BrokerTemplate, deadline: float) -> None:
        check_free(self._port)
        with ExitStack() as until_ready:
            with self._locked_data_dir() as lock:
                properties = self._prepare(template.checkpoint)
                if has_run(self._data_dir):
                    end_former_session(template, self._data_dir, deadline)
                written = until_ready.enter_context(written_from_now(self.log_path))
                options = (*template.jvm_options, *self._jvm_options)
                command = broker_command(
                    template.java, template.jars, self._data_dir, options, ("kafka.Kafka", str(properties))
                )
                # The broker inherits the lock, and so holds it for as long as it lives.
                self._process = start_child(command, self.log_path, inherit=[lock.fileno()])
            try:
                self._await_ready(self._process, deadline, written)
            except BaseException:
                self.kill()
                raise

    def stop(self, timeout: float = 15.0) -> None:
        """Shut it down in order, by force after `timeout` seconds. Its data stays."""
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            log.warning("The embedded broker did not stop within %s s: killing it", timeout)
        finally:
            self.kill()

    def kill(self) -> None:
        """End it as a crash would (SIGKILL), and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self, timeout: float = 60.0) -> None:
        """Stop and start on the same port and data."""
        self.stop()
        self.start(timeout)

    def close(self) -> None:
        """Stop it for good, and remove the data directory if it was a temporary one."""
        self.stop()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _locked_data_dir(self) -> Iterator[IO[str]]:
        # Kafka locks it, too, but only after it has opened the metadata log, which disturbs a broker that runs on it.
        try:
            self._data_dir.mkdir(parents=True, exist_ok=True)
            with (self._data_dir / ".headrace.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield lock
        except BlockingIOError as error:
            raise self._data_dir_error("is in use by another broker") from error
        except OSError as error:
            raise self._data_dir_error(f"cannot be written: {error.strerror or error}") from error

    def _data_dir_error(self, problem: str) -> ConfigError:
        path = str(self._data_dir)
        return ConfigError(f"The embedded broker's data directory {path} (data_dir) {problem}", "data_dir", path)

    def _prepare(self, checkpoint: bytes) -> Path:
        write_storage(self._data_dir, checkpoint)
        controller_port = free_port(self._port, *self._proxies)
        settings = server_properties(self._port, controller_port, self._data_dir, self._properties, self._proxies)
        return write_configuration(self._data_dir, settings)

    def _await_ready(self, process: subprocess.Popen[bytes], deadline: float, written: Callable[[], bytes]) -> None:
        admin = AdminClient(_probe_config(self.bootstrap_servers))
        while process.poll() is None:
            if _answers(admin):
                return
            if time.monotonic() > deadline:
                raise ConnectError(f"The embedded broker did not get ready in time. Its log: {self.log_path}")
            time.sleep(0.02)
        reason = reason_of_death(written().decode(errors="replace"))
        self._process = None
        message = f"The embedded broker ended with code {process.returncode}: {reason}. Its log: {self.log_path}"
        raise PortTakenError(message) if "Address already in use" in reason else ConnectError(message)


def reason_of_death(log_text: str) -> str:
    """Return the reason in a dead broker's log: the last exception, else the last error, else the last line."""
    lines = [line.strip() for line in log_text.splitlines() if line.strip()]
    exceptions = [line for line in lines if re.match(r"(Caused by: )?[\w.$]+(Exception|Error)\b: ", line)]
    fatal = [line for line in lines if re.search(r"\] (ERROR|FATAL) ", line)]
    chosen = (exceptions or fatal or lines or ["it wrote nothing"])[-1]
    return re.sub(r"^(Caused by: )?([\w]+\.)+[\w$]+: |^\[[^]]*\] \w+ ", "", chosen)


def _probe_config(bootstrap_servers: str) -> dict[str, str | int | float | bool]:
    return {
        "bootstrap.servers": bootstrap_servers,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 50,
        "log_level": 0,
    }


def _answers(admin: AdminClient) -> bool:
    """Return True if the broker is registered and leads all of its partitions; waits a second at most."""
    try:
        cluster = admin.list_topics(timeout=1.0)
    except KafkaException:
        return False
    partitions = (partition for topic in cluster.topics.values() for partition in topic.partitions.values())
    return bool(cluster.brokers) and all(partition.leader >= 0 for partition in partitions)
