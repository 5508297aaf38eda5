# SPDX-License-Identifier: Apache-2.0
"""One JVM of Spark's with its session, made for running tasks."""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

from headrace.spark.spark_process import SparkProcess
from headrace.spark.task_channel import Address

_log = logging.getLogger(__name__)
_STOP_TIME = 10.0
_ENDING_TIME = 5.0
_TASK_PLAN = {
    # A plan of one row gains nothing from code made for it, and to make that takes a tenth of the time of a start.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of the one session that runs tasks; others, for frames, have Spark's own."""


class SparkJvm:
    """One JVM with its SparkContext and the one DataFrame whose job is a task."""

    def __init__(self, process: SparkProcess, conf: Mapping[str, str], address: Address, authkey: bytes) -> None:
        """Blocks until the session is up; to kill ``process`` ends that, and an error kills it."""
        self._process = process
        try:
            self._context, self._job = _session(process, conf, address, authkey)
        except BaseException:
            process.kill()
            raise
        _log.info("Spark %s is up, UI at %s", self._context.version, self._context.uiWebUrl)

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
        if not self._process.alive:
            return False
        try:
            return not self._context._jsc.sc().isStopped()
        except Exception:
            return False

    def stop(self, ending: float = _ENDING_TIME) -> None:
        """Stop the JVM in order, then, ``ending`` seconds later, by force."""
        if self.alive():
            stopping = threading.Thread(target=self._stop_context, daemon=True)
            stopping.start()
            stopping.join(_STOP_TIME)
        self._process.end(ending)

    def _stop_context(self) -> None:
        try:
            self._context.stop()
        except Exception as error:
            _log.debug("stopping Spark: %s", error)


def _session(process: SparkProcess, conf: Mapping[str, str], address: Address, authkey: bytes) -> tuple[Any, Any]:
    """The context, and the DataFrame whose job is an attempt at a task."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    from headrace.spark.executor_entry import run_attempt

    _forget_former_session()
    os.environ["PYSPARK_PYTHON"] = conf.get("spark.pyspark.python", sys.executable)
    gateway = process.gateway()
    spark_conf = SparkConf(loadDefaults=False, _jvm=gateway.jvm)
    for name, value in conf.items():
        spark_conf.set(name, value)
    context = SparkContext(conf=spark_conf, gateway=gateway)
    attempt = functools.partial(run_attempt, address, authkey)
    session = SparkSession(context)
    for name, value in _TASK_PLAN.items():
        session.conf.set(name, value)
    job = session.range(1, numPartitions=1).mapInArrow(attempt, "done boolean")
    # The first job starts the Python daemon and compiles the plan, so that the first task need not.
    job.collect()
    return context, job


def _forget_former_session() -> None:
    """PySpark keeps one gateway per process for good; a dead one has to be forgotten by hand."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
