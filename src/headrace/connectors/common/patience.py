# SPDX-License-Identifier: Apache-2.0
"""For how long an outside system that does not answer is asked again."""

from __future__ import annotations

from collections.abc import Callable

from headrace.api.errors import ConnectError, RetriableError


class Patience:
    """Counts from the first of failures that follow each other. One thread."""

    def __init__(self, timeout_ms: int, clock: Callable[[], float]) -> None:
        """`timeout_ms` below zero is without end."""
        self._timeout = timeout_ms / 1000
        self._clock = clock
        self._since: float | None = None

    def rest(self) -> None:
        """It has answered."""
        self._since = None

    def after(self, error: RetriableError, what: str) -> ConnectError:
        """What to raise: the error itself, or, when its time is over, one that is not tried again."""
        now = self._clock()
        self._since = now if self._since is None else self._since
        if self._timeout < 0 or now - self._since < self._timeout:
            return error
        return ConnectError(
            f"Tried for {now - self._since:.0f} s (retry.timeout.ms), but {what} cannot be read: {error}"
        )
