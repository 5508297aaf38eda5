# SPDX-License-Identifier: Apache-2.0
"""Routing by the path as it was sent, so that a name may contain every character, `/` and `%` too."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.herder.errors import BadRequestError


class RawPathMiddleware:
    """Gives the router the percent-encoded path, without a slash at its end; `decoded` undoes it for one name.

    A HEAD is a GET whose body the server leaves out.
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
    """The path as it was sent, percent-encoded and without the query."""
    return sent_path(request.scope)


def sent_path(scope: Scope) -> str:
    """As ``raw_path``, before there is a request."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.decode("latin-1").partition("?")[0]


def encoded(name: str) -> str:
    """A name as a segment of a path; dots alone would be taken for a step upwards on the way."""
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")


def decoded(segment: str) -> str:
    """A name out of a path. BadRequestError if it is not percent-encoded UTF-8."""
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError as error:
        raise BadRequestError(f"'{segment}' in the path is not percent-encoded UTF-8") from error
