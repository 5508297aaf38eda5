# SPDX-License-Identifier: Apache-2.0
"""Which pages of other origins may use the API, by ``access.control.allow.origin`` and ``….methods``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.config.worker_config import ALLOWED_ORIGINS
from headrace.rest.exception_mapper import error_response

_READING: Final = ("GET", "HEAD", "OPTIONS")
_METHODS: Final = ("GET", "POST", "HEAD")
"""What Java's filter allows where nothing is said."""
_HEADERS: Final = ("X-Requested-With", "Content-Type", "Accept", "Origin", "Authorization")


class CrossSiteWrites:
    """Answers 403 to changes that a browser asks for on behalf of another site's page; as ASGI middleware.

    Browsers send some of them, such as a POST without a body, without asking first whether the page may (CORS).
    """

    def __init__(self, app: ASGIApp, allowed: Callable[[str], bool]) -> None:
        """``allowed``: whether pages of an origin may use the API all the same."""
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        cross_site = headers.get("sec-fetch-site", "").lower() == "cross-site"
        if cross_site and scope["method"] not in _READING and not self._allowed(headers.get("origin", "")):
            message = f"A page of another site may not change anything here, unless {ALLOWED_ORIGINS} has its origin"
            await error_response(403, message)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


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
