# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from tests.support.polling import wait_for
from tests.support.processes import alive

PARENT = """
import os, signal, sys, time
from headrace.model.process_group import end_forks_with_this_process
end_forks_with_this_process()
if os.fork() == 0:
    child = os.getpid()
    grandchild = os.fork()
    if grandchild == 0:
        time.sleep(600)
    print(child, grandchild, flush=True)
    os.kill(child, signal.SIGSTOP)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has it")
def test_a_fork_ends_with_its_parent_even_if_it_stands_still() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child, grandchild = (psutil.Process(int(pid)) for pid in parent.stdout.readline().split())
        parent.kill()
        parent.wait()
        wait_for(lambda: not alive(child), 10, "its child's end")
        assert grandchild.is_running() and grandchild.status() != psutil.STATUS_ZOMBIE
        grandchild.kill()
