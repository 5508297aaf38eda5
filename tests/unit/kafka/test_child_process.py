# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headrace.broker.child_process import start_child
from tests.support.polling import wait_for

LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a child to its parent")

PARENT = """
import sys, threading, time
from pathlib import Path
from headrace.broker.child_process import start_child
print(start_child(["sleep", "60"], Path(sys.argv[1])).pid, flush=True)
time.sleep(60)
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except FileNotFoundError:
        return False


def test_output_is_appended_and_the_exit_code_known(tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.write_text("before\n")
    child = start_child(["sh", "-c", "echo out; echo err >&2; exit 3"], output)
    assert child.wait(10) == 3
    assert output.read_text() == "before\nout\nerr\n"


def test_it_has_a_session_of_its_own(tmp_path: Path) -> None:
    child = start_child(["sleep", "60"], tmp_path / "out")
    try:
        assert os.getsid(child.pid) == child.pid != os.getsid(0)
    finally:
        child.kill()
        child.wait()


def test_what_cannot_be_written_is_raised_to_the_caller(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        start_child(["true"], tmp_path / "no" / "out")


@LINUX_ONLY
def test_it_survives_the_thread_that_started_it(tmp_path: Path) -> None:
    children: list[subprocess.Popen[bytes]] = []
    starter = threading.Thread(target=lambda: children.append(start_child(["sleep", "60"], tmp_path / "out")))
    starter.start()
    starter.join()
    child = children[0]
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.2)
    finally:
        child.kill()
        child.wait()


@LINUX_ONLY
def test_it_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, tmp_path / "out"], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    wait_for(lambda: not is_alive(pid), 5, "its end")
