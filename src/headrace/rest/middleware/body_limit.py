# SPDX-License-Identifier: Apache-2.0
"""Limits on the size, duration and total memory of request bodies."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.rest.exception_mapper import error_response

_FREE_BYTES: Final = 64 * 1024
_DRAIN_SECONDS: Final = 5.0
_DRAIN_BYTES: Final = 256 * 1024 * 1024


class BodyBudget:
    """The memory that all bodies which are read or processed may take together. Used on the server's event loop only.

    The first 64 KiB of each are not counted, so large bodies never keep ordinary requests out.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._taken = 0

    def reserve(self, before: int, after: int) -> bool:
        """Count a body's growth from ``before`` to ``after`` bytes; return False, counting nothing, without room."""
        more = max(0, after - _FREE_BYTES) - max(0, before - _FREE_BYTES)
        if self._taken + more > self.limit:
            return False
        self._taken += more
        return True

    def release(self, size: int) -> None:
        """Return the share of a body of this size, which is no longer held."""
        self._taken -= max(0, size - _FREE_BYTES)


class BodyLimit:
    """ASGI middleware that reads a request's body and passes it on whole.

    It answers 413 to one of more than `limit` bytes, 408 to one that is not complete after `timeout` seconds, and 503
    to one for which the `budget` of all bodies has no room.
    """

    def __init__(self, app: ASGIApp, limit: int, timeout: float, budget: BodyBudget) -> None:
        self._app = app
        self._limit = limit
        self._timeout = timeout
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared) > self._limit:
            await send_and_drain(self._too_large(), scope, receive, send)
            return
        body = _Body(self._budget)
        try:
            refusal = await self._read(receive, body)
            if refusal is not None:
                await send_and_drain(refusal, scope, receive, send, sent=body.incomplete)
            elif not body.disconnected:
                await self._app(scope, _replayed(body.take(), receive), send)
        finally:
            body.release()

    async def _read(self, receive: Receive, body: _Body) -> Response | None:
        """Read all of the body; return the answer if it is refused, None if it is accepted."""
        try:
            async with asyncio.timeout(self._timeout):
                while body.incomplete:
                    if not body.add(await receive()):
                        return self._no_room()
                    if body.size > self._limit:
                        return self._too_large()
        except TimeoutError:
            body.incomplete = False  # do not drain a body that is too slow
            slow = f"The body of the request has not come within {self._timeout:g} s"
            return error_response(408, slow, {"Connection": "close"})
        return None

    def _too_large(self) -> Response:
        message = f"The body of the request is larger than the {self._limit} bytes of rest.request.max.bytes"
        return error_response(413, message, {"Connection": "close"})

    def _no_room(self) -> Response:
        message = (
            f"The worker reads as many bodies of other requests at the moment as the {self._budget.limit} bytes of "
            "rest.requests.max.bytes allow; try again"
        )
        return error_response(503, message, {"Connection": "close", "Retry-After": "1"})


class _Body:
    """The received part of a body, counted in the budget."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._data = bytearray()
        self.size = 0
        self.incomplete = True
        """True while the client may send more."""
        self.disconnected = False
        """True once the client has disconnected."""

    def add(self, message: Message) -> bool:
        """Append a message's part; return False if the budget has no room for it."""
        self.disconnected = message["type"] != "http.request"
        self.incomplete = not self.disconnected and bool(message.get("more_body"))
        data = message.get("body", b"")
        if not self._budget.reserve(self.size, self.size + len(data)):
            return False
        self._data += data
        self.size += len(data)
        return True

    def take(self) -> bytes:
        """Return all of it and drop it here; it stays counted until the request is done."""
        data, self._data = bytes(self._data), bytearray()
        return data

    def release(self) -> None:
        self._budget.release(self.size)


async def send_and_drain(response: Response, scope: Scope, receive: Receive, send: Send, *, sent: bool = True) -> None:
    """Answer before the body is read, then read it to its end; ``sent``: the client may still be sending it.

    A client that waits for ``100 Continue`` sends none. A connection that is closed on unread bytes is reset, and the
    client may never see the answer.
    """

    async def send_then_drain(message: Message) -> None:
        if message["type"] == "http.response.body" and sent and "expect" not in Headers(scope=scope):
            await send({**message, "more_body": True})
            await _drain(receive)
            message = {"type": "http.response.body", "body": b""}
        await send(message)

    await response(scope, receive, send_then_drain)


async def _drain(receive: Receive) -> None:
    left = _DRAIN_BYTES
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return
    except TimeoutError:
        return


def _replayed(body: bytes, receive: Receive) -> Receive:
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay
