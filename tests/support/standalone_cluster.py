# SPDX-License-Identifier: Apache-2.0
"""A real Spark standalone cluster of separate processes: a master, workers, and the executors that those start."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil
from pyspark.find_spark_home import _find_spark_home

from headrace.broker.child_process import start_child
from headrace.broker.free_port import free_port
from headrace.jvm.java_runtime import find_java, spark_java_home
from tests.support.polling import wait_for
from tests.support.processes import children_of, command_of, kill_all, python_daemons

_HOST = "127.0.0.1"
_JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -XX:-UsePerfData"

SMALL = {"spark.executor.cores": "1", "spark.executor.memory": "512m", "spark.executor.extraJavaOptions": _JAVA_OPTIONS}
"""Executors of one core each, for `spark.*` properties of a worker."""


@dataclass
class Daemon:
    """A master or a worker process; it can be killed, and started again at the same address."""

    name: str
    arguments: tuple[str, ...]
    directory: Path
    ready: str
    options: str = ""
    process: subprocess.Popen[bytes] | None = None
    seen: int = 0

    @property
    def log(self) -> str:
        file = self.directory / f"{self.name}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def start(self) -> None:
        """Start it and wait until it is ready."""
        self.launch()
        self.await_ready()

    def await_ready(self, seconds: float = 120) -> None:
        wait_for(lambda: self.log.count(self.ready) > self.seen, seconds, lambda: f"{self.name}\n{self.log[-3000:]}")

    def launch(self) -> None:
        """Start the process without waiting for anything."""
        spark_home = Path(_find_spark_home())
        self.seen = self.log.count(self.ready)
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
            "JAVA_HOME": str(spark_java_home(find_java())),
            "SPARK_HOME": str(spark_home),
            "SPARK_CONF_DIR": str(self.directory),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{_JAVA_OPTIONS} {self.options}",
            "SPARK_LOCAL_DIRS": str(self.directory / "local"),
        }
        command = [str(spark_home / "bin" / "spark-class"), *self.arguments]
        self.process = start_child(command, self.directory / f"{self.name}.log", environment)

    @property
    def launched(self) -> subprocess.Popen[bytes]:
        assert self.process is not None
        return self.process

    def kill(self) -> None:
        self.launched.kill()
        self.launched.wait()

    def executors(self) -> list[psutil.Process]:
        """The executors' JVMs, of a worker."""
        return [each for each in children_of(self.launched.pid) if "CoarseGrainedExecutorBackend" in command_of(each)]


class StandaloneCluster:
    """`workers` worker processes with `cores` cores each. With `memory` a master that is started anew knows all.

    Workers that are `apart` have addresses of their own, so that Spark takes them for machines: it makes second copies
    only on another one.
    """

    def __init__(
        self, directory: Path, workers: int = 2, cores: int = 2, memory: bool = False, apart: bool = False
    ) -> None:
        self._directory = directory
        self._cores = cores
        self._apart = apart
        port = free_port()
        self.url = f"spark://{_HOST}:{port}"
        recovery = f"-Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory={directory / 'recovery'}"
        self.master = Daemon(
            "master",
            ("org.apache.spark.deploy.master.Master", "--host", _HOST, "--port", f"{port}", "--webui-port", "0"),
            directory,
            "I have been elected leader",
            recovery if memory else "",
        )
        self.workers = [self._worker(number) for number in range(workers)]

    def __enter__(self) -> Self:
        try:
            self.master.start()
            for worker in self.workers:
                worker.launch()
            for worker in self.workers:
                worker.await_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill everything that is left."""
        daemons = [*self.workers, self.master]
        started = [daemon.process for daemon in daemons if daemon.process is not None]
        left = [below for process in started for below in children_of(process.pid, recursive=True)]
        for process in started:
            process.kill()
            process.wait()
        kill_all(left)

    def executors(self) -> list[psutil.Process]:
        return [executor for worker in self.workers for executor in worker.executors()]

    def busy_executors(self) -> list[psutil.Process]:
        """Those below which a task's process runs."""
        return [executor for executor in self.executors() if task_processes(executor)]

    def idle_executors(self) -> list[psutil.Process]:
        """Those whose Python is there, since it has run something, and runs nothing."""
        return [executor for executor in self.executors() if has_run(executor) and not task_processes(executor)]

    def _worker(self, number: int) -> Daemon:
        host = f"127.0.0.{number + 1}" if self._apart else _HOST
        return Daemon(
            f"worker-{number}",
            ("org.apache.spark.deploy.worker.Worker", "--host", host, "--port", "0", "--webui-port", "0", "--cores",
             f"{self._cores}", "--memory", "8g", "--work-dir", str(self._directory / f"work-{number}"), self.url),
            self._directory,
            "Successfully registered with master",
        )  # fmt: skip


def task_processes(executor: psutil.Process) -> list[psutil.Process]:
    """Processes of tasks below an executor: forks of its Python daemon."""
    return [child for daemon in python_daemons(executor) for child in children_of(daemon.pid)]


def has_run(executor: psutil.Process) -> bool:
    """Whether a process of its Python daemon has come to its end; the executor's log shows it."""
    try:
        log = Path(executor.cwd()) / "stderr"
    except psutil.Error:
        return False
    return log.exists() and "PythonRunner: Times" in log.read_text(errors="replace")
