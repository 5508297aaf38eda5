# SPDX-License-Identifier: Apache-2.0
"""The Spark settings that are required, those that are preferred, and the files that Spark reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from headrace.config.engine_config import EngineConfig
from headrace.config.secret_properties import SPARK_REDACTION
from headrace.spark.channel.endpoint import Interface
from headrace.spark.engine.master import host_towards, is_local, is_loopback

MASTER = "spark.master"
APP_NAME = "spark.app.name"
UI = "spark.ui.enabled"
DRIVER_HOST = "spark.driver.host"
BIND_ADDRESS = "spark.driver.bindAddress"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LOCAL_DIRECTORIES = "spark.local.dir"

REQUIRED = {
    # One process per task, which ends with it.
    "spark.python.worker.reuse": "false",
    "spark.python.daemon.module": "headrace.spark.process.daemon",
}
REFUSED = (
    # With it Spark would make a second copy of a job's only Spark task, too. A task's own job has one, whose copy would
    # fence it again and again; so speculation is for frame jobs, which take no harm (invariant 8).
    "spark.speculation.task.duration.threshold",
)
PREFERRED = {
    # A job whose process was lost four times ends; a new one follows with backoff (``LaunchedTask``). So an engine that
    # can start no Python process at all reports that instead of trying silently without limit.
    MASTER: "local[256,4]",
    APP_NAME: "headrace",
    "spark.scheduler.mode": "FAIR",
    # TCP to Python workers costs 40 ms a batch by delayed acknowledgements.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.task.killTimeout": "2s",
    "spark.locality.wait": "0",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "2000",
    "spark.sql.ui.retainedExecutions": "100",
    "spark.log.level": "WARN",
    "spark.redaction.regex": SPARK_REDACTION,
    # The UI has no login: so it is read-only.
    "spark.ui.killEnabled": "false",
    "spark.ui.threadDumpsEnabled": "false",
    "spark.ui.heapHistogramEnabled": "false",
}
# The driver's JVM only schedules: the quick compiler, the small collector and a small heap to begin with serve it best.
# By default the first heap is a 64th of the machine's memory, and all of it is used before anything is collected.
_SCHEDULER_ONLY = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -XX:-UsePerfData -Xms64m"
LOCAL = {
    BIND_ADDRESS: "127.0.0.1",
    DRIVER_HOST: "127.0.0.1",
    # By a secret that Spark generates: without it any user of this machine could use the driver's ports.
    "spark.authenticate": "true",
    "spark.driver.memory": "512m",
    # Spark starts one for each of the master's slots, and hardly any has work.
    "spark.rpc.netty.dispatcher.numThreads": "4",
    JAVA_OPTIONS: _SCHEDULER_ONLY,
}
CLUSTER = {
    JAVA_OPTIONS: _SCHEDULER_ONLY,
    # XML in a record must not make executors connect to the address that it names; the driver's JVM gets the same once
    # it is up. A JVM that has lost a thread to a lack of memory would continue without it.
    "spark.executor.extraJavaOptions": "-Djavax.xml.accessExternalDTD= -XX:+ExitOnOutOfMemoryError",
    # A process that dies is noticed at once. A machine that vanishes is noticed after three heartbeats or so, not after
    # Spark's two minutes: its tasks hang until then.
    "spark.executor.heartbeatInterval": "3s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "12000",
    "spark.network.timeoutInterval": "2s",
    # An executor whose heartbeats do not reach its driver ends itself; its tasks did so before.
    "spark.executor.heartbeat.maxFailures": "20",
    # An executor that has lost a task's process twice is not tried a third time by the same job.
    "spark.excludeOnFailure.taskAndStage.enabled": "true",
    "spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor": "2",
    "spark.excludeOnFailure.task.maxTaskAttemptsPerNode": "4",
    # Idle executors are the reserve on which a lost task is back within a second or two.
    "spark.dynamicAllocation.executorIdleTimeout": "600s",
}

# Without the two warnings of each start.
_LOG4J = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePermissions = rw-------
appender.file.filePattern = {log}.%i
appender.file.filter.own.type = RegexFilter
appender.file.filter.own.regex = .*spark\\.local\\.dir will be overridden.*
appender.file.filter.own.onMatch = DENY
appender.file.filter.own.onMismatch = NEUTRAL
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %enc{{%m}}{{CRLF}}%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
"""


class LogSettings(NamedTuple):
    """The file with Log4j's settings, and the log itself."""

    settings: Path
    log: Path


def settings(spark: Mapping[str, str], directory: Path, rest_guarded: bool = False) -> dict[str, str]:
    """Return the SparkConf: required settings win over the worker's ``spark.*`` properties, these over preferred ones.

    ``rest_guarded``: the REST API needs a login, so Spark's UI, which has none, is off unless a property turns it on.
    """
    preferred = {**PREFERRED, UI: "false"} if rest_guarded else PREFERRED
    merged = {**preferred, LOCAL_DIRECTORIES: str(directory / "local"), **spark}
    if is_local(merged[MASTER]):
        merged = {**LOCAL, **merged}
    else:
        merged = {**CLUSTER, **merged}
        merged.setdefault(DRIVER_HOST, host_towards(merged[MASTER]))
    return {name: value for name, value in {**merged, **REQUIRED}.items() if name not in REFUSED}


def ignored(spark: Mapping[str, str]) -> list[str]:
    """Return the worker's properties that ``settings`` overrides or drops, each with the value that holds instead."""
    required = [
        f"{name}={spark[name]}: it is {REQUIRED[name]}"
        for name in REQUIRED
        if spark.get(name, REQUIRED[name]) != REQUIRED[name]
    ]
    return [*required, *(f"{name}={spark[name]}: it is not set" for name in REFUSED if name in spark)]


def interface(conf: Mapping[str, str], config: EngineConfig) -> Interface:
    """Return the interface at which tasks on a cluster reach this worker: that of the driver."""
    host = conf[DRIVER_HOST]
    tls = config.channel_tls == "always" or (config.channel_tls == "auto" and not is_loopback(host))
    return Interface(host, conf.get(BIND_ADDRESS, host), config.channel_port, tls)


def cores_per_task(conf: Mapping[str, str]) -> int:
    """Return Spark's own setting; Spark itself refuses one that is no number."""
    given = conf.get("spark.task.cpus", "1")
    return int(given) if given.isdecimal() else 1


def log_file(directory: Path) -> Path:
    """Return the file of Spark's log."""
    return directory / "spark.log"


def write_log_settings(directory: Path) -> LogSettings:
    """Write the settings that keep Spark's log off the console."""
    log, settings = log_file(directory), directory / "log4j2.properties"
    settings.write_text(_LOG4J.format(log=log), encoding="utf-8")
    return LogSettings(settings, log)
