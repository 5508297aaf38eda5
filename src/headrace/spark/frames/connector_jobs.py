# SPDX-License-Identifier: Apache-2.0
"""Frame jobs that the worker runs for a connector, without a task: its own, and the analysis of a configuration."""

from __future__ import annotations

import logging
import threading
import uuid
from typing import TYPE_CHECKING, Final

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.api.frames import FrameJob
from headrace.spark.channel.messages import FrameFault
from headrace.spark.engine.frame_runs import load_function
from headrace.spark.engine.spark_engine import SparkEngine
from headrace.spark.errors.frame_errors import ERRORS, fault_of

if TYPE_CHECKING:
    from headrace.spark.engine.spark_session import SparkJvm

log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 15.0
"""Seconds for an analysis; a worker's first one takes some."""
_COLUMNS: Final = (
    "topic STRING, partition INT, key STRING, value STRING, headers MAP<STRING, STRING>, timestamp TIMESTAMP"
)


def analyse(engine: SparkEngine, job: FrameJob) -> ConfigError | None:
    """Return the error that Spark finds by a checking job, whose input is a batch without records.

    None if there is none, and also if Spark is not running or too slow: the task will report it. Blocks some seconds.
    """
    jvm = engine.own()
    if jvm is None:
        return None
    group = f"analysis-{uuid.uuid4().hex}"
    found: list[ConfigError | None] = []
    thread = threading.Thread(
        target=lambda: found.append(_run_analysis(jvm, group, job)), name="frame-analysis", daemon=True
    )
    thread.start()
    thread.join(_TIMEOUT_S)
    if not found:
        log.warning("Spark did not say within %.0f s what it thinks of: %s", _TIMEOUT_S, job.description)
        engine.cancel(group)
        return None
    return found[0]


def _run_analysis(jvm: SparkJvm, group: str, job: FrameJob) -> ConfigError | None:
    try:
        session = jvm.frame_session()
        session.sparkContext.setJobGroup(group, f"check: {job.description}", interruptOnCancel=True)
        load_function(job.function)(session, session.createDataFrame([], _COLUMNS), job.settings)
    except Exception as error:
        fault, text = fault_of(error)
        log.debug("%s: %s", job.description, text, exc_info=error)
        if fault is FrameFault.RETRIABLE:
            return None
        return error if isinstance(error, ConfigError) else ConfigError(text)
    return None


def run_in_worker(engine: SparkEngine, job: FrameJob) -> None:
    """Run the job's function, without input. On the caller's thread, for as long as it takes.

    RetriableError if Spark is not running, or fails; ConfigError and DataError for errors of the function and of Spark.
    """
    jvm = engine.own()
    if jvm is None:
        raise RetriableError("Spark is not running yet, or not any more: try again")
    try:
        session = jvm.frame_session()
        session.sparkContext.setJobGroup(f"worker-{uuid.uuid4().hex}", job.description, interruptOnCancel=True)
        load_function(job.function)(session, None, job.settings)
    except ConnectError:
        raise
    except Exception as error:
        fault, text = fault_of(error)
        log.debug("%s: %s", job.description, text, exc_info=error)
        raise ERRORS[fault](text) from error
