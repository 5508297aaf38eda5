# SPDX-License-Identifier: Apache-2.0
"""The routes of the pages and their files, which the REST API's access control opens to everybody."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from headrace.console.static_files import StaticFile, static_files

_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""No script, style or request but to the worker's own files and API, and no page of others around these."""
_MODULES_OF_DOCS: Final = (
    "docs/ app/html.js app/credentials.js vendor/preact vendor/preact-hooks vendor/htm vendor/signals"
)
_REVALIDATED: Final = "no-cache"
_KEPT: Final = "private, max-age=31536000, immutable"
"""``private``: behind authentication, a proxy must not keep files for others."""


def console_router() -> APIRouter:
    """Return the routes of ``/console``, ``/docs`` and what these load. They are no part of the described API."""
    router = APIRouter(include_in_schema=False)

    @router.get("/console")
    async def console(request: Request) -> Response:
        return _page(request, "console.html", "app/ vendor/")

    @router.get("/docs")
    async def docs(request: Request) -> Response:
        return _page(request, "docs.html", _MODULES_OF_DOCS)

    @router.get("/console/static/{digest}/{path:path}")
    async def static(request: Request, digest: str, path: str) -> Response:
        served = static_files()
        file = served.files.get(path)
        if file is None or digest != served.digest:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return _answer(request, file, _KEPT)

    return router


def _page(request: Request, name: str, modules: str) -> Response:
    if request.scope.get("raw_path", b"").partition(b"?")[0].endswith(b"/"):
        # Paths in the page are relative to the one without a slash, so that they hold behind a proxy's prefix, too.
        return RedirectResponse(f"../{name.partition('.')[0]}", HTTPStatus.PERMANENT_REDIRECT)
    return _answer(request, static_files().page(name, modules), _REVALIDATED)


def _answer(request: Request, file: StaticFile, caching: str) -> Response:
    headers = {**_HEADERS, "Cache-Control": caching, "ETag": file.tag}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)
