# SPDX-License-Identifier: Apache-2.0
"""The check of inter-worker requests before their bodies are read."""

from __future__ import annotations

import re
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.api.errors import ConnectError
from headrace.herder.cluster_herder import ClusterHerder
from headrace.rest.body_limit import send_and_drain
from headrace.rest.exception_mapper import on_connect_error
from headrace.rest.internal_request_signature import SignatureVerifier
from headrace.rest.raw_path import sent_path

_INTERNAL: Final = (
    ("POST", re.compile(r"/connectors/[^/]+/tasks")),
    ("PUT", re.compile(r"/connectors/[^/]+/fence")),
    ("PUT", re.compile(r"/internal/loggers/[^/]+")),
)


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
