# SPDX-License-Identifier: Apache-2.0
"""Properties of a worker for its engine: Spark, the task channel, frame jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.frame_sql import FUNCTIONS_ALLOWED, REFUSED_FUNCTIONS
from headrace.api.jdbc_urls import URLS_ALLOWED
from headrace.api.validators import Range, ValidList, ValidString
from headrace.config.base_config import BaseConfig
from headrace.config.connector_config import FRAME_JOB_TIMEOUT, ISOLATIONS, TASK_ISOLATION, TASKS_PER_PROCESS

TASK_CHANNEL_TLS: Final = "task.channel.tls"
TASK_CHANNEL_PORT: Final = "task.channel.port"
ENGINE_CONSOLE_BYTES: Final = "engine.console.max.bytes"
ENGINE_CONSOLE_FILES: Final = "engine.console.max.files"
ENGINE_START_TIMEOUT: Final = "engine.start.timeout.ms"
FRAME_JOB_DEATHS: Final = "frame.job.deaths.max"
FRAME_JOB_WINDOW: Final = "frame.job.deaths.window.ms"
FRAME_RESULT_BYTES: Final = "frame.job.result.max.bytes"
FRAME_RESULT_ROWS: Final = "frame.job.result.max.rows"


@dataclass(frozen=True, slots=True)
class ConsoleLimits:
    """The limits of the files with the output of Spark and tasks: their number and their bytes."""

    max_bytes: int = 10 * 1024 * 1024
    max_files: int = 3


DEFAULT_CONSOLE: Final = ConsoleLimits()


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The settings of an engine. ``spark``: all properties ``spark.*``, by full name. ``plugin_path``: directories.

    ``channel_tls`` and ``channel_port`` are ``task.channel.tls`` and ``task.channel.port``; ``start_timeout``, in
    seconds, is ``engine.start.timeout.ms``, ``console`` is ``engine.console.*``; ``frame_timeout``, ``frame_deaths``,
    ``frame_window``, ``frame_result_bytes`` and ``frame_result_rows`` are ``frame.job.*``, times in seconds.
    ``isolation`` is ``spark.task.isolation``, ``tasks_per_process`` is ``tasks.per.process``.
    ``rest_guarded``: the REST API authenticates its users.
    """

    spark: Mapping[str, str] = field(default_factory=dict)
    plugin_path: tuple[str, ...] = ()
    channel_tls: str = "auto"
    channel_port: int = 0
    start_timeout: float = 300.0
    console: ConsoleLimits = DEFAULT_CONSOLE
    rest_guarded: bool = False
    frame_timeout: float = 600.0
    frame_deaths: int = 3
    frame_window: float = 600.0
    frame_result_bytes: int = 256 * 1024 * 1024
    frame_result_rows: int = 1_000_000
    isolation: str = "none"
    tasks_per_process: int = 1


def define_engine(definition: ConfigDef) -> ConfigDef:
    """Add the properties of the engine and the task channel to a worker's definition."""
    low = Importance.LOW
    return (
        definition
        .define(TASK_CHANNEL_TLS, Type.STRING, "auto", importance=low,
                validator=ValidString("auto", "always", "never"),
                doc="Whether the task channels on a Spark cluster are encrypted; auto: unless spark.driver.host is "
                    "an address of this machine only. headrace only.")
        .define(TASK_CHANNEL_PORT, Type.INT, 0, importance=low, validator=Range.between(0, 65535),
                doc="Port at which this worker listens for its tasks on a Spark cluster; 0 is any free port. "
                    "headrace only.")
        .define(ENGINE_CONSOLE_BYTES, Type.INT, 10 * 1024 * 1024, importance=low, validator=Range.at_least(4096),
                doc="Size in bytes of one file with the output of Spark and tasks, and the most that is kept per "
                    "minute. headrace only.")
        .define(ENGINE_CONSOLE_FILES, Type.INT, 3, importance=low, validator=Range.between(1, 1000),
                doc="The number of such files that are kept; older ones are removed. headrace only.")
        .define(ENGINE_START_TIMEOUT, Type.LONG, 300000, importance=low, validator=Range.at_least(1000),
                doc="The time in ms after which a start of Spark, with its downloads and its wait in a Spark "
                    "cluster's queue, is ended and repeated. headrace only.")
        .define(TASK_ISOLATION, Type.STRING, "none", importance=low, validator=ValidString(*ISOLATIONS),
                doc="none: the tasks of all connectors share the worker's Spark application and its JVM; connector: "
                    "each connector's tasks have their own. For connectors that do not set it. headrace only.")
        .define(TASKS_PER_PROCESS, Type.INT, 1, importance=low, validator=Range.at_least(1),
                doc="The most tasks that run in one process, which is lost for all of them if one makes it end or "
                    "does not stop; 1: each has its own, as those in Java always have. For connectors that do not "
                    "set it. headrace only.")
    )  # fmt: skip


def define_frame_jobs(definition: ConfigDef) -> ConfigDef:
    """Add those of frame jobs, and of what the SQL and the JDBC URLs of connectors may reach."""
    low = Importance.LOW
    return (
        definition
        .define(URLS_ALLOWED, Type.LIST, "", importance=low, validator=ValidList(),
                doc="JDBC URLs that connectors may connect to; * matches any text. By default those of databases on "
                    "other machines, without options that load classes or run scripts. headrace only.")
        .define(FRAME_JOB_TIMEOUT, Type.LONG, 600000, importance=low, validator=Range.at_least(1),
                doc="The time in ms after which a frame job (of a query, or of a sink's write) is cancelled and "
                    "retried, for connectors that do not set it. headrace only.")
        .define(FRAME_JOB_DEATHS, Type.INT, 3, importance=low, validator=Range.at_least(1),
                doc="The number of deaths of Spark's engine during a connector's frame jobs after which its tasks "
                    "are FAILED. headrace only.")
        .define(FRAME_JOB_WINDOW, Type.LONG, 600000, importance=low, validator=Range.at_least(1),
                doc="The time in ms for which such a death counts. headrace only.")
        .define(FRAME_RESULT_BYTES, Type.LONG, 256 * 1024 * 1024, importance=low, validator=Range.at_least(1),
                doc="The most bytes, as Arrow, of a frame job's result for one batch; with more its task fails. "
                    "headrace only.")
        .define(FRAME_RESULT_ROWS, Type.LONG, 1000000, importance=low, validator=Range.at_least(1),
                doc="The most rows of a frame job's result for one batch; with more its task fails. headrace only.")
        .define(FUNCTIONS_ALLOWED, Type.LIST, "", importance=low, validator=ValidList(*REFUSED_FUNCTIONS),
                doc="Functions that SQL in connectors' configurations may use although they access more than a "
                    "batch, such as reflect, which calls Java methods. headrace only.")
    )  # fmt: skip


def engine_config(config: BaseConfig, plugin_path: tuple[str, ...], *, rest_guarded: bool) -> EngineConfig:
    """Return the part of a worker's configuration that its engine needs."""
    spark = {key: text for key, text in config.raw.items() if key.startswith("spark.")}
    return EngineConfig(
        spark,
        plugin_path,
        config.get(TASK_CHANNEL_TLS),
        config.get(TASK_CHANNEL_PORT),
        start_timeout=config.seconds(ENGINE_START_TIMEOUT),
        console=ConsoleLimits(config.get(ENGINE_CONSOLE_BYTES), config.get(ENGINE_CONSOLE_FILES)),
        rest_guarded=rest_guarded,
        frame_timeout=config.seconds(FRAME_JOB_TIMEOUT),
        frame_deaths=config.get(FRAME_JOB_DEATHS),
        frame_window=config.seconds(FRAME_JOB_WINDOW),
        frame_result_bytes=config.get(FRAME_RESULT_BYTES),
        frame_result_rows=config.get(FRAME_RESULT_ROWS),
        isolation=config.get(TASK_ISOLATION),
        tasks_per_process=config.get(TASKS_PER_PROCESS),
    )
