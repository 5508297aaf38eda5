# SPDX-License-Identifier: Apache-2.0
"""The jobs that a sandbox runs, by their names, and a process that runs one, as the worker sees it.

A job is a function ``job(spec, emit)`` for the main thread of a process of its own: ``spec`` is a JSON object, and
``emit`` sends an item, a JSON object, to the worker. It may raise any error; the text of a ConnectError is for users.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any, Final, Self

from headrace.api.error_text import clean_text, left_out
from headrace.model.process_group import kill_group

Emit = Callable[[Mapping[str, Any]], None]
Job = Callable[[Mapping[str, Any], Emit], None]

JOBS: Final[Mapping[str, str]] = {
    "preview": "headrace.inspection.preview.preview_job:preview",
    "decoding of dead letters": "headrace.inspection.dead_letters.letter_decoder:decode_letters",
    "redrive of dead letters": "headrace.inspection.dead_letters.letter_chain:redrive_letters",
    "read of records": "headrace.inspection.topics.records_job:read_records",
}
"""Names and functions, as ``module:function``. They are imported in the job's process only."""
_CHUNK: Final = 1 << 16
_TAIL: Final = 4096
"""Bytes of what a process printed last that are kept."""


class JobProcess:
    """A process in a session of its own, which ends with this one. One thread.

    A context: when it is left, the process, its group and its descendants are killed and gone.
    """

    def __init__(self, start: bytes) -> None:
        """Start the process; ``start`` is what it reads first, over a pipe, as it may hold secrets.

        Raise OSError if the machine starts none.
        """
        self.bytes_read = 0
        """Size of all lines so far, the incomplete one included."""
        self.ended = False
        """The process has closed its lines."""
        self._unsent = memoryview(start)
        self._line: list[bytes] = []
        self._tail = b""
        self._printed = 0
        with ExitStack() as undo:
            self._selector = undo.enter_context(selectors.DefaultSelector())
            self._lines, lines = os.pipe()
            undo.callback(os.close, self._lines)
            try:
                # A new program, never a fork alone: this process has threads.
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "headrace.inspection.process", str(lines)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    pass_fds=(lines,),
                    start_new_session=True,
                )
            finally:
                os.close(lines)
            undo.pop_all()
        assert self._process.stdin is not None and self._process.stderr is not None
        self._stdin, self._stderr = self._process.stdin.fileno(), self._process.stderr.fileno()
        for fd, events in (
            (self._lines, selectors.EVENT_READ),
            (self._stderr, selectors.EVENT_READ),
            (self._stdin, selectors.EVENT_WRITE),
        ):
            os.set_blocking(fd, False)
            self._selector.register(fd, events)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        kill_group(self._process.pid)
        self._process.wait()
        self._selector.close()
        os.close(self._lines)
        for pipe in (self._process.stdin, self._process.stderr):
            with suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]

    def read(self, timeout_s: float) -> list[bytes]:
        """Return the lines that arrive within the timeout, as soon as there are some."""
        lines: list[bytes] = []
        for key, _ in self._selector.select(timeout_s):
            if key.fd == self._stdin:
                self._send()
            elif key.fd == self._stderr:
                self._keep(self._received(key.fd))
            else:
                data = self._received(key.fd)
                self.bytes_read += len(data)
                self.ended = not data
                lines += self._complete(data)
        return lines

    def printed(self) -> str:
        """Return the last text that the process has printed; it may be about to arrive."""
        with suppress(BlockingIOError):
            while data := os.read(self._stderr, _CHUNK):
                self._keep(data)
        text = self._tail.decode("utf-8", "replace").strip()
        if self._printed > len(self._tail):  # the mark lets those who hide secrets find what is left of one
            text = left_out(self._printed - len(self._tail)) + text.lstrip("\N{REPLACEMENT CHARACTER}")
        return clean_text(text)

    def _keep(self, printed: bytes) -> None:
        self._printed += len(printed)
        self._tail = (self._tail + printed)[-_TAIL:]

    def _complete(self, data: bytes) -> list[bytes]:
        """Return the lines that ``data`` completes, without empty ones."""
        first, *others = data.split(b"\n")
        self._line.append(first)
        if not others:
            return []
        lines = [b"".join(self._line), *others[:-1]]
        self._line = [others[-1]]
        return [line for line in lines if line]

    def _received(self, fd: int) -> bytes:
        data = os.read(fd, _CHUNK)
        if not data:
            self._selector.unregister(fd)
        return data

    def _send(self) -> None:
        with suppress(BrokenPipeError):
            self._unsent = self._unsent[os.write(self._stdin, self._unsent) :]
            if self._unsent:
                return
        # It stays open: the process ends when it is closed.
        self._selector.unregister(self._stdin)
