# SPDX-License-Identifier: Apache-2.0
"""The calls between a task's process and its worker, whatever carries them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from headrace.api.frames import Frames

Offset = Mapping[str, Any]
Partition = Mapping[str, Any]


class WorkerLink(Protocol):
    """Requests and reports to the worker, called on the task's thread. Requests block for the answer."""

    @property
    def frames(self) -> Frames:
        """Runs jobs on DataFrames through the worker."""

    def confirm_start(self) -> bool:
        """Ask for GO (True) or ABANDON (False); once, after ``init_transactions`` (invariant 4)."""

    def read_offsets(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        """Return committed offsets, after the worker has read the offsets topics to the end (invariant 3)."""

    def write_offsets(self, records: Mapping[bytes, bytes | None]) -> None:
        """Have a worker without an offsets topic write offset records. RetriableError if they are not written."""

    def report_running(self) -> None: ...

    def report_paused(self) -> None: ...

    def report_offsets_committed(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None: ...

    def report_topics_used(self, topics: Sequence[str]) -> None:
        """Report topics that were just read or written. Each is sent once, until the worker has them forgotten."""

    def report_metrics(self, values: Mapping[str, float]) -> None: ...


class TaskControl:
    """The worker's requests. Set by the thread that listens to the worker, read by the task's thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._stopping = False
        self._paused = False
        self._on_stop: Callable[[], None] | None = None

    @property
    def stopping(self) -> bool:
        return self._stopping

    @property
    def paused(self) -> bool:
        return self._paused

    def stop(self) -> None:
        """Ask the task to end; calls the hook of ``on_stop`` once, on this thread."""
        with self._changed:
            first, self._stopping = not self._stopping, True
            hook = self._on_stop
            self._changed.notify_all()
        if first and hook is not None:
            hook()

    def set_paused(self, paused: bool) -> None:
        with self._changed:
            self._paused = paused
            self._changed.notify_all()

    def on_stop(self, hook: Callable[[], None]) -> bool:
        """Have ``hook`` called once when a stop is asked for. Return False, and never call it, if that was before."""
        with self._changed:
            self._on_stop = hook
            return not self._stopping

    def wait_while_paused(self) -> None:
        """Block until the task may poll again or is to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or not self._paused)

    def wait_for_stop(self, seconds: float) -> bool:
        """Wait for so many seconds; return True as soon as a stop is asked for."""
        with self._changed:
            return self._changed.wait_for(lambda: self._stopping, seconds)
