# SPDX-License-Identifier: Apache-2.0
"""A tap or target as a child process: its lines are read, and lines are written to it, without blocking."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from headrace.api.errors import ConnectError, DataError

_GUARD: Final = str(Path(__file__).absolute().with_name("guard.py"))
_MARK: Final = "headrace-guard"
"""By it the worker knows that the process ends by itself: `headrace.model.process_group`."""
_CHUNK: Final = 1 << 20
_ERROR_CHUNK: Final = 1 << 16
_SET_PIPE_SIZE: Final = 1031
"""F_SETPIPE_SZ of Linux, which Python does not name in all versions."""
_LONGEST_ERROR_LINE: Final = 2_000
_KEPT_ERRORS: Final = 20
# Spark's secret, and paths of modules that are not the tap's.
_PRIVATE: Final = ("HEADRACE", "JAVA_TOOL_OPTIONS", "PYSPARK", "PYTHON", "SPARK", "VIRTUAL_ENV", "_PYSPARK")


class Wake:
    """Ends the waits of one thread from another one, for good."""

    def __init__(self) -> None:
        self._readable, self._writable = os.pipe()
        self._woken = False

    def __del__(self) -> None:
        os.close(self._readable)
        os.close(self._writable)

    def fileno(self) -> int:
        return self._readable

    def woken(self) -> bool:
        """Return True once `wake` was called."""
        return self._woken

    def wake(self) -> None:
        """End the present wait and all future ones. Any thread."""
        self._woken = True
        os.write(self._writable, b".")

    def wait(self, seconds: float) -> None:
        """Wait so long; return at once after ``wake``."""
        poll = select.poll()
        poll.register(self._readable, select.POLLIN)
        poll.poll(max(0.0, seconds) * 1000)


class Child:
    """One run of a command. For one thread; `wake` ends its waits.

    The command is the leader of a process group. It, and everything below it, is killed when this object is closed or
    this process ends, by whatever signal: `guard` sees to that, and removes ``directory`` then.
    """

    def __init__(
        self, command: Sequence[str], directory: Path, wake: Wake, longest_line: int, grace: float = 2.0
    ) -> None:
        """Raise ConnectError if no process can be started."""
        self._wake = wake
        self._longest = longest_line
        self._lifeline, theirs = socket.socketpair()
        arguments = [str(theirs.fileno()), str(grace), str(directory), *command]
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-X", _MARK, "-I", "-S", _GUARD, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={name: value for name, value in os.environ.items() if not name.startswith(_PRIVATE)},
            )
        except OSError as error:
            self._lifeline.close()
            raise ConnectError(f"No process can be started for {command[0]}: {error.strerror}") from error
        finally:
            theirs.close()
        self.lines: deque[bytes] = deque()
        """Whole lines of the standard output that were not taken yet."""
        self.error_lines: deque[str] = deque()
        """Lines of the standard error that were not taken yet."""
        self.last_errors: deque[str] = deque(maxlen=_KEPT_ERRORS)
        self.code: int | None = None
        """The exit code, once the process has ended and its output is read to the end."""
        self._out, self._error, self._pending = bytearray(), bytearray(), bytearray()
        self._poll = select.poll()
        pipes = (self._guard.stdin, self._guard.stdout, self._guard.stderr)
        stdin, self._stdout, self._stderr = (-1 if pipe is None else pipe.fileno() for pipe in pipes)
        self._in: int | None = stdin
        self._prepare()

    @property
    def unwritten(self) -> int:
        """The number of bytes that were handed to `write` and that the process has not taken yet."""
        return len(self._pending)

    def write(self, data: bytes) -> None:
        """Have `pump` write these bytes to the standard input."""
        self._pending += data
        if self._in is not None:
            self._poll.register(self._in, select.POLLOUT)

    def close_input(self) -> None:
        """Close the standard input: nothing follows. What is not written yet is dropped."""
        if self._in is not None:
            with suppress(KeyError):
                self._poll.unregister(self._in)
            assert self._guard.stdin is not None
            self._guard.stdin.close()
            self._in = None

    def pump(self, seconds: float) -> None:
        """Move what can be moved; wait for it so long at most.

        Returns at once after `Wake.wake`. Raise DataError for a line that is too long.
        """
        ready = dict(self._poll.poll(max(0.0, seconds) * 1000))
        if self._wake.woken():
            return
        if self._in is not None and self._in in ready:
            self._write_some()
        for stream in (self._stdout, self._stderr):
            if stream in ready:
                self._read_some(stream)
        if self._lifeline.fileno() in ready:
            # A process that has left the group may keep the pipes open, where the guard cannot find it.
            while self._read_some(self._stdout) or self._read_some(self._stderr):
                pass
            self._end()

    def end(self) -> None:
        """Have the process, and everything below it, ended. Returns at once. Any thread."""
        with suppress(OSError):
            self._lifeline.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """As `end`, and release what belongs to it."""
        self._lifeline.close()
        self.close_input()
        for stream in (self._guard.stdout, self._guard.stderr):
            assert stream is not None
            stream.close()
        if self.code is None:
            _reap_later.append(self._guard)
        _reap_later[:] = [guard for guard in _reap_later if guard.poll() is None]

    def _prepare(self) -> None:
        assert self._in is not None
        for fd in (self._in, self._stdout, self._stderr):
            os.set_blocking(fd, False)
            if fd != self._stderr and sys.platform == "linux":
                with suppress(OSError):  # the user has too many pipes: smaller ones do
                    fcntl.fcntl(fd, _SET_PIPE_SIZE, _CHUNK)
        for watched in (self._stdout, self._stderr, self._wake, self._lifeline):
            self._poll.register(watched, select.POLLIN)

    def _write_some(self) -> None:
        assert self._in is not None
        try:
            written = os.write(self._in, memoryview(self._pending)[:_CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.close_input()
            return
        del self._pending[:written]
        if not self._pending:
            self._poll.unregister(self._in)

    def _read_some(self, fd: int) -> bool:
        """Read a chunk; return False if there is none."""
        try:
            chunk = os.read(fd, _CHUNK if fd == self._stdout else _ERROR_CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            with suppress(KeyError):
                self._poll.unregister(fd)
            return False
        if fd == self._stdout:
            self._split(chunk)
        else:
            self._split_errors(chunk)
        return True

    def _split(self, chunk: bytes) -> None:
        first, *others = chunk.split(b"\n")
        self._out += first
        if len(self._out) > self._longest:
            raise DataError(f"a line is longer than {self._longest} bytes")
        if others:
            self.lines.append(bytes(self._out))
            self.lines.extend(others[:-1])
            self._out = bytearray(others[-1])

    def _split_errors(self, chunk: bytes) -> None:
        self._error += chunk
        *whole, rest = self._error.split(b"\n")
        self._error = bytearray(rest)
        if len(rest) > _LONGEST_ERROR_LINE:
            whole.append(rest)
            self._error.clear()
        for line in whole:
            self._keep_error(line)

    def _keep_error(self, line: bytes | bytearray) -> None:
        text = bytes(line[:_LONGEST_ERROR_LINE]).decode("utf-8", "replace").strip()
        if text:
            self.error_lines.append(text)
            self.last_errors.append(text)

    def _end(self) -> None:
        self.code = self._guard.wait()
        if self._out:
            self.lines.append(bytes(self._out))
        self._keep_error(self._error)


_reap_later: Final[list[subprocess.Popen[bytes]]] = []
"""Guards that were asked to end; they are reaped when the next one is."""
