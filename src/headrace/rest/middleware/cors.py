# SPDX-License-Identifier: Apache-2.0
"""CORS by ``access.control.allow.origin`` and ``access.control.allow.methods``, and a guard against CSRF."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.config.rest_config import ALLOWED_ORIGINS
from headrace.rest.exception_mapper import error_response

_READING: Final = ("GET", "HEAD", "OPTIONS")
_METHODS: Final = ("GET", "POST", "HEAD")
"""The methods that Java's filter allows by default."""
_PORTS: Final = {"http": 80, "https": 443}
_HEADERS: Final = ("X-Requested-With", "Content-Type", "Accept", "Origin", "Authorization")


class CrossOriginWriteGuard:
    """ASGI middleware that answers 403 to cross-origin requests of browsers that would change something.

    Browsers send some of them, such as a POST without a body, without a CORS preflight request.
    """

    def __init__(self, app: ASGIApp, allowed: Callable[[str], bool]) -> None:
        """Wrap ``app``; ``allowed`` returns True for origins whose pages may change things all the same."""
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if scope["method"] in _READING or not _is_cross_origin(headers) or self._allowed(headers.get("origin", "")):
            await self._app(scope, receive, send)
            return
        message = f"A page of another site may not change anything here, unless {ALLOWED_ORIGINS} has its origin"
        await error_response(403, message)(scope, receive, send)


def _is_cross_origin(headers: Headers) -> bool:
    """Return True for a page of another origin. ``Sec-Fetch-Site`` wins: a proxy may change the Host."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site.lower() not in ("same-origin", "none")
    if origin is None:
        return False
    return _host_and_port(origin) != _host_and_port(f"{origin.partition('://')[0]}://{headers.get('host', '')}")


def _host_and_port(url: str) -> tuple[str, int | None]:
    """Return host and port, the scheme's own where it has none; a text that is no URL is a host of its own."""
    try:
        parts = urlsplit(url.lower())
        return parts.hostname or url, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return url, None


def with_cors(app: ASGIApp, origins: Sequence[str], methods: Sequence[str]) -> ASGIApp:
    """Wrap ``app`` so that pages of the origins may use it by the methods, and those of others may change nothing."""
    if not origins:
        return CrossOriginWriteGuard(app, lambda origin: False)
    patterns = [origin for origin in origins if "*" in origin and origin != "*"]
    cors = CORSMiddleware(
        app,
        allow_origins=[origin for origin in origins if origin not in patterns],
        allow_origin_regex="|".join(_pattern(origin) for origin in patterns) or None,
        allow_methods=[method.upper() for method in methods] or _METHODS,
        allow_headers=_HEADERS,
        # Pages of listed origins may send the browser's stored credentials; with '*' no page may.
        allow_credentials="*" not in origins,
    )
    return CrossOriginWriteGuard(cors, cors.is_allowed_origin)


def _pattern(origin: str) -> str:
    return "[^/]*".join(re.escape(part) for part in origin.split("*"))
