# SPDX-License-Identifier: Apache-2.0
"""Which pages of other origins may use the API, by ``access.control.allow.origin`` and ``….methods``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

_METHODS: Final = ("GET", "POST", "HEAD")
"""What Java's filter allows where nothing is said."""
_HEADERS: Final = ("X-Requested-With", "Content-Type", "Accept", "Origin", "Authorization")


def with_cors(app: ASGIApp, origins: Sequence[str], methods: Sequence[str]) -> ASGIApp:
    """The application itself where no origin is allowed."""
    if not origins:
        return app
    patterns = [origin for origin in origins if "*" in origin and origin != "*"]
    return CORSMiddleware(
        app,
        allow_origins=[origin for origin in origins if origin not in patterns],
        allow_origin_regex="|".join(_pattern(origin) for origin in patterns) or None,
        allow_methods=[method.upper() for method in methods] or _METHODS,
        allow_headers=_HEADERS,
        # A page that is named may use what its user's browser knows of user and password; just any page may not.
        allow_credentials="*" not in origins,
    )


def _pattern(origin: str) -> str:
    return "[^/]*".join(re.escape(part) for part in origin.split("*"))
