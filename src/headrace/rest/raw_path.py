# SPDX-License-Identifier: Apache-2.0
"""Routing by the path as sent, so that a name may contain every character, `/` and `%` too."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.herder.errors import BadRequestError


class RawPathMiddleware:
    """ASGI middleware that routes by the percent-encoded path, without a final slash; `decoded` decodes one name.

    A HEAD is routed as a GET, whose body the server leaves out.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (raw := scope.get("raw_path")):
            path = raw.decode("latin-1")
            method = "GET" if scope["method"] == "HEAD" else scope["method"]
            scope = {**scope, "path": path.rstrip("/") or "/", "method": method}
        await self._app(scope, receive, send)


def raw_path(request: Request) -> str:
    """Return the path as sent, percent-encoded and without the query."""
    return sent_path(request.scope)


def sent_path(scope: Scope) -> str:
    """Return the same as ``raw_path``, for a scope."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.decode("latin-1").partition("?")[0]


def encoded(name: str) -> str:
    """Encode a name as a segment of a path; clients and proxies would resolve the segments ``.`` and ``..``."""
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")


def decoded(segment: str) -> str:
    """Decode a segment of a path. Raise BadRequestError if it is not percent-encoded UTF-8."""
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError as error:
        raise BadRequestError(f"'{segment}' in the path is not percent-encoded UTF-8") from error
