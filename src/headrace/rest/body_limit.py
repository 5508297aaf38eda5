# SPDX-License-Identifier: Apache-2.0
"""Refuses bodies that nobody would send in earnest, before they fill the worker's memory or keep it waiting."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.rest.exception_mapper import error_response

_DRAIN_SECONDS: Final = 5.0
_DRAIN_BYTES: Final = 256 * 1024 * 1024


class BodyLimit:
    """Reads a request's body, and hands it on whole, as ASGI middleware.

    Answers 413 to one of more than `limit` bytes, and 408 to one that is not there after `timeout` seconds.
    """

    def __init__(self, app: ASGIApp, limit: int, timeout: float) -> None:
        self._app = app
        self._limit = limit
        self._timeout = timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > self._limit:
            await self._refuse(scope, receive, send, sent="expect" not in headers)
            return
        body = bytearray()
        message: Message = {"more_body": True}
        try:
            async with asyncio.timeout(self._timeout):
                while message.get("more_body") and len(body) <= self._limit:
                    message = await receive()
                    body += message.get("body", b"")
        except TimeoutError:
            slow = f"The body of the request has not come within {self._timeout:g} s"
            await error_response(408, slow, {"Connection": "close"})(scope, receive, send)
            return
        if len(body) > self._limit:
            await self._refuse(scope, receive, send, sent=bool(message.get("more_body")))
        elif message["type"] == "http.request":  # else who asked is gone
            await self._app(scope, _replayed(bytes(body), receive), send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, *, sent: bool) -> None:
        """``sent``: whether more of the body is on its way."""
        message = f"The body of the request is larger than the {self._limit} bytes of rest.request.max.bytes"
        response = error_response(413, message, {"Connection": "close"})

        async def send_and_drain(message: Message) -> None:
            if message["type"] == "http.response.body" and sent:
                # A connection that is closed on unread bytes is reset, and the client may never see the answer.
                await send({**message, "more_body": True})
                await _drain(receive)
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        await response(scope, receive, send_and_drain)


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
