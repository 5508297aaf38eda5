# SPDX-License-Identifier: Apache-2.0
"""Has Spark look at a step on frames before a connector has it."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from headrace.api.frames import FrameJob
from headrace.spark.frame_errors import fault_of
from headrace.spark.frame_jobs import loaded
from headrace.spark.messages import FrameFault
from headrace.spark.spark_engine import SparkEngine

if TYPE_CHECKING:
    from headrace.spark.spark_session import SparkJvm

_log = logging.getLogger(__name__)
_PATIENCE: Final = 15.0
"""Seconds; the first look of a worker takes some."""
_COLUMNS: Final = (
    "topic STRING, partition INT, key STRING, value STRING, headers MAP<STRING, STRING>, timestamp TIMESTAMP"
)


def analyse(engine: SparkEngine, job: FrameJob) -> str | None:
    """What Spark finds wrong with a checking job, whose input is a batch without records. Blocks up to some seconds.

    None if nothing is wrong, and also where Spark is not running or too slow: the task will tell.
    """
    jvm = engine.current()
    if jvm is None:
        return None
    found: list[str | None] = []
    thread = threading.Thread(target=lambda: found.append(_asked(jvm, job)), name="frame-analysis", daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    if not found:
        _log.warning("Spark did not say within %.0f s what it thinks of: %s", _PATIENCE, job.description)
        return None
    return found[0]


def _asked(jvm: SparkJvm, job: FrameJob) -> str | None:
    try:
        session = jvm.frame_session()
        loaded(job.function)(session, session.createDataFrame([], _COLUMNS), job.settings)
    except Exception as error:
        fault, text = fault_of(error)
        _log.debug("%s: %s", job.description, text, exc_info=error)
        return None if fault is FrameFault.RETRIABLE else text
    return None
