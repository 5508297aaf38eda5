# SPDX-License-Identifier: Apache-2.0
"""Which listeners serve ``/admin`` (KIP-495)."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.rest.exception_mapper import error_response
from headrace.rest.raw_path import sent_path

_ADMIN: Final = "/admin"


class AdminPaths:
    """Passes on what is for ``/admin`` alone, or all but that; as ASGI middleware. The rest is not found."""

    def __init__(self, app: ASGIApp, *, admin: bool) -> None:
        self._app = app
        self._admin = admin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = sent_path(scope)
        if (path == _ADMIN or path.startswith(f"{_ADMIN}/")) is self._admin:
            await self._app(scope, receive, send)
        else:
            await error_response(404, "HTTP 404 Not Found")(scope, receive, send)
