# SPDX-License-Identifier: Apache-2.0
"""An attempt at a task: one process that runs it."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from headrace.spark.channel.task_channel import AttemptChannel


@dataclass(frozen=True, slots=True)
class Attempt:
    """A process that was sent its task. ``local``: it is on this machine, so its pid is valid here."""

    number: int
    pid: int
    local: bool
    channel: AttemptChannel

    def kill(self) -> None:
        """End the process, whatever it does. Any thread; ``channel.closed`` is set when it is gone."""
        if self.channel.closed.is_set():
            return
        if not self.local:
            self.channel.break_off()
            return
        try:
            # While the channel is open the process lives, so its pid is still its own.
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            # A child that it forked still holds its end of the channel.
            self.channel.break_off()
