# SPDX-License-Identifier: Apache-2.0
"""What the Python daemon does before it forks leaves nothing behind that a fork must not have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PREPARED = """
import gc, os, sys
import headrace.spark.process.daemon
from headrace.spark.process.first_task import create_first_tasks

def state():
    gc.collect()
    return set(os.listdir("/proc/self/task")), {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{fd}")}

before = state()
create_first_tasks()
assert state() == before, (before, state())
modules = set(sys.modules)
create_first_tasks()
assert set(sys.modules) == modules
print("headrace.converters.simple_header_converter" in modules)
"""


def test_no_thread_and_no_connection_is_left_and_all_is_imported() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PREPARED],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")
