# SPDX-License-Identifier: Apache-2.0
"""Awaiting of requests to the herder."""

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
    """An awaiter of the herder's futures, with a timeout. Used on the server's event loop only."""

    def __init__(self, herder: Herder, timeout: float = REQUEST_TIMEOUT_SECONDS) -> None:
        self._herder = herder
        self._timeout = timeout

    async def complete(self, request: Future[T]) -> T:
        """Return the future's result or raise its error; a RequestTimeoutError names the herder's current stage.

        The request itself goes on after a timeout: it may be done in part and cannot be taken back.
        """
        waiting = asyncio.wrap_future(request)
        started = time.monotonic()
        # Not wait_for: it would cancel the herder's future, which the herder still has to complete.
        while not waiting.done() and (left := started + self._timeout - time.monotonic()) > 0:
            self._check_alive(waiting)
            await asyncio.wait({waiting}, timeout=min(left, 1.0))
        if waiting.done():
            return waiting.result()
        _ignore_result(waiting)
        raise RequestTimeoutError(f"Request timed out after {self._timeout:g} s. The worker is {self._herder.stage()}")

    def _check_alive(self, waiting: asyncio.Future[T]) -> None:
        failure = self._herder.failure()
        if failure is not None:
            _ignore_result(waiting)
            raise ConnectError(f"The worker has failed: {failure}") from failure


def _ignore_result(waiting: asyncio.Future[T]) -> None:
    """Retrieve the error when it comes: asyncio logs those that are never retrieved."""
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
