# SPDX-License-Identifier: Apache-2.0
"""Spark's Python daemon with headrace imported: a task's process is a fork of it, and starts in milliseconds.

Spark runs it as ``spark.python.daemon.module``. No thread may be left when it begins: threads do not survive a fork.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import sys
from typing import Final

from headrace.model.process_group import block_stop_signals, end_forks_with_this_process
from headrace.spark.process.python_path import plugin_directories, without_spark_archives

# Before anything of Spark is imported.
plugins = plugin_directories(os.environ)
sys.path[:] = [*(place for place in without_spark_archives(sys.path) if place not in plugins), *plugins]
for archive in set(sys.path_importer_cache).difference(sys.path):
    del sys.path_importer_cache[archive]

import pandas  # noqa: E402, F401 - pyarrow imports it when it first meets a NumPy array
import pyarrow  # noqa: E402
import pyarrow.compute  # noqa: E402
import pyspark.worker  # noqa: E402, F401
from pyspark.daemon import manager  # noqa: E402

import headrace.connectors.file_stream.file_stream_source  # noqa: E402, F401
from headrace.plugins.installed import known_plugins  # noqa: E402
from headrace.spark.process.first_task import create_first_tasks  # noqa: E402

# <malloc.h> of glibc; both are inherited by a fork.
_M_TRIM_THRESHOLD: Final = -1
_M_TOP_PAD: Final = -2
_KEPT: Final = 64 << 20
_GROWTH: Final = 4 << 20


def keep_freed_memory() -> None:
    """Keep up to 64 MB of freed memory with the process, if the C library is glibc; do nothing elsewhere.

    A task makes and frees some megabytes with each batch. To return them and to request them again, page by page,
    takes a quarter of the time of a chain of four transformations with a JSON converter.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_TOP_PAD, _GROWTH)


if __name__ == "__main__":
    block_stop_signals()
    keep_freed_memory()
    end_forks_with_this_process()
    pyarrow.set_cpu_count(1)
    known_plugins()
    create_first_tasks()
    # Spark has each fork do this: what there is to forget has been forgotten before.
    importlib.invalidate_caches()
    # Pages from before the fork stay shared as long as no garbage collection touches them.
    gc.collect()
    gc.freeze()
    # A batch is made of thousands of objects that live as long as it does: collecting among them is in vain.
    gc.set_threshold(100_000, 10, 10)
    manager()
