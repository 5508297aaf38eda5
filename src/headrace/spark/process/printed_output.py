# SPDX-License-Identifier: Apache-2.0
"""Standard output and standard error of a task's process, as a pipe whose lines the worker logs."""

from __future__ import annotations

import io
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headrace.logs.printed import log_pipe
from headrace.model.process_end import knows_exit_status, write_exit_status
from headrace.spark.channel.endpoint import Link

_LAST_LINES_S: Final = 2.0
"""Seconds for the last lines to be sent."""


class OutputPipe:
    """A pipe in place of standard output and standard error, also for native libraries and child processes.

    A worker on this machine gets its other end: so it has all that was written, even by a process that was killed.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()

    def hand_over(self, connection: Link) -> None:
        """Send the end to read to the worker, over a Unix socket; after ``Attach.prints`` has announced it.

        With it goes that of a pipe for the status of this process, if the system has it written there.
        """
        pipes = [self._reader]
        if knows_exit_status():
            reader, writer = os.pipe()
            write_exit_status(writer)
            pipes.append(reader)
        with socket.socket(fileno=os.dup(connection.fileno())) as same:
            socket.send_fds(same, [b"\0"], pipes)
        for pipe in pipes:
            os.close(pipe)

    def redirect(self) -> None:
        """Have all that this process prints go to the pipe at once, without buffers that die with it."""
        for descriptor in (1, 2):
            os.dup2(self._writer, descriptor)
        os.close(self._writer)
        sys.stdout, sys.stderr = _unbuffered(1), _unbuffered(2)

    @contextmanager
    def logged_here(self) -> Iterator[None]:
        """Redirect to the pipe and log what is printed meanwhile, in this process: the worker is on another machine."""
        kept = [os.dup(descriptor) for descriptor in (1, 2)]
        thread = threading.Thread(target=log_pipe, args=(self._reader,), name="printed", daemon=True)
        self.redirect()
        thread.start()
        try:
            yield
        finally:
            for descriptor, former in zip((1, 2), kept, strict=True):
                os.dup2(former, descriptor)
                os.close(former)
            thread.join(_LAST_LINES_S)


def _unbuffered(descriptor: int) -> io.TextIOWrapper:
    raw = open(descriptor, "wb", buffering=0, closefd=False)  # noqa: SIM115 - as long as the process lives
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)
