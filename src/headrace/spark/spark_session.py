# SPDX-License-Identifier: Apache-2.0
"""One JVM of Spark's with its session, made for running tasks."""

from __future__ import annotations

import functools
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.api.errors import ConnectError
from headrace.kafka.java_runtime import find_java, spark_java_home
from headrace.spark.spark_settings import write_log_settings
from headrace.spark.task_channel import Address

_log = logging.getLogger(__name__)
_STOP_TIME = 10.0


class SparkJvm:
    """One JVM with its SparkContext and the one DataFrame whose job is a task."""

    def __init__(self, conf: Mapping[str, str], directory: Path, address: Address, authkey: bytes) -> None:
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession

        from headrace.spark.executor_entry import run_attempt

        _forget_former_session()
        self._log = write_log_settings(directory)
        self._gateway = _launch_gateway(conf, directory)
        spark_conf = SparkConf(loadDefaults=False, _jvm=self._gateway.jvm)
        for name, value in conf.items():
            spark_conf.set(name, value)
        self._context = SparkContext(conf=spark_conf, gateway=self._gateway)
        session = SparkSession(self._context)
        attempt = functools.partial(run_attempt, address, authkey)
        self._job = session.range(1, numPartitions=1).mapInArrow(attempt, "done boolean")
        # The first job starts the Python daemon and compiles the plan, so that the first task need not.
        self._job.collect()
        _log.info("Spark %s is up, UI at %s, log in %s", self._context.version, self._context.uiWebUrl, self._log)

    def run(self, group: str, description: str) -> None:
        from headrace.spark.executor_entry import TASK_KEY

        self._context.setJobGroup(group, description, interruptOnCancel=True)
        self._context.setLocalProperty(TASK_KEY, group)
        self._job.collect()

    def cancel(self, group: str) -> None:
        try:
            self._context.cancelJobGroup(group)
        except Exception as error:
            _log.debug("cancelling %s: %s", group, error)

    def alive(self) -> bool:
        """Whether jobs can still be run; a cluster that gives the application up ends the context, not the JVM."""
        process: subprocess.Popen[bytes] = self._gateway.proc
        if process.poll() is not None:
            return False
        try:
            return not self._context._jsc.sc().isStopped()
        except Exception:
            return False

    def stop(self) -> None:
        """Stop the JVM in order, then by force; its Python daemon ends with it."""
        process: subprocess.Popen[bytes] = self._gateway.proc
        if self.alive():
            stopping = threading.Thread(target=self._stop_context, daemon=True)
            stopping.start()
            stopping.join(_STOP_TIME)
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(_STOP_TIME / 2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _stop_context(self) -> None:
        try:
            self._context.stop()
        except Exception as error:
            _log.debug("stopping Spark: %s", error)


def _launch_gateway(conf: Mapping[str, str], directory: Path) -> Any:
    """Spark's JVM with its console output in a file. It ends when our end of its standard input closes."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    os.environ["JAVA_HOME"] = str(spark_java_home(find_java()))
    os.environ["SPARK_CONF_DIR"] = str(directory)
    os.environ["PYSPARK_PYTHON"] = conf.get("spark.pyspark.python", sys.executable)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    source = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys([source, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
    )
    submit = SparkConf(loadDefaults=False, _jvm=None)
    for name, value in conf.items():
        submit.set(name, value)
    path = directory / "spark-console.log"
    with path.open("wb") as console, _temporary_files_in(directory):
        try:
            return launch_gateway(submit, {"stdout": console, "stderr": console})  # type: ignore[no-untyped-call]
        except Exception as error:
            # PySpark only knows that the JVM has ended; why is what the JVM said last.
            raise ConnectError(_reason(path) or str(error)) from error


@contextmanager
def _temporary_files_in(directory: Path) -> Iterator[None]:
    """PySpark makes a temporary directory while it starts the JVM: ours is removed even if that is cut short."""
    former, tempfile.tempdir = tempfile.tempdir, str(directory)
    try:
        yield
    finally:
        tempfile.tempdir = former


def _reason(console: Path) -> str | None:
    """The first line on the console that is not just a remark."""
    lines = (line.strip() for line in console.read_text(errors="replace").splitlines())
    told = (line for line in lines if line and not line.startswith(("WARNING:", "Using ", "Picked up ")))
    return next(told, None)


def _forget_former_session() -> None:
    """PySpark keeps one gateway per process for good; a dead one has to be forgotten by hand."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
