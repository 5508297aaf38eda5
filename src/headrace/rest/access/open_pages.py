# SPDX-License-Identifier: Apache-2.0
"""The pages that are served without a user, so that they can ask for credentials, past the dialogs of browsers.

They are files of headrace, the same on every worker: nothing in them is of the cluster.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.types import Scope

from headrace.rest.raw_path import sent_path
from headrace.rest.routing import JSON, accepted_types

CHALLENGE: Final = "X-Headrace-Challenge"
"""A request's header: with ``hidden``, a 401 names its schemes in this header, not in ``WWW-Authenticate``.

Browsers answer the latter with a dialog of their own, before the page knows of the 401.
"""
_PAGES: Final = ("/console", "/console/", "/docs", "/docs/")
_FILES: Final = "/console/static/"
_READING: Final = ("GET", "HEAD")
_OF_BROWSERS: Final = frozenset({"text/html", "application/xhtml+xml"})
"""All browsers accept both; Java's own HTTP client accepts text/html too, and wants JSON."""


def is_open(scope: Scope) -> bool:
    """Return True for a request that is served without a user: for a page, its files, or the way from ``/`` to it."""
    if scope["method"] not in _READING:
        return False
    path = sent_path(scope)
    return path in _PAGES or path.startswith(_FILES) or (path == "/" and wants_page(Headers(scope=scope)))


def wants_page(headers: Headers) -> bool:
    """Return True for a browser that opens an address; all other clients want JSON."""
    accepted = set(accepted_types(headers))
    return accepted >= _OF_BROWSERS and JSON not in accepted


def challenge_header(headers: Headers) -> str:
    """Return the name of the header in which a 401 names its schemes."""
    return CHALLENGE if headers.get(CHALLENGE) == "hidden" else "WWW-Authenticate"
