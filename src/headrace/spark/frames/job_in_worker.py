# SPDX-License-Identifier: Apache-2.0
"""A frame job that the worker runs for a connector, without a task."""

from __future__ import annotations

import logging
import uuid

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.frames import FrameJob
from headrace.spark.engine.frame_runs import load_function
from headrace.spark.engine.spark_engine import SparkEngine
from headrace.spark.errors.frame_errors import ERRORS, fault_of

log = logging.getLogger(__name__)


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
