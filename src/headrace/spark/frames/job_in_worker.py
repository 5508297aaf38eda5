# SPDX-License-Identifier: Apache-2.0
"""Runs a frame job that no task asks for: the worker does, for a connector."""

from __future__ import annotations

import logging
import uuid

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.frames import FrameJob
from headrace.spark.engine.frame_runs import loaded
from headrace.spark.engine.spark_engine import SparkEngine
from headrace.spark.errors.frame_errors import ERRORS, fault_of

_log = logging.getLogger(__name__)


def run_in_worker(engine: SparkEngine, job: FrameJob) -> None:
    """Run the job's function, without input. On the caller's thread, for as long as it takes.

    RetriableError if Spark is not running, or fails; ConfigError and DataError as the function and Spark raise them.
    """
    jvm = engine.own()
    if jvm is None:
        raise RetriableError("Spark is not running yet, or not any more: try again")
    try:
        session = jvm.frame_session()
        session.sparkContext.setJobGroup(f"worker-{uuid.uuid4().hex}", job.description, interruptOnCancel=True)
        loaded(job.function)(session, None, job.settings)
    except ConnectError:
        raise
    except Exception as error:
        fault, text = fault_of(error)
        _log.debug("%s: %s", job.description, text, exc_info=error)
        raise ERRORS[fault](text) from error
