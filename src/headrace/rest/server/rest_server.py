# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of the REST application, on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

import uvicorn
from starlette.types import ASGIApp

from headrace.model.service_threads import ServiceThread
from headrace.rest.server.connection_limits import DEFAULT_LIMITS, ConnectionLimits, HttpLimits
from headrace.rest.server.endpoints import NO_TLS, TlsContexts
from headrace.rest.server.http_protocol import HttpProtocol
from headrace.rest.server.listeners import BoundListeners

_DRAIN_SECONDS: Final = 2
_TICK_SECONDS: Final = 1.0
_TICKS_PER_DATE: Final = 10


class RestServer:
    """The owner of the event loop that requests run on. `start` once, `stop` once, from any thread."""

    def __init__(
        self,
        app: ASGIApp,
        listeners: BoundListeners,
        *,
        admin_app: ASGIApp | None = None,
        tls: TlsContexts = NO_TLS,
        limits: HttpLimits = DEFAULT_LIMITS,
        end_requests: Sequence[Callable[[], None]] = (),
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """``admin_app``: the application of the admin listeners.

        ``end_requests`` are called when the server begins to stop: requests that would outlast it have to answer then.
        ``on_stop`` is called once, after the last request.
        """
        # uvicorn's loggers would repeat the exception mapper's lines, with traces.
        for name in ("uvicorn", "uvicorn.error", "uvicorn.asgi"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._listeners = listeners
        self._end_requests = end_requests
        self._on_stop = on_stop
        connections = ConnectionLimits(limits)
        for each in listeners.bound:
            for bound in each.sockets:
                bound.limits = connections
        self._server = _MultiListenerServer(
            [
                _Listener(_config((each.admin and admin_app) or app, connections), tls.of(each), each.sockets)
                for each in listeners.bound
            ],
            connections,
        )
        self._thread = ServiceThread("rest-server", self._run, "the REST API does not answer")
        self._stopping = False

    def start(self) -> None:
        """Start the thread; returns at once: the sockets accept connections already."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Give running requests a moment to end, then close everything, within `timeout` seconds."""
        self._stopping = True
        # First: a request that does not end within uvicorn's moment is answered with 500.
        for end in self._end_requests:
            end()
        self._server.request_exit()
        if self._thread.is_alive():
            self._thread.join(timeout)
        self._listeners.close()
        self._on_stop()

    def has_died(self) -> bool:
        """Return True if the thread has ended without `stop`."""
        return self._thread.ident is not None and not self._thread.is_alive() and not self._stopping

    def _run(self) -> None:
        self._server.run(sockets=[])


@dataclass(frozen=True, slots=True)
class _Listener:
    """A listener's sockets, with the configuration and TLS to serve them by."""

    config: uvicorn.Config
    tls: ssl.SSLContext | None
    sockets: tuple[socket.socket, ...]


def _config(app: ASGIApp, connections: ConnectionLimits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        loop="asyncio",
        http=cast("type[asyncio.Protocol]", partial(HttpProtocol, limits=connections)),
        timeout_keep_alive=cast("int", connections.limits.keep_alive),  # call_later takes fractions
        ws="none",
        server_header=False,
        proxy_headers=False,  # any client can send them, and `HostCheck` relies on the scheme
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )


class _MultiListenerServer(uvicorn.Server):
    """A server with a configuration for each listener, where uvicorn has one for all.

    It ticks once a second, for the Date header and the connection limits, where uvicorn ticks ten times, and ends
    without waiting for a tick.
    """

    def __init__(self, listeners: Sequence[_Listener], connections: ConnectionLimits) -> None:
        super().__init__(listeners[0].config)
        self._listeners = listeners
        self._connections = connections
        self._exit = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def request_exit(self) -> None:
        """End the main loop; from any thread."""
        self.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._exit.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        started: list[asyncio.base_events.Server] = []
        for each in self._listeners:
            self.config = each.config
            if not self.config.loaded:
                self.config.load()
            self.config.ssl = each.tls
            await super().startup(sockets=list(each.sockets))
            started += self.servers
        self.servers = started

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        ticks = 0
        while not await self.on_tick(ticks * _TICKS_PER_DATE):
            ticks += 1
            self._connections.tick()
            try:
                await asyncio.wait_for(self._exit.wait(), _TICK_SECONDS)
            except TimeoutError:
                continue
