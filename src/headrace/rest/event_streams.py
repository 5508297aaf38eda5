# SPDX-License-Identifier: Apache-2.0
"""The open streams of events, and the one task that looks at the connectors for all of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from headrace.api.errors import ConnectError, RetriableError
from headrace.herder.connector_changes import ConnectorChanges

log = logging.getLogger(__name__)

MOST_STREAMS: Final = 100
_PAUSE_S: Final = 0.5

Look = Callable[[ConnectorChanges], Awaitable[bool]]
"""Notes what has changed; returns True if anything has. Raises ConnectError."""


class EventStreams:
    """Counts streams, and wakes them. Looks only while there is one. On the event loop, but for ``close``."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self.changes = ConnectorChanges(f"{time.time_ns() // 1_000_000:x}")
        self._most = most
        self._open = 0
        self._closed = False
        self._looking: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def going(self) -> bool:
        """False if streams have to end: the worker stops, or cannot look at the connectors."""
        return not self._closed and self._looking is not None

    async def join(self, look: Look) -> None:
        """Count a stream until it calls ``leave``, and look for it.

        Raise RetriableError if there are too many or the worker stops, and what the look raises.
        """
        if self._closed:
            raise RetriableError("The worker is stopping")
        if self._open >= self._most:
            raise RetriableError(f"{self._open} streams of events are open, the most that a worker serves; try later")
        self._open += 1
        try:
            await self._look(look)
        except BaseException:
            self.leave()
            raise
        if self._looking is None:
            self._loop = asyncio.get_running_loop()
            self._looking = asyncio.create_task(self._look_on(look), name="looks-for-event-streams")

    def leave(self) -> None:
        """Note the end of a stream that has joined."""
        self._open -= 1
        if not self._open and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def changed(self, position: str, timeout: float) -> None:
        """Wait for changes after a position, for the end of all streams, or so many seconds."""
        if self.going and self.changes.position == position:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), timeout)

    def close(self) -> None:
        """End all streams; any thread may call it."""
        self._closed = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the event loop has ended, and its streams with it
                self._loop.call_soon_threadsafe(self._wake)

    async def _look_on(self, look: Look) -> None:
        try:
            while True:
                await asyncio.sleep(_PAUSE_S)
                await self._look(look)
        except ConnectError as error:
            log.warning("Streams of events end, as the state of connectors cannot be read: %s", error)
        except Exception:
            log.exception("Streams of events end")
        self._looking = None
        self._wake()

    async def _look(self, look: Look) -> None:
        if await look(self.changes):
            self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
