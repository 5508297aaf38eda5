# SPDX-License-Identifier: Apache-2.0
"""Serves the REST application on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from headrace.rest.listeners import BoundListeners

_DRAIN_SECONDS: Final = 2
_TICK_SECONDS: Final = 1.0
_TICKS_PER_DATE: Final = 10


class RestServer:
    """Owns the event loop that requests run on. `start` once, `stop` once, from any thread."""

    def __init__(self, app: ASGIApp, listeners: BoundListeners) -> None:
        # Its loggers would repeat what the exception mapper logs, with traces.
        for name in ("uvicorn", "uvicorn.error", "uvicorn.asgi"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._listeners = listeners
        self._server = _QuietServer(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                loop="asyncio",
                http="h11",
                ws="none",
                server_header=False,
                timeout_graceful_shutdown=_DRAIN_SECONDS,
            )
        )
        self._thread = threading.Thread(target=self._run, name="rest-server", daemon=True)

    def start(self) -> None:
        """Returns at once: the sockets accept connections already."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Lets running requests end for a moment, then closes everything; at most `timeout` seconds."""
        self._server.request_exit()
        if self._thread.is_alive():
            self._thread.join(timeout)
        self._listeners.close()

    def _run(self) -> None:
        self._server.run(sockets=list(self._listeners.sockets))


class _QuietServer(uvicorn.Server):
    """Ticks once a second, for the Date header, where uvicorn ticks ten times; and ends without waiting for a tick."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._exit = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def request_exit(self) -> None:
        """From any thread."""
        self.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._exit.set)

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        ticks = 0
        while not await self.on_tick(ticks * _TICKS_PER_DATE):
            ticks += 1
            try:
                await asyncio.wait_for(self._exit.wait(), _TICK_SECONDS)
            except TimeoutError:
                continue
