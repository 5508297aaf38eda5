# SPDX-License-Identifier: Apache-2.0
"""One process that runs a task."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from headrace.spark.channel.task_channel import AttemptChannel


@dataclass(frozen=True, slots=True)
class Attempt:
    """A process that was sent its task. ``local``: on this machine, so that its pid means something here."""

    number: int
    pid: int
    local: bool
    channel: AttemptChannel

    def kill(self) -> None:
        """End the process whatever it does. Any thread; ``channel.closed`` tells when it is gone."""
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
