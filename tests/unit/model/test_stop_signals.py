# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGINT in processes below a worker, with real processes."""

from __future__ import annotations

import subprocess
import sys

from headrace.model.process_group import ignore_stop_signals

HANDLERS = """
import signal
print([signal.getsignal(number).name for number in (signal.SIGINT, signal.SIGTERM)])
print(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
"""
TASK = f"""
import os, signal, subprocess, sys
from headrace.model.process_group import block_stop_signals, outlive_stop_signals
block_stop_signals()
if os.fork():
    os.wait()
    sys.exit()
def receive():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # as PySpark does
        os.kill(os.getpid(), number)
receive()
outlive_stop_signals()
for number in (signal.SIGINT, signal.SIGTERM):
    os.kill(os.getpid(), number)
print("alive", flush=True)
subprocess.run([sys.executable, "-c", {HANDLERS!r}.replace("getsignal(number).name", "getsignal(number)")], check=True)
"""


def test_a_program_is_started_with_both_ignored() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANDLERS], preexec_fn=ignore_stop_signals, capture_output=True, text=True, timeout=60
    )
    assert ended.stdout.splitlines() == ["['SIG_IGN', 'SIG_IGN']", "0"], ended.stderr


def test_a_fork_of_the_daemon_lives_on_and_starts_programs_that_do_not() -> None:
    ended = subprocess.run([sys.executable, "-c", TASK], capture_output=True, text=True, timeout=60)
    alive, handlers, blocked = ended.stdout.splitlines()
    assert alive == "alive" and blocked == "0", ended.stderr
    assert "default_int_handler" in handlers and "SIG_DFL" in handlers
