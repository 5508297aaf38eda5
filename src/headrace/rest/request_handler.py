# SPDX-License-Identifier: Apache-2.0
"""Waits for what the herder was asked for."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from typing import Final, TypeVar

from headrace.api.errors import ConnectError
from headrace.herder.errors import RequestTimeoutError
from headrace.herder.herder import Herder

T = TypeVar("T")

REQUEST_TIMEOUT_SECONDS: Final = 90.0
"""Java: ``DEFAULT_REST_REQUEST_TIMEOUT_MS``."""


class RequestHandler:
    """Awaits futures of the herder, for a limited time. Used on the server's event loop only."""

    def __init__(self, herder: Herder, timeout: float = REQUEST_TIMEOUT_SECONDS) -> None:
        self._herder = herder
        self._timeout = timeout

    async def complete(self, request: Future[T]) -> T:
        """The future's result or error; RequestTimeoutError names what the herder is waiting for.

        The request itself goes on: it may have been done in part, and nobody can take it back.
        """
        waiting = asyncio.wrap_future(request)
        started = time.monotonic()
        # Not wait_for: it would cancel the herder's future, which the herder still has to complete.
        while not waiting.done() and (left := started + self._timeout - time.monotonic()) > 0:
            self._check_alive(waiting)
            await asyncio.wait({waiting}, timeout=min(left, 1.0))
        if waiting.done():
            return waiting.result()
        _forget(waiting)
        raise RequestTimeoutError(f"Request timed out after {self._timeout:g} s. The worker is {self._herder.stage()}")

    def _check_alive(self, waiting: asyncio.Future[T]) -> None:
        failure = self._herder.failure()
        if failure is not None:
            _forget(waiting)
            raise ConnectError(f"The worker has failed: {failure}") from failure


def _forget(waiting: asyncio.Future[T]) -> None:
    """Nobody will ask for the result: spare the log a complaint about an error never looked at."""
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
