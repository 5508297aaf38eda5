# SPDX-License-Identifier: Apache-2.0
"""Executors have no more libraries than the guide asks for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
LOADED = """
import sys
import headrace.spark.process.daemon
import headrace.task.sink.worker_sink_task, headrace.task.source.exactly_once_worker_source_task
tops = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
print(*(name for name in tops if not name.startswith("_") and getattr(sys.modules[name], "__file__", None)))
"""
WITH_OTHERS = {"headrace", "pyspark", "py4j", "cloudpickle", "dateutil", "pytz", "six", "tzdata"}
"""Ours, Spark's own, and what pandas brings along."""


def test_a_tasks_process_imports_what_the_guide_says_executors_need() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOADED],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    guide = (ROOT / "docs" / "guide" / "spark-clusters.md").read_text()
    (libraries,) = re.findall(r"with these libraries: (.*?)\nand what your plugins", guide, re.DOTALL)
    named = {name.replace("-", "_") for name in re.findall(r"`([\w-]+)`", libraries)}
    assert set(ended.stdout.split()) - WITH_OTHERS == named
