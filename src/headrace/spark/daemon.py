# SPDX-License-Identifier: Apache-2.0
"""Spark's Python daemon with our imports done: a task's process is a fork of it, and starts in milliseconds.

Spark runs it as ``spark.python.daemon.module``. Nothing here may start a thread: threads do not survive the fork.
"""

from __future__ import annotations

import gc

import pandas  # noqa: F401 - pyarrow imports it when it first meets a NumPy array
import pyarrow
import pyarrow.compute
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import headrace.connectors.file_stream_source
import headrace.connectors.verifiable_source
import headrace.converters.json_converter
import headrace.converters.string_converter
import headrace.spark.executor_entry  # noqa: F401
from headrace.plugins.discovery import known_plugins

if __name__ == "__main__":
    pyarrow.set_cpu_count(1)
    known_plugins()
    # What is here before the fork stays shared: no collection may touch its pages.
    gc.collect()
    gc.freeze()
    manager()
