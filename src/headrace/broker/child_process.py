# SPDX-License-Identifier: Apache-2.0
"""A child process that does not outlive this one, however this one ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path

# Runs in the child: asks Linux to kill it with its parent, then becomes the command. A `preexec_fn` would do the same
# by running Python between fork and exec, which can deadlock in a process with threads.
_TIED_TO_PARENT = """
import ctypes, os, signal, sys
parent, command = int(sys.argv[1]), sys.argv[2:]
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1 is PR_SET_PDEATHSIG
if os.getppid() != parent:  # it died before the request
    sys.exit(1)
os.execvp(command[0], command)
"""


def start_child(
    command: Sequence[str], output: Path | None, env: Mapping[str, str] | None = None, inherit: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own, so that the terminal's Ctrl-C reaches this process alone.

    Its output is appended to `output`, or goes where this process' does if that is None; the file descriptors `inherit`
    stay open in it. On Linux it is killed when this process ends; elsewhere the caller has to stop it. Callable on any
    thread.
    """
    started: Future[subprocess.Popen[bytes]] = Future()
    # Linux ties the child's life to the thread that forked it, so that thread stays until the child has ended.
    arguments = (command, output, env, inherit, started)
    threading.Thread(target=_start_and_wait, args=arguments, name=f"child-{command[0]}", daemon=True).start()
    return started.result()


def _start_and_wait(
    command: Sequence[str],
    output: Path | None,
    env: Mapping[str, str] | None,
    inherit: Sequence[int],
    started: Future[subprocess.Popen[bytes]],
) -> None:
    try:
        with nullcontext() if output is None else output.open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _TIED_TO_PARENT, str(os.getpid()), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=None if log is None else subprocess.STDOUT,
                start_new_session=True,
                pass_fds=inherit,
                env=env,
            )
    except BaseException as error:
        started.set_exception(error)
        return
    started.set_result(child)
    child.wait()
