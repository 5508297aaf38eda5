# SPDX-License-Identifier: Apache-2.0
"""A host of Java as the worker sees it: a process with a JVM, for one connector or for calls that need none started."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headrace.api.error_text import clean_text
from headrace.api.errors import ConnectError
from headrace.java.calls import Calls, DisconnectedError, HostStart, HostUp, Work
from headrace.java.process_options import options_of_hosts
from headrace.logs.context import in_same_context
from headrace.logs.printed import log_pipe
from headrace.model.process_end import ExitCalled
from headrace.model.process_group import kill_group

if TYPE_CHECKING:
    from headrace.java.calls import Link

TIMEOUT: Final = "java.connector.timeout.ms"
_START_TIMEOUT_S: Final = 600.0
"""The first start on a machine downloads Kafka Connect's jars."""
_STATUS_MS: Final = 5_000
_LAST_LINES_S: Final = 2.0
_ENDED_S: Final = 20.0
_TAIL: Final = 2048
"""Bytes of what a process printed last that are kept."""


_CRASH: Final = re.compile(
    r"A fatal error has been detected by the Java Runtime.*?^#\s+(?P<signal>SIG\w+).*?"
    r"^# Problematic frame:\n#\s+(?P<frame>[^\n]+)",
    re.DOTALL | re.MULTILINE,
)


_EXPLAINED: Final = re.compile(rb"java\.lang\.OutOfMemoryError|^Traceback ", re.MULTILINE)
"""Lines of a host that has ended itself: for a lack of memory, or an error of its Python."""


class HostEndedError(ConnectError):
    """The process of a Java connector has ended, and with it what was being called."""


class HangingCallError(HostEndedError):
    """A call did not return by its deadline, and the process was killed."""


class Host:
    """A process that ends with this one. Thread-safe. What it prints is logged in the context of its constructor."""

    def __init__(
        self,
        about: str,
        jars: tuple[Path, ...],
        receiver: object = None,
        threads: int = 1,
        on_death: Callable[[HostEndedError], None] | None = None,
    ) -> None:
        """Start the process, which takes about a second.

        ``about`` names it in messages. ``receiver`` has the methods that it calls, on threads of their own. It does
        ``threads`` calls at a time. ``on_death`` is called if it dies by itself.
        """
        self._about = about
        self._on_death = on_death
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._failure: HostEndedError | None = None
        self._reaped = False
        self._tail = b""
        link = self._start()
        self._calls = Calls(link, _in_background)
        self._printing = _in_background(lambda: log_pipe(self._printed, self._keep))
        try:
            self._begin(link, HostStart(tuple(sys.path), jars, threads, options_of_hosts()))
        except (EOFError, OSError):
            raise self._died() from None
        except BaseException:
            self.end()
            raise
        _in_background(lambda: self._listen(receiver))

    @property
    def alive(self) -> bool:
        """False once it has ended, or is about to."""
        return self._failure is None and not self._over.is_set()

    @property
    def pid(self) -> int:
        """The id of the process, and of the group of all that it starts."""
        return self._process.pid

    def call(self, method: str, *arguments: object, timeout: float, shown: str) -> Any:
        """Call a method of ``HostedConnectors`` and return its result; ``shown`` names it in messages.

        Raise the method's error; HangingCallError after ``timeout`` seconds, when the process is dead;
        HostEndedError if it has ended.
        """
        answer = self._calls.request(method, *arguments)
        try:
            return answer.result(timeout)
        except DisconnectedError:
            raise self._reason() from None
        except TimeoutError:
            failure = HangingCallError(
                f"{shown} did not return within {timeout:g} s, and its process was killed. If it needs "
                f"longer, raise {TIMEOUT}"
            )
            self.end(failure)
            raise failure from None

    def ask(self, method: str, *arguments: object, timeout: float) -> Any:
        """Call a method that may as well not answer: raise TimeoutError then, and let the process be."""
        return self._calls.request(method, *arguments).result(timeout)

    def end(self, failure: HostEndedError | None = None) -> None:
        """Kill the process with all that it has started; ``failure`` is raised to those who wait or call later."""
        with self._lock:
            self._failure = self._failure or failure or HostEndedError(f"The process of {self._about} was ended")
            self._kill()

    def _start(self) -> Link:
        self._printed, printed = os.pipe()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                # A new program, never a fork alone: this process has threads.
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "headrace.java.host_process", str(theirs.fileno())],
                    stdin=subprocess.PIPE,  # stays open: the process ends when it is closed
                    stdout=subprocess.PIPE,
                    stderr=printed,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
        except BaseException:
            os.close(self._printed)
            ours.close()
            raise
        finally:
            os.close(printed)
        return Connection(ours.detach())

    def _begin(self, link: Link, start: HostStart) -> None:
        link.send(start)
        if not link.poll(_START_TIMEOUT_S):
            raise ConnectError(f"The process of {self._about} has not started within {_START_TIMEOUT_S:g} s")
        up: HostUp = link.recv()
        if up.fault is not None:
            raise up.fault.error()

    def _listen(self, receiver: object) -> None:
        self._calls.serve(receiver)
        with self._lock:
            died = self._failure is None
        failure = self._died() if died else None
        self._over.set()
        if failure is not None and self._on_death is not None:
            self._on_death(failure)

    def _died(self) -> HostEndedError:
        """Return the error of a process that has ended by itself, and see that nothing of it is left."""
        status = self._exit_status()
        with self._lock:
            self._kill()
        self._printing.join(_LAST_LINES_S)
        death = _death(status, self._calls.exit_called, self._tail)
        text = f"The process of {self._about} {death}{_last_words(self._tail)}"
        with self._lock:
            self._failure = self._failure or HostEndedError(text)
            return self._failure

    def _exit_status(self) -> int | None:
        """Return the status that the guard reports; None if it has died too."""
        assert self._process.stdout is not None
        poll = select.poll()
        with suppress(OSError, ValueError):  # ended by another thread, or without a status
            poll.register(self._process.stdout, select.POLLIN)
            if poll.poll(_STATUS_MS):
                return int(os.read(self._process.stdout.fileno(), 32))
        return None

    def _kill(self) -> None:
        """Kill the process, unless that is done: its id could be another's by then."""
        if self._reaped:
            return
        kill_group(self._process.pid)
        self._process.wait()
        self._reaped = True
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _reason(self) -> HostEndedError:
        self._over.wait(_ENDED_S)
        return HostEndedError(str(self._failure or f"The process of {self._about} has ended"))

    def _keep(self, printed: bytes) -> None:
        self._tail = (self._tail + printed)[-_TAIL:]


def _death(status: int | None, exit_called: ExitCalled | None, printed: bytes) -> str:
    if status is None:
        return "was killed"
    if status < 0:
        return f"was killed by signal {-status} ({signal.Signals(-status).name})"
    if exit_called is not None:
        return f"ended with status {status}, as {exit_called.caller or 'Java code'} called System.exit"
    return f"ended with status {status}" + ("" if _EXPLAINED.search(printed) else ", as Runtime.halt in Java does")


def _last_words(printed: bytes) -> str:
    """Return what a process printed last, in one line; of a JVM's crash only where it was."""
    text = clean_text(printed.decode("utf-8", "replace").strip("\N{REPLACEMENT CHARACTER} \n"))
    if matched := _CRASH.search(text):
        return f": its JVM crashed with {matched['signal']} in {matched['frame']}"
    lines = " | ".join(filter(None, map(str.strip, text.splitlines())))
    return f"; it printed last: {lines}" if lines else ""


def _in_background(work: Work) -> threading.Thread:
    thread = threading.Thread(target=in_same_context(work), name="java-host", daemon=True)
    thread.start()
    return thread
