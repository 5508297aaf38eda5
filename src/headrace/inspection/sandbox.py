# SPDX-License-Identifier: Apache-2.0
"""Jobs that run plugins' code on a user's request, each in a process of its own that is killed at a deadline."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace.api.errors import ConnectError, RetriableError
from headrace.inspection.job_process import JOBS, JobProcess
from headrace.model.deadline import Clock, Deadline

log = logging.getLogger(__name__)
Items = list[dict[str, Any]]
_TICK_S: Final = 0.2
"""The longest that a cancelled job continues."""
_MEGABYTE: Final = 1 << 20


class SandboxError(ConnectError):
    """A job failed: with the message of its ConnectError, or with the last lines that its process printed.

    ``type`` is the name of the class of the job's error, None if the process died. ``items`` are those before.
    """

    def __init__(self, message: str, items: Items, type: str | None = None) -> None:
        super().__init__(message)
        self.items = items
        self.type = type


class SandboxTimeoutError(SandboxError):
    """A job did not end by its deadline, and was killed; ``items`` are those before."""


class SandboxCancelledError(SandboxError):
    """A job was killed since its result is not wanted any more; ``items`` are those before."""


class SandboxClosedError(SandboxCancelledError, RetriableError):
    """A job was killed since the worker stops: once it runs again, it can serve the same request."""


class SandboxBusyError(RetriableError):
    """As many jobs run as may run at a time."""


class SandboxStartError(RetriableError):
    """The worker's machine starts no process for a job now, for want of memory, processes or open files."""


class Sandbox:
    """Runs jobs, at most a few at a time. Made once per worker. Thread-safe."""

    def __init__(
        self,
        at_most: int = 4,
        max_items_bytes: int = 32 * _MEGABYTE,
        jobs: Mapping[str, str] = JOBS,
        clock: Clock = time.monotonic,
    ) -> None:
        """``max_items_bytes`` is the size of all items of one job as JSON."""
        self._at_most = at_most
        self._max_items_bytes = max_items_bytes
        self._jobs = jobs
        self._clock = clock
        self._free = threading.BoundedSemaphore(at_most)
        self._closed = threading.Event()

    def run(
        self,
        job: str,
        spec: Mapping[str, Any],
        timeout_s: float,
        on_item: Callable[[dict[str, Any]], None] | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> Items:
        """Run a job in a process of its own; return the items (JSON objects) that it emits, in order.

        When this returns or raises, the process and all that it started are gone. ``on_item`` gets each item at once,
        on the caller's thread; an error that it raises ends the job. ``cancel`` is called several times a second.

        Raise SandboxTimeoutError at the deadline; SandboxCancelledError if ``cancel`` returns True;
        SandboxClosedError if the sandbox is closed; SandboxBusyError, without starting it, if too many jobs run;
        SandboxStartError if no process can be started; SandboxError if the job fails or its items exceed their size.
        """
        if not self._free.acquire(blocking=False):
            raise SandboxBusyError(
                f"{self._at_most} requests that run plugins' code in a process of its own are being served by this"
                " worker, which are as many as may be at a time; retry when one of them is done"
            )
        try:
            with self._start(job, spec) as process:
                return self._collect(job, process, timeout_s, on_item, cancel)
        finally:
            self._free.release()

    def close(self) -> None:
        """Cancel all jobs; those that are started from now on are cancelled at once."""
        self._closed.set()

    def _start(self, job: str, spec: Mapping[str, Any]) -> JobProcess:
        start = {"job": self._jobs[job], "spec": spec, "path": sys.path}
        try:
            return JobProcess(json.dumps(start).encode() + b"\n")
        except OSError as error:
            raise SandboxStartError(
                f"The {job} runs in a process of its own, which the worker's machine does not start: {error}; retry,"
                " and see whether memory, processes or open files of the worker are at their limit"
            ) from error

    def _collect(
        self,
        job: str,
        process: JobProcess,
        timeout_s: float,
        on_item: Callable[[dict[str, Any]], None] | None,
        cancel: Callable[[], bool] | None,
    ) -> Items:
        deadline = Deadline.after(timeout_s, self._clock)
        items: Items = []
        while True:
            if self._closed.is_set():
                raise SandboxClosedError(f"The {job} was cancelled, since the worker stops", items)
            if cancel is not None and cancel():
                raise SandboxCancelledError(f"The {job} was cancelled", items)
            if deadline.expired:
                message = f"The {job} did not end within {timeout_s:g} seconds, and its process was killed"
                raise SandboxTimeoutError(message, items)
            lines = process.read(min(_TICK_S, deadline.remaining()))
            if process.bytes_read > self._max_items_bytes:
                limit = f"{self._max_items_bytes:,} bytes"
                raise SandboxError(f"The {job} returned more than {limit}; ask for fewer or smaller records", items)
            for line in lines:
                match _message(line):
                    case {"item": dict(item)}:
                        items.append(item)
                        if on_item is not None:
                            on_item(item)
                    case {"error": str(text), "type": str(type)}:
                        raise SandboxError(text, items, type)
                    case {"exit": 0}:
                        return items
                    case {"exit": int(status)}:
                        raise SandboxError(f"The {job}'s process {_death(status)}{_printed(process)}", items)
                    case _:
                        log.warning("The %s's process sent a line that is no item: %.200r", job, line)
            if process.ended:
                raise SandboxError(f"The {job}'s process ended{_printed(process)}", items)


def _message(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _death(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"


def _printed(process: JobProcess) -> str:
    printed = process.printed()
    return f"; it printed: {printed}" if printed else ""
