# SPDX-License-Identifier: Apache-2.0
"""The JVM of Spark's of this process, with its SparkContext and sessions."""

from __future__ import annotations

import functools
import logging
import os
import pickle
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.api.errors import ConnectError
from headrace.plugins.installed import register_plugins
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.channel.messages import FrameJobEnded, RunFrameJob
from headrace.spark.engine.frame_runs import FrameRuns, activate
from headrace.spark.engine.jvm import RunningJob, running_job
from headrace.spark.engine.numpy_arguments import look_at_numpy_values_only
from headrace.spark.engine.placement import Executor, Placement, WarmUp
from headrace.spark.engine.shipment import Shipment
from headrace.spark.engine.slots import Cores
from headrace.spark.engine.spark_process import SparkProcess
from headrace.spark.engine.spark_settings import cores_per_task
from headrace.spark.errors.error_texts import first_line, nearly_full, of_java, text_of

log = logging.getLogger(__name__)
_STOP_TIMEOUT_S = 10.0
_EXECUTORS_TIMEOUT_S = 8.0
_EXECUTORS_SETTLE_S = 1.0
_CHECK_INTERVAL_S = 0.1
_END_TIMEOUT_S = 5.0
_FRAMES = {
    # A batch is small: to deal it out to 200 partitions, Spark's default, would take seconds.
    "spark.sql.shuffle.partitions": "1",
    # Connect's timestamps are UTC's, wherever the worker is.
    "spark.sql.session.timeZone": "UTC",
    # Spark's default, INT96, does not say that a timestamp is an instant, and is read wrongly by others after 2262.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # A query reads the batch and the tables that it was given, not every file that the worker may read.
    "spark.sql.runSQLOnFiles": "false",
}
"""Settings of sessions for frames, unless the worker's properties have others."""
_LOCAL_FRAMES = {
    # In local mode there are many more slots than processors.
    "spark.sql.leafNodeDefaultParallelism": str(os.cpu_count() or 1),
}
_NO_OUTSIDE_DTD = ("javax.xml.accessExternalDTD", "")
"""System property of the JVM: XML in a record must not make it connect to the address that it names."""
_NATIVE_CODE = ("org.xerial.snappy.Snappy", "com.github.luben.zstd.Zstd")
"""Codecs of files, and of data that Spark's jobs exchange."""
_QUERY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_DYNAMIC = "spark.dynamicAllocation.enabled"
_ANY_NUMBER = 2**31 - 1


class SparkJvm:
    """A JVM with its SparkContext and the RDD whose job is an attempt at a task. Implements ``jvm.Jvm``."""

    def __init__(
        self, process: SparkProcess, conf: Mapping[str, str], endpoint: Endpoint, shipment: Shipment | None = None
    ) -> None:
        """Start Spark, and wait until jobs can be run; killing ``process`` ends that, and an error kills it.

        Raises:
            ConnectError: Spark could not be started.
        """
        self.killed = False
        """True if it was ended on purpose, while jobs ran."""
        self._process = process
        self._cores_per_task = cores_per_task(conf)
        self._placement = Placement(self._cores_per_task)
        self._placing = threading.Lock()
        self._jobs: dict[str, Any] = {}
        begun = time.monotonic()
        self._session: Any = None
        self._remote = shipment is not None
        self._endpoint = endpoint
        self._frames = FrameRuns(self.frame_session)
        self._warm_up = WarmUp(self._executors, self._start_python)
        try:
            self._start(conf, shipment)
        except Exception as error:
            # Read while the JVM is there; the error of a broken connection does not name the reason.
            known = of_java(error) or isinstance(error, ConnectError)
            message = first_line(error) if known else process.last_words() or first_line(error)
            process.kill()
            raise ConnectError(message) from error
        except BaseException:
            process.kill()
            raise
        ui, took = self._context.uiWebUrl or "no address (off)", time.monotonic() - begun
        log.info("Spark %s is up, UI at %s, after %.1f s", self._context.version, ui, took)

    def run_task_job(self, group: str, description: str) -> None:
        """Run one task's job to its end."""
        from headrace.spark.process.executor_entry import TASK_KEY

        self._context.setJobGroup(group, description, interruptOnCancel=True)
        self._context.setLocalProperty(TASK_KEY, group)
        executor = self._placement.place(group, self._executors()) if self._remote else None
        try:
            (self._job if executor is None else self._job_at(executor.location)).collect()
        finally:
            self._placement.forget(group)

    def _start(self, conf: Mapping[str, str], shipment: Shipment | None) -> None:
        self._context = _context(self._process, conf, shipment)
        # Not by an option of the JVM's: Ivy, which has fetched packages in it by now, reads DTDs.
        self._context._jvm.java.lang.System.setProperty(*_NO_OUTSIDE_DTD)
        _load_native_code(self._context._jvm)
        self._job = _attempts(self._context.parallelize([None], 1), self._endpoint)
        if not self._remote:
            # The first job starts the Python daemon, so that the first task need not. A cluster may have no core
            # for it, and a task that waits for one can report that.
            self._job.collect()
        else:
            self._await_executors()
            self._warm_up.start()

    def _start_python(self, executor: Executor) -> None:
        self._context.setJobGroup("warm-up", f"headrace: Python on executor {executor.id}")
        self._job_at(executor.location).collect()

    def _job_at(self, location: str) -> Any:
        """Return an attempt's RDD that prefers one executor."""
        with self._placing:
            if location not in self._jobs:
                self._jobs[location] = _attempts(_placed(self._context, location), self._endpoint)
            return self._jobs[location]

    def frame_session(self) -> Any:
        """Return a new session with its own views and settings, for short jobs on data that comes with them.

        Plugins are registered in it, by running their code, and it is the active one of the calling thread.
        """
        from pyspark.sql import SparkSession

        with self._placing:
            # Not at the start: tasks need none, and it takes as long as Spark itself.
            self._session = self._session or SparkSession(self._context)
        session = self._session.newSession()
        for name, value in (_FRAMES if self._remote else _FRAMES | _LOCAL_FRAMES).items():
            if not self._context.getConf().contains(name):
                session.conf.set(name, value)
        activate(session)
        register_plugins(session)
        return session

    def run_frame_job(self, key: str, group: str, description: str, request: RunFrameJob) -> FrameJobEnded:
        """Run a frame job of the task's launch ``key``; jobs of a launch share a session."""
        return self._frames.run_frame_job(key, group, description, request)

    def close_frame_session(self, key: str) -> None:
        """Close the session of the launch ``key``: no frame job of it follows."""
        self._frames.close_session(key)

    def cancel(self, group: str) -> None:
        try:
            self._context.cancelJobGroup(group)
        except Exception as error:
            log.debug("cancelling %s: %s", group, text_of(error))

    def running(self, group: str) -> RunningJob:
        """Return the newest job of a group, and its executor."""
        return running_job(self._context, group)

    def unscheduled(self, group: str) -> bool:
        """Return True if a job of the group is there of which nothing runs."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [
            tracker.getStageInfo(stage) for job in jobs if job and job.status == "RUNNING" for stage in job.stageIds
        ]
        return bool(stages) and not any(stage and stage.numActiveTasks for stage in stages)

    def cores(self) -> Cores:
        """Return the executors' cores, as Spark has last counted them; in local mode the driver is the one executor."""
        executors = self._executors()
        total, busy = (sum(getattr(executor, what) for executor in executors) for what in ("cores", "busy"))
        return Cores(len(executors), total, busy)

    def _await_executors(self) -> None:
        """Wait until no more executors come for a moment: the first would get all the tasks that wait by then."""
        begun = changed = time.monotonic()
        seen = 0
        while (now := time.monotonic()) - begun < _EXECUTORS_TIMEOUT_S:
            count = len(self._executors())
            if count != seen:
                seen, changed = count, now
            elif seen and now - changed >= _EXECUTORS_SETTLE_S:
                return
            time.sleep(_CHECK_INTERVAL_S)

    def _executors(self) -> list[Executor]:
        """Return the executors with cores; a driver has any in local mode only."""
        listed = self._context._jsc.sc().statusStore().executorList(True)
        return [
            Executor(
                each.id(),
                each.hostPort().rpartition(":")[0],
                each.totalCores(),
                each.activeTasks() * self._cores_per_task,
                each.totalTasks() > 0,
            )
            for each in map(listed.apply, range(listed.size()))
            if each.totalCores() > 0
        ]

    def is_unknown_to_master(self) -> bool:
        """Return True if a standalone master does not know this application: it was restarted without recovery.

        Spark never finds that out. This requests as many executors from the master as the application may have anyway;
        it refuses, or the request is lost, since Spark keeps its connection to the master's former process.
        """
        context = self._context
        if not context.master.startswith("spark://") or context.getConf().get(_DYNAMIC, "false") == "true":
            return False
        nowhere = context._jvm.PythonUtils.toScalaMap({})
        try:
            return not context._jsc.sc().requestTotalExecutors(_ANY_NUMBER, 0, nowhere)
        except Exception as error:
            log.debug("asking the master: %s", text_of(error))
            return True

    @property
    def process_alive(self) -> bool:
        """True if the JVM's process is there, by the operating system alone."""
        return self._process.alive

    def alive(self) -> bool:
        """Return True if jobs can still be run; a cluster that drops the application ends its context, not the JVM."""
        if not self._process.alive:
            return False
        try:
            return not self._context._jsc.sc().isStopped()
        except Exception:
            return False

    def send_log_levels(self, levels: Mapping[str, int]) -> None:
        """Do nothing: this process' loggers are the worker's."""

    def stop(self, ending: float = _END_TIMEOUT_S) -> None:
        """Stop the JVM in order, then, ``ending`` seconds later, by force."""
        self._warm_up.stop()
        if self.alive():
            stopping = threading.Thread(target=self._stop_context, daemon=True)
            stopping.start()
            stopping.join(_STOP_TIMEOUT_S)
        self._process.end(ending)

    def kill(self) -> None:
        """End the JVM at once, with all jobs."""
        self.killed = True
        self._warm_up.stop()
        self._process.kill()

    def _stop_context(self) -> None:
        try:
            self._context.stop()
        except Exception as error:
            log.debug("stopping Spark: %s", text_of(error))


def _context(process: SparkProcess, conf: Mapping[str, str], shipment: Shipment | None) -> Any:
    from pyspark import SparkConf, SparkContext

    _forget_former_session()
    silence_query_loggers()
    archive = shipment.pack() if shipment is not None else None  # while the JVM starts
    os.environ["PYSPARK_PYTHON"] = conf.get("spark.pyspark.python", sys.executable)
    gateway = process.gateway()
    look_at_numpy_values_only(gateway)
    spark_conf = SparkConf(loadDefaults=False, _jvm=gateway.jvm)
    for name, value in conf.items():
        spark_conf.set(name, value)
    context = SparkContext(conf=spark_conf, gateway=gateway)
    # PySpark prints a stack trace when the JVM ends without closing its connection for accumulators.
    accumulators: Any = context._accumulatorServer
    accumulators.handle_error = _on_accumulators_lost
    if archive is not None:
        context.addArchive(archive)
    return context


def silence_query_loggers() -> None:
    """Have PySpark not print each query error as JSON with the JVM's stack trace; its message is reported anyway."""
    from pyspark.logger import PySparkLogger

    for name in _QUERY_LOGGERS:
        # Not by its level: that of the root logger, if a user changes it, is set on all that have one.
        PySparkLogger.getLogger(name).handlers[:] = [logging.NullHandler()]


def _on_accumulators_lost(request: object, client: object) -> None:
    log.debug("Spark's JVM has closed its connection for accumulators")


def _load_native_code(jvm: Any) -> None:
    """Have codecs unpack their native code now: if the disk is full at their first file, they never try again.

    ConnectError if it is full now: another JVM is started later. A codec without native code works all the same.
    """
    temporary = Path(jvm.java.lang.System.getProperty("java.io.tmpdir"))
    for name in _NATIVE_CODE:
        try:
            jvm.java.lang.Class.forName(name)
        except Exception as error:
            if nearly_full([temporary]):
                raise ConnectError(f"No space left on device: {name} cannot unpack its native code") from error
            log.debug("native code of %s: %s", name, text_of(error))


def _attempts(one: Any, endpoint: Endpoint) -> Any:
    """Return the RDD whose job is an attempt at a task, from an RDD of one element."""
    from headrace.spark.process.executor_entry import run_attempt

    return one.mapPartitions(functools.partial(run_attempt, endpoint))


def _placed(context: Any, location: str) -> Any:
    """Return an RDD of one element that Spark prefers to have at ``location``."""
    from pyspark import RDD, CPickleSerializer

    jvm = context._jvm
    element = jvm.scala.Tuple2(bytearray(pickle.dumps(None)), jvm.PythonUtils.toSeq([location]))
    rdd = context._jsc.sc().makeRDD(jvm.PythonUtils.toSeq([element]), jvm.scala.reflect.ClassTag.Object())
    return RDD(rdd.toJavaRDD(), context, CPickleSerializer())


def _forget_former_session() -> None:
    """Have PySpark forget a dead gateway: it keeps one per process for good."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
