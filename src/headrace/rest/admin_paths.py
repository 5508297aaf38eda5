# SPDX-License-Identifier: Apache-2.0
"""The separation of ``/admin`` from the other paths, by listeners (KIP-495)."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.rest.exception_mapper import error_response
from headrace.rest.raw_path import sent_path

_ADMIN: Final = "/admin"


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
