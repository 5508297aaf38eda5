# SPDX-License-Identifier: Apache-2.0
"""Reports of a process about its own end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from headrace.model.process_end import exits_reported, knows_exit_status, report_exit

_BEGIN = """
import ctypes, os, signal, sys, threading
from headrace.model.process_end import write_exit_status
write_exit_status(int(sys.argv[1]))
libc = ctypes.CDLL(None)
"""
_WITH_THE_LOCK = "ctypes.PyDLL(None).exit(4)"
_BY_A_FORK = """
if os.fork() == 0:
    libc.exit(5)
os.wait()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not knows_exit_status(), reason="needs glibc")
@pytest.mark.parametrize(
    "end, told",
    [
        ("libc.exit(3)", b"\x03"),
        ("libc.exit(0)", b"\x00"),
        (_WITH_THE_LOCK, b"\x04"),
        ("threading.Thread(target=libc.exit, args=(6,)).start(); threading.Event().wait()", b"\x06"),
        ("os.kill(os.getpid(), signal.SIGKILL)", b""),
        ("os.abort()", b""),
        ("os._exit(3)", b""),
        (_BY_A_FORK, b""),
    ],
)
def test_the_status_of_a_process_that_exits(end: str, told: bytes) -> None:
    reader, writer = os.pipe()
    try:
        command = [sys.executable, "-c", _BEGIN + end, str(writer)]
        subprocess.run(command, pass_fds=[writer], timeout=60, stderr=subprocess.DEVNULL)
        os.close(writer)
        assert os.read(reader, 10) == told
    finally:
        os.close(reader)


def test_an_exit_is_reported_to_all_that_wait_for_it() -> None:
    told: list[str | None] = []
    with exits_reported(told.append), exits_reported(told.append):
        report_exit("A.b")
    report_exit(None)
    assert told == ["A.b", "A.b"]
