# SPDX-License-Identifier: Apache-2.0
"""``GET /health`` for probes that know no password: the status, and nothing of what it comes from."""

from __future__ import annotations

import json
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.rest.raw_path import sent_path

_NO_BODY: Final[Message] = {"type": "http.request", "body": b"", "more_body": False}


class OpenHealth:
    """Lets requests for the health pass that come without ``Authorization``; as ASGI middleware.

    Whoever does authorize themselves is asked as ever, and told all.
    """

    def __init__(self, asking: ASGIApp, api: ASGIApp) -> None:
        """``asking`` is the application behind what asks for credentials, ``api`` the same without."""
        self._asking = asking
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_open(scope):
            await self._asking(scope, receive, send)
            return
        answer: list[Message] = []

        async def no_body() -> Message:
            return _NO_BODY  # nobody reads what strangers send

        async def keep(message: Message) -> None:
            answer.append(message)

        await self._api(scope, no_body, keep)
        said = json.loads(b"".join(message.get("body", b"") for message in answer))
        if "status" in said:
            said = {"status": said["status"]}
        await JSONResponse(said, answer[0]["status"])(scope, receive, send)


def _is_open(scope: Scope) -> bool:
    asked = scope["method"] in ("GET", "HEAD") and sent_path(scope).rstrip("/") == "/health"
    return asked and "authorization" not in Headers(scope=scope)
