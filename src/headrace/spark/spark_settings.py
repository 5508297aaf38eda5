# SPDX-License-Identifier: Apache-2.0
"""The Spark settings that the design needs, those it prefers, and the files Spark wants to find."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

JAVA_OPTIONS = "spark.driver.extraJavaOptions"

REQUIRED = {
    # A second copy of a running task would fence the first.
    "spark.speculation": "false",
    # One process per task, which ends with it.
    "spark.python.worker.reuse": "false",
    "spark.python.daemon.module": "headrace.spark.daemon",
}
PREFERRED = {
    # A job whose process was lost four times ends; a new one follows with backoff (``LaunchedTask``). So an engine that
    # can start no Python process at all says so instead of trying in silence for ever.
    "spark.master": "local[256,4]",
    "spark.app.name": "headrace",
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
}
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    # In local mode the JVM only schedules: the quick compiler and the small collector serve it best.
    JAVA_OPTIONS: "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -XX:-UsePerfData",
}

_LOG4J = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
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


def settings(spark: Mapping[str, str], directory: Path) -> dict[str, str]:
    """The SparkConf: what is required wins over the worker's ``spark.*`` properties, they over what is preferred."""
    merged = {**PREFERRED, "spark.local.dir": str(directory / "local"), **spark}
    if merged["spark.master"].startswith("local"):
        merged = {**LOCAL, **merged}
    return {**merged, **REQUIRED}


def write_log_settings(directory: Path) -> LogSettings:
    """Make the settings that keep Spark's log off the console."""
    log, settings = directory / "spark.log", directory / "log4j2.properties"
    settings.write_text(_LOG4J.format(log=log), encoding="utf-8")
    return LogSettings(settings, log)
