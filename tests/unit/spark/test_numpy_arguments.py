# SPDX-License-Identifier: Apache-2.0
"""Calls to Spark's JVM import NumPy, pandas and PyArrow only for values of NumPy's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CALLS = """
import sys
from types import SimpleNamespace
from py4j.protocol import INPUT_CONVERTER
from headrace.spark.engine.numpy_arguments import look_at_numpy_values_only

def converted(value):
    return any(each.can_convert(value) for each in INPUT_CONVERTER)

for _ in range(2):  # Spark has been started again
    look_at_numpy_values_only(SimpleNamespace(_gateway_client=SimpleNamespace(converters=INPUT_CONVERTER)))
    print(converted("text"), converted(3), converted([1]), converted({}))
print({"numpy", "pandas", "pyarrow", "unittest"} & set(sys.modules))
import numpy
print(converted(numpy.int64(3)), converted(numpy.array([1])), converted("text"))
"""


def test_a_call_imports_nothing_that_it_does_not_need() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CALLS],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    lists = "False False True True\n"  # Py4J has converters for these
    assert (ended.returncode, ended.stdout) == (0, f"{lists}{lists}set()\nTrue True False\n"), ended.stderr
