# SPDX-License-Identifier: Apache-2.0
"""Small filters: response headers, ``/admin`` by listener, open health, signatures of inter-worker requests."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from email.utils import formatdate
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.api.errors import ConnectError
from headrace.config.rest_config import HeaderRule
from headrace.herder.herder import ClusterHerder
from headrace.rest.exception_mapper import error_response, on_connect_error
from headrace.rest.internal_request_signature import SignatureVerifier
from headrace.rest.middleware.body_limit import send_and_drain
from headrace.rest.raw_path import sent_path

_ADMIN: Final = "/admin"
_WATCHED: Final = ("/health", "/metrics")

_NO_BODY: Final[Message] = {"type": "http.request", "body": b"", "more_body": False}

_INTERNAL: Final = (
    ("POST", re.compile(r"/connectors/[^/]+/tasks")),
    ("PUT", re.compile(r"/connectors/[^/]+/fence")),
    ("PUT", re.compile(r"/internal/loggers/[^/]+")),
    ("GET", re.compile(r"/internal/(health|history)(/[^/]+)?")),
    ("GET", re.compile(r"/internal/worker")),
    ("POST", re.compile(r"/internal/changes")),
    ("POST", re.compile(r"/internal/logs/[^/]+")),
)


class ResponseHeaders:
    """ASGI middleware that applies the rules to each answer's headers."""

    def __init__(self, app: ASGIApp, rules: Sequence[HeaderRule]) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for rule in self._rules:
                    _apply(rule, headers)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _apply(rule: HeaderRule, headers: MutableHeaders) -> None:
    value = formatdate(time.time() + int(rule.value) / 1000, usegmt=True) if rule.date else rule.value
    if rule.replaces:
        headers[rule.name] = value
    else:
        headers.append(rule.name, value)


class AdminPathFilter:
    """ASGI middleware that passes on requests for ``/admin`` only, or all others only, and answers 404 to the rest."""

    def __init__(self, app: ASGIApp, *, admin: bool) -> None:
        self._app = app
        self._admin = admin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = sent_path(scope)
        if (path == _ADMIN or path.startswith(f"{_ADMIN}/")) is self._admin:
            await self._app(scope, receive, send)
        else:
            await error_response(404, "HTTP 404 Not Found")(scope, receive, send)


class OnlyInternal:
    """ASGI middleware that answers 404 to all but the worker's health and metrics and, if ``internal``, other workers.

    For a worker whose connectors follow from its properties, and which no request may change.
    """

    def __init__(self, app: ASGIApp, *, internal: bool) -> None:
        self._app = app
        self._internal = internal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        open_to_all = scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and sent_path(scope) in _WATCHED
        if scope["type"] != "http" or open_to_all or (self._internal and is_internal(scope)):
            await self._app(scope, receive, send)
        else:
            await error_response(404, "HTTP 404 Not Found")(scope, receive, send)


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
            return _NO_BODY  # the body of a client without access is not read

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


def is_internal(scope: Scope) -> bool:
    """Return True for a request between workers. It is signed, so it needs no user."""
    path = sent_path(scope).rstrip("/")
    return any(scope["method"] == method and pattern.fullmatch(path) for method, pattern in _INTERNAL)


class InternalRequestCheck:
    """ASGI middleware that refuses inter-worker requests with a bad signature, by their headers only."""

    def __init__(self, app: ASGIApp, herder: ClusterHerder, verifier: SignatureVerifier) -> None:
        self._app = app
        self._herder = herder
        self._verifier = verifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_internal(scope) and self._herder.signed():
            try:
                self._verifier.verify_head(
                    scope["method"], sent_path(scope), Headers(scope=scope), self._herder.session_key()
                )
            except ConnectError as error:
                response = await on_connect_error(Request(scope), error)
                response.headers["Connection"] = "close"
                await send_and_drain(response, scope, receive, send)
                return
        await self._app(scope, receive, send)
