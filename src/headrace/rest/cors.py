# SPDX-License-Identifier: Apache-2.0
"""Which pages of other origins may use the API, by ``access.control.allow.origin`` and ``….methods``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.config.worker_config import ALLOWED_ORIGINS
from headrace.rest.exception_mapper import error_response

_READING: Final = ("GET", "HEAD", "OPTIONS")
_METHODS: Final = ("GET", "POST", "HEAD")
"""What Java's filter allows where nothing is said."""
_PORTS: Final = {"http": 80, "https": 443}
_HEADERS: Final = ("X-Requested-With", "Content-Type", "Accept", "Origin", "Authorization")


class CrossSiteWrites:
    """Answers 403 to changes that a browser asks for on behalf of another origin's page; as ASGI middleware.

    Browsers send some of them, such as a POST without a body, without asking first whether the page may (CORS).
    """

    def __init__(self, app: ASGIApp, allowed: Callable[[str], bool]) -> None:
        """``allowed``: whether pages of an origin may use the API all the same."""
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if scope["method"] in _READING or not _is_foreign(headers) or self._allowed(headers.get("origin", "")):
            await self._app(scope, receive, send)
            return
        message = f"A page of another site may not change anything here, unless {ALLOWED_ORIGINS} has its origin"
        await error_response(403, message)(scope, receive, send)


def _is_foreign(headers: Headers) -> bool:
    """Whether a page of another origin than the worker's asks. Where browsers tell, a proxy may change the Host."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site.lower() not in ("same-origin", "none")
    if origin is None:
        return False
    return _place(origin) != _place(f"{origin.partition('://')[0]}://{headers.get('host', '')}")


def _place(url: str) -> tuple[str, int | None]:
    """Host and port; a scheme's own port is the same as none. A text of which no URL is made is somewhere else."""
    try:
        parts = urlsplit(url.lower())
        return parts.hostname or url, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return url, None


def with_cors(app: ASGIApp, origins: Sequence[str], methods: Sequence[str]) -> ASGIApp:
    """The application for browsers: pages of the origins may use it by the methods, others may change nothing."""
    if not origins:
        return CrossSiteWrites(app, lambda origin: False)
    patterns = [origin for origin in origins if "*" in origin and origin != "*"]
    cors = CORSMiddleware(
        app,
        allow_origins=[origin for origin in origins if origin not in patterns],
        allow_origin_regex="|".join(_pattern(origin) for origin in patterns) or None,
        allow_methods=[method.upper() for method in methods] or _METHODS,
        allow_headers=_HEADERS,
        # A page that is named may use what its user's browser knows of user and password; just any page may not.
        allow_credentials="*" not in origins,
    )
    return CrossSiteWrites(cors, cors.is_allowed_origin)


def _pattern(origin: str) -> str:
    return "[^/]*".join(re.escape(part) for part in origin.split("*"))
