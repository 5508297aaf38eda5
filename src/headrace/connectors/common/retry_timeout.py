# SPDX-License-Identifier: Apache-2.0
"""The time limit for retries of an external system that does not answer."""

from __future__ import annotations

from collections.abc import Callable

from headrace.api.errors import ConnectError, RetriableError


class RetryTimeout:
    """A time limit that starts with the first of consecutive failures. For one thread."""

    def __init__(self, timeout_ms: int, clock: Callable[[], float]) -> None:
        """A negative `timeout_ms` is no limit; `clock` is in seconds."""
        self._timeout = timeout_ms / 1000
        self._clock = clock
        self._since: float | None = None

    def reset(self) -> None:
        """Note a success: the next failure starts the time limit again."""
        self._since = None

    def error_after(self, error: RetriableError, what: str) -> ConnectError:
        """Return the error to raise: ``error`` itself, after the time limit one that is not retriable."""
        now = self._clock()
        self._since = now if self._since is None else self._since
        if self._timeout < 0 or now - self._since < self._timeout:
            return error
        return ConnectError(
            f"Tried for {now - self._since:.0f} s (retry.timeout.ms), but {what} cannot be read: {error}"
        )
