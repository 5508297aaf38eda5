# SPDX-License-Identifier: Apache-2.0
"""A process that has attached to its worker, which may become an attempt at its task."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from headrace.model.process_end import ExitCalled
from headrace.model.process_group import kill_marked, kill_with_descendants
from headrace.spark.channel.messages import MARK, Attach
from headrace.spark.channel.task_channel import AttemptChannel
from headrace.spark.process.machine import this_machine
from headrace.spark.task.process_death import Death


class AttachedProcess:
    """A process with its channel, and with threads for the answers to its requests."""

    def __init__(self, channel: AttemptChannel, attach: Attach, name: str) -> None:
        """``name`` is that of the threads."""
        self.channel = channel
        self.pid = attach.pid
        self.answers = AnswerThreads(name)
        self.exit_called: ExitCalled | None = None
        """Its last message, if Java code has ended it."""
        self._local = attach.machine == this_machine()
        """True if its pid is valid here."""
        self._mark = attach.mark
        self._verdict: SimpleQueue[bool] = SimpleQueue()

    def decide(self, served: bool) -> None:
        """Have it ``served``, or not; once. Wakes ``is_served``."""
        self._verdict.put(served)

    def is_served(self) -> bool:
        """Wait for the decision about the process. On the channel's thread."""
        return self._verdict.get()

    def kill(self) -> None:
        """End the process with all that it has started, whatever it does. Any thread.

        ``channel.closed`` is set when it is gone.
        """
        if self.channel.closed.is_set():
            return
        if not self._local:
            self.channel.break_off()
            return
        try:
            # While the channel is open the process lives, so its pid is still its own.
            kill_with_descendants(self.pid)
        except ProcessLookupError:
            # A child that it forked still holds its end of the channel.
            self.channel.break_off()

    def death(self) -> Death:
        """Return what is known of its end, once it is gone. Once; on the channel's thread."""
        return Death(self.exit_called, self.channel.exit_status(), self.channel.knows_exit_status)

    def end_programs(self) -> None:
        """End what the process has started and left, once it is gone: it may have died by itself. Any thread."""
        if self._local and self._mark:
            kill_marked(f"{MARK}={self._mark}")


class AnswerThreads:
    """Threads that answer requests: as many as answers are under way at once, each kept for later ones.

    An answer takes time, and the end of the process must be noticed meanwhile.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._idle = 0

    def submit(self, answer: Callable[[], object]) -> None:
        """Have ``answer`` called, which must not raise, on one of the threads. Any thread; does not block."""
        with self._lock:
            another = self._idle == 0
            self._idle -= not another
            self._work.put(answer)
        if another:
            threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def close(self) -> None:
        """Let the threads end with the answers that are under way."""
        self._work.put(None)

    def _run(self) -> None:
        while (answer := self._work.get()) is not None:
            answer()
            with self._lock:
                self._idle += 1
        self._work.put(None)  # for the next one
