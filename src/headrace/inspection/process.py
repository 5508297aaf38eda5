# SPDX-License-Identifier: Apache-2.0
"""The process of a sandbox's job: a guard, which leads the process group, and the job, its fork.

``python -m headrace.inspection.process FD`` gets the job on its standard input, which stays open for as long as the
worker wants the job to live, and writes JSON lines to the file descriptor FD: ``{"item": …}``, ``{"error": …, "type":
…}`` and, from the guard, ``{"exit": …}``. What the job prints goes to standard error.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from headrace.model.process_group import end_with_this_thread, kill_group

_PR_SET_CHILD_SUBREAPER: Final = 36


def main(lines: int) -> None:
    """Run the job of standard input in a fork; end, with all that it has started, when the input is closed."""
    start = json.loads(sys.stdin.buffer.readline())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # What a daemon of the job's leaves behind becomes a child of this process, where the worker finds it.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    tie = end_with_this_thread()
    job = os.fork()
    if job == 0:
        tie()
        _run(start, lines)
    threading.Thread(target=_end_with_the_worker, daemon=True).start()
    _, status = os.waitpid(job, 0)
    with suppress(BrokenPipeError):  # the worker has died, and the other thread does the rest
        # The job may have ended in the middle of a line.
        _write(lines, b"\n" + json.dumps({"exit": os.waitstatus_to_exitcode(status)}).encode() + b"\n")
    signal.pause()


def _end_with_the_worker() -> None:
    while os.read(0, 4096):
        pass
    kill_group(os.getpid())


def _run(start: Mapping[str, Any], lines: int) -> None:
    """Run the job and exit, with status 0 if it returns."""
    status = 1
    try:
        _separate_streams(lines)
        sys.path[:] = start["path"]
        module, _, function = start["job"].partition(":")
        getattr(importlib.import_module(module), function)(
            start["spec"], lambda item: _write(lines, _line({"item": item}))
        )
        status = 0
    except BaseException as error:
        _report(error, lines)
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


def _separate_streams(lines: int) -> None:
    """Have what the job prints go to standard error, and nothing of the worker's go to programs that it starts."""
    os.set_inheritable(lines, False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(message)s (%(name)s)")


def _report(error: BaseException, lines: int) -> None:
    from headrace.api.error_text import error_line, error_name, error_text, error_trace
    from headrace.api.errors import ConnectError

    known = isinstance(error, ConnectError)
    if not known:
        print(error_trace(error), file=sys.stderr)
    text = error_text(error) if known else error_line(error)
    _write(lines, _line({"error": text, "type": error_name(error)}))


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _write(lines: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(lines, view) :]


if __name__ == "__main__":
    main(int(sys.argv[1]))
