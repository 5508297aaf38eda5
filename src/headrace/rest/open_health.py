# SPDX-License-Identifier: Apache-2.0
"""``GET /health`` without credentials, for probes: the status only, without its reasons."""

from __future__ import annotations

import json
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.rest.raw_path import sent_path

_NO_BODY: Final[Message] = {"type": "http.request", "body": b"", "more_body": False}


class UnauthenticatedHealth:
    """ASGI middleware that answers the health's status to requests without ``Authorization``.

    Requests with ``Authorization`` are authenticated as all others, and get the whole answer.
    """

    def __init__(self, protected: ASGIApp, app: ASGIApp) -> None:
        """``protected`` is the application behind authentication, ``app`` the same without."""
        self._protected = protected
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_unauthenticated_probe(scope):
            await self._protected(scope, receive, send)
            return
        messages: list[Message] = []

        async def no_body() -> Message:
            return _NO_BODY  # a stranger's body is not read

        async def keep(message: Message) -> None:
            messages.append(message)

        await self._app(scope, no_body, keep)
        answer = json.loads(b"".join(message.get("body", b"") for message in messages))
        if "status" in answer:
            answer = {"status": answer["status"]}
        await JSONResponse(answer, messages[0]["status"])(scope, receive, send)


def _is_unauthenticated_probe(scope: Scope) -> bool:
    is_health = scope["method"] in ("GET", "HEAD") and sent_path(scope).rstrip("/") == "/health"
    return is_health and "authorization" not in Headers(scope=scope)
