# SPDX-License-Identifier: Apache-2.0
"""The delay of Spark's next start after a failed start, or a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.model.backoff import ExponentialBackoff

_BACKOFF: Final = ExponentialBackoff(1.0, 30.0)
_STEADY_S: Final = 60.0
"""A session that has lived so long has not failed at its start."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """The history of starts. ``failures``: those in a row that failed, at once or soon after."""

    failures: int = 0

    def failed(self) -> Restarts:
        """Return the history after a start that failed."""
        return Restarts(self.failures + 1)

    def lost(self, lived: float) -> Restarts:
        """Return the history after the loss of a session that lived for so many seconds."""
        return Restarts() if lived >= _STEADY_S else self.failed()

    @property
    def delay(self) -> float:
        """Seconds until the next start; they double with each failure, up to half a minute."""
        return _BACKOFF.after(self.failures)
