# SPDX-License-Identifier: Apache-2.0
"""The HTTP statuses of errors, decided in this one place, and their JSON: ``{"error_code": 404, "message": "…"}``."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.herder.errors import (
    AlreadyExistsError,
    BadRequestError,
    ForbiddenError,
    NotFoundError,
    NotLeaderError,
    OvertakenError,
    RebalanceNeededError,
    RemovedTaskError,
    RequestTimeoutError,
)
from headrace.kafka.admin.consumer_groups import ActiveGroupError

log = logging.getLogger(__name__)

_STATUSES: Final[tuple[tuple[type[ConnectError], HTTPStatus], ...]] = (
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (AlreadyExistsError, HTTPStatus.CONFLICT),
    (RebalanceNeededError, HTTPStatus.CONFLICT),
    (RemovedTaskError, HTTPStatus.CONFLICT),
    (NotLeaderError, HTTPStatus.CONFLICT),
    (OvertakenError, HTTPStatus.CONFLICT),
    (ActiveGroupError, HTTPStatus.CONFLICT),
    (BadRequestError, HTTPStatus.BAD_REQUEST),
    (ForbiddenError, HTTPStatus.FORBIDDEN),
    (ConfigError, HTTPStatus.BAD_REQUEST),
    (DataError, HTTPStatus.BAD_REQUEST),
    (RequestTimeoutError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (RetriableError, HTTPStatus.SERVICE_UNAVAILABLE),
    (ConnectError, HTTPStatus.INTERNAL_SERVER_ERROR),
)
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_TRY_AGAIN: Final = (RebalanceNeededError, NotLeaderError, RetriableError)


def status_of(error: ConnectError) -> HTTPStatus:
    """Return the status of the first class that fits: subclasses stand before their bases."""
    return next(status for kind, status in _STATUSES if isinstance(error, kind))


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error in Kafka Connect's shape."""
    return JSONResponse({"error_code": status, "message": message}, status, headers)


async def on_connect_error(request: Request, error: Exception) -> Response:
    """Answer a herder's or our own error: its message is for the user."""
    assert isinstance(error, ConnectError)
    status = status_of(error)
    # A retriable error needs no line for each request: the part that waits logs the reason.
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, RetriableError):
        log.error("%s %s failed: %s", request.method, request.url.path, error_text(error))
    return error_response(status, error_text(error), {"Retry-After": "1"} if isinstance(error, _TRY_AGAIN) else None)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Answer an unknown path (404), a wrong method (405), and other refusals of the framework.

    OPTIONS, which no route has as a method, gets the methods of an existing path and no error.
    """
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    message = f"HTTP {error.status_code} {phrase}" if error.detail == phrase else str(error.detail)
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_allowed_methods(request))
        if request.method == "OPTIONS":
            return Response(headers=headers)
    return error_response(error.status_code, message, headers)


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods of all routes with the request's path; the framework looks at the first one only."""
    routes = request.app.router.routes

    def allowed(method: str) -> bool:
        return any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)

    found = [method for method in _METHODS if allowed(method)]
    return [*(["HEAD"] if "GET" in found else []), *found, "OPTIONS"]


async def on_unexpected_error(request: Request, error: Exception) -> Response:
    """Answer a defect of ours: the log has the trace, the answer its kind."""
    log.error("%s %s failed unexpectedly", request.method, request.url.path, exc_info=error)
    message = f"Internal error: {error_line(error)}"
    # The framework raises the error again, and the server closes the connection: the client must not reuse it.
    return error_response(HTTPStatus.INTERNAL_SERVER_ERROR, message, {"Connection": "close"})
