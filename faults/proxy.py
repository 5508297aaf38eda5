# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy before a broker, which can lose, hold and delay single requests and answers, and cut one direction."""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

from faults.wire import Api, Request, correlation_of, request_of
from headrace.broker.free_port import LOOPBACK, free_port

_SIZE = struct.Struct(">i")
_ANSWER_TIME_S = 5.0


class How(Enum):
    """What a trap does with what it catches."""

    DROP_ANSWER = "the broker has done it, but its answer is lost with the connection"
    HOLD_ANSWER = "the answer, and all behind it on the connection, comes late"
    DELAY_REQUEST = "the connection is lost; the request reaches the broker late, after others of the same client"


class Direction(Enum):
    """Which way nothing passes when a proxy is cut."""

    TO_BROKER = "to broker"
    TO_CLIENT = "to client"


@dataclass(eq=False)
class Trap:
    """Catches one request for `api`, or the answer to it, of a client whose id holds `client`.

    What it holds or delays is let go when another request of that client for `until` has been answered, or after
    `seconds`. Set once; `caught` and `over` may be waited for on any thread.
    """

    api: Api
    client: str
    how: How
    seconds: float
    until: Api | None = None
    caught: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._freed = asyncio.Event()

    def matches(self, request: Request) -> bool:
        return request.api == self.api and self.client in request.client

    def answered(self, request: Request) -> None:
        """Hears of each answer that passes."""
        if self.caught.is_set() and request.api == self.until and self.client in request.client:
            self._freed.set()

    def free(self) -> None:
        """Lets go what it holds; on the proxy's thread."""
        self._freed.set()

    async def wait(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._freed.wait(), self.seconds)


class Proxy:
    """One port before one port of a broker. All public methods are callable on any thread but the proxy's own."""

    def __init__(self, upstream: int) -> None:
        self.port = free_port()
        self._upstream = upstream
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy-{self.port}", daemon=True)
        self._traps: list[Trap] = []
        self._caught: list[Trap] = []
        self._links: set[_Link] = set()
        self._open = {direction: asyncio.Event() for direction in Direction}
        self._seen: dict[tuple[int, str], float] = {}

    def __enter__(self) -> Self:
        for event in self._open.values():
            event.set()
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._serve, LOOPBACK, self.port))
        return self

    def __exit__(self, *exc: object) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def set(self, trap: Trap) -> None:
        self._loop.call_soon_threadsafe(self._traps.append, trap)

    def unset(self, trap: Trap) -> None:
        """Takes a trap away that has caught nothing; otherwise nothing happens."""
        self._do(self._unset(trap))

    def free(self, trap: Trap) -> None:
        """Lets go now what the trap holds."""
        self._loop.call_soon_threadsafe(trap.free)

    def cut(self, direction: Direction) -> None:
        """From now on nothing passes that way; what is sent waits, as in a network that will heal."""
        self._loop.call_soon_threadsafe(self._open[direction].clear)

    def heal(self) -> None:
        for event in self._open.values():
            self._loop.call_soon_threadsafe(event.set)

    def reset(self) -> None:
        """Loses all connections that there are."""
        self._loop.call_soon_threadsafe(lambda: [link.abort() for link in self._links])

    def last_request(self, api: Api, client: str) -> float:
        """When (monotonic) a client whose id ends so asked for `api` last; 0 if never."""
        seen = dict(self._seen)
        return max((at for (number, name), at in seen.items() if number == api and name.endswith(client)), default=0.0)

    # ---- on the proxy's thread

    def take(self, request: Request, *how: How) -> Trap | None:
        trap = next((trap for trap in self._traps if trap.how in how and trap.matches(request)), None)
        if trap is not None:
            self._traps.remove(trap)
            self._caught.append(trap)
            trap.caught.set()
        return trap

    def let_go(self, trap: Trap) -> None:
        self._caught.remove(trap)
        trap.over.set()

    def note(self, request: Request) -> None:
        self._seen[request.api, request.client] = time.monotonic()

    def answered(self, request: Request) -> None:
        for trap in self._caught:
            trap.answered(request)

    async def passes(self, direction: Direction) -> None:
        await self._open[direction].wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream = await asyncio.open_connection(LOOPBACK, self._upstream)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(self, (reader, writer), upstream)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)

    async def _unset(self, trap: Trap) -> None:
        with suppress(ValueError):
            self._traps.remove(trap)

    async def _close(self) -> None:
        self._server.close()
        serving = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)


_Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Link:
    """One client's connection and the one to the broker that stands for it."""

    def __init__(self, proxy: Proxy, client: _Stream, broker: _Stream) -> None:
        self._proxy = proxy
        self._client_reader, self._client = client
        self._broker_reader, self._broker = broker
        self._asked: dict[int, Request] = {}

    async def run(self) -> None:
        """Until one side ends, or a trap ends both."""
        ways = [asyncio.ensure_future(self._requests()), asyncio.ensure_future(self._answers())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self.abort()

    def abort(self) -> None:
        self._client.transport.abort()
        self._broker.transport.abort()

    async def _requests(self) -> None:
        while True:
            frame = await _read(self._client_reader)
            request = request_of(frame)
            self._proxy.note(request)
            trap = self._proxy.take(request, How.DELAY_REQUEST)
            if trap is not None:
                self._client.transport.abort()
                await trap.wait()
            await self._proxy.passes(Direction.TO_BROKER)
            self._asked[request.correlation] = request
            await _write(self._broker, frame)
            if trap is not None:
                await self._await_answer(request)
                self._proxy.let_go(trap)
                return

    async def _answers(self) -> None:
        while True:
            frame = await _read(self._broker_reader)
            request = self._asked.pop(correlation_of(frame))
            await self._proxy.passes(Direction.TO_CLIENT)
            trap = self._proxy.take(request, How.DROP_ANSWER, How.HOLD_ANSWER)
            if trap is not None and trap.how is How.HOLD_ANSWER:
                await trap.wait()
            if trap is not None:
                self._proxy.let_go(trap)
                if trap.how is How.DROP_ANSWER:
                    return
            if not self._client.transport.is_closing():
                await _write(self._client, frame)
            self._proxy.answered(request)

    async def _await_answer(self, request: Request) -> None:
        end = time.monotonic() + _ANSWER_TIME_S
        while request.correlation in self._asked and time.monotonic() < end:
            await asyncio.sleep(0.005)


async def _read(reader: asyncio.StreamReader) -> bytes:
    size: int = _SIZE.unpack(await reader.readexactly(_SIZE.size))[0]
    return await reader.readexactly(size)


async def _write(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(_SIZE.pack(len(frame)) + frame)
    await writer.drain()
