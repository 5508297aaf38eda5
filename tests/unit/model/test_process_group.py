# SPDX-License-Identifier: Apache-2.0
"""The end of a process with all that it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from headrace.connectors.singer import child
from headrace.model.process_group import GUARD, kill_marked, kill_with_descendants
from tests.support.polling import wait_for
from tests.support.processes import alive

_STARTS_TWO = """
import subprocess, time
for command in (["sleep", "77"], ["setsid", "sleep", "77"]):
    subprocess.Popen(command)
print("started", flush=True)
time.sleep(77)
"""
_LEAVES_ONE = """
import subprocess, os, sys
from headrace.model.process_group import kill_descendants, take_orphans_in
take_orphans_in()
left = subprocess.run(["sh", "-c", "setsid sleep 77 >/dev/null & echo $!"], stdout=subprocess.PIPE).stdout
kill_descendants(os.getpid())
print(int(left))
"""


def test_a_process_is_killed_with_its_descendants() -> None:
    with subprocess.Popen([sys.executable, "-c", _STARTS_TWO], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) == 2
        kill_with_descendants(process.pid)
    assert process.returncode == -9
    wait_for(lambda: not any(map(alive, children)), 10, lambda: f"the ends of {children}")
    with pytest.raises(ProcessLookupError):
        kill_with_descendants(process.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process take orphans in")
def test_orphans_are_taken_in() -> None:
    done = subprocess.run([sys.executable, "-c", _LEAVES_ONE], capture_output=True, text=True, check=True)
    assert int(done.stdout) not in [each.pid for each in psutil.process_iter() if alive(each)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environments of processes")
def test_programs_are_found_by_their_mark_after_their_parents_have_died() -> None:
    environment = {**os.environ, "HEADRACE_TEST_MARK": str(os.getpid())}
    command = ["sh", "-c", "setsid sleep 78 >/dev/null & echo $!"]
    marked, other = (
        int(subprocess.run(command, env=each, stdout=subprocess.PIPE, check=True).stdout)
        for each in (environment, None)
    )
    try:
        kill_marked(f"HEADRACE_TEST_MARK={os.getpid()}")
        assert [alive(psutil.Process(pid)) for pid in (marked, other) if psutil.pid_exists(pid)][-1:] == [True]
        assert not psutil.pid_exists(marked) or not alive(psutil.Process(marked))
    finally:
        os.kill(other, signal.SIGKILL)


_STARTS_A_GUARD = f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, "-X", "{GUARD}", "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
print("started", flush=True)
time.sleep(77)
"""


def test_a_guard_ends_by_itself() -> None:
    """It has files to remove, and those of taps and targets have secrets."""
    with subprocess.Popen([sys.executable, "-c", _STARTS_A_GUARD], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        [guard] = psutil.Process(process.pid).children(recursive=True)
        guard.suspend()  # it would end with its input
        kill_with_descendants(process.pid)
        assert alive(guard)
        guard.resume()
        wait_for(lambda: not alive(guard), 10, "the guard's end")
    assert child._MARK == GUARD
