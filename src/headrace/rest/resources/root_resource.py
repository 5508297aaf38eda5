# SPDX-License-Identifier: Apache-2.0
"""``GET /``, ``GET /health`` (KIP-1017) and ``GET /metrics``, for Prometheus. Java: ``RootResource``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse

from headrace.api.errors import ConnectError
from headrace.herder.errors import RequestTimeoutError
from headrace.herder.herder import Herder
from headrace.metrics.exposition import Exposition
from headrace.metrics.jmx_naming import STRIMZI, Naming
from headrace.model.service_threads import THREAD_DEATHS, ThreadDeaths
from headrace.rest.access.access import access_of
from headrace.rest.access.open_pages import wants_page
from headrace.rest.entities import to_json
from headrace.rest.herder_request_handler import RequestHandler
from headrace.rest.routing import json_router

HEALTH_TIMEOUT_SECONDS: Final = 10.0
"""Java: ``DEFAULT_HEALTH_CHECK_TIMEOUT_MS``."""

_HEALTHY: Final = "Worker has completed startup and is ready to handle requests."
_STARTING: Final = "Worker is still starting up."
_IMPAIRED: Final = "Worker is ready to handle requests, but not for all of its work."
_UNHEALTHY: Final = "Worker was unable to handle this request and may be unable to handle other requests."
_NO_TASKS: Final = "Worker is ready to handle requests, but cannot run tasks."


def health_router(
    herder: Herder,
    timeout: float = HEALTH_TIMEOUT_SECONDS,
    engine_failure: Callable[[], str | None] = lambda: None,
    deaths: ThreadDeaths = THREAD_DEATHS,
    warning: Callable[[], str | None] = lambda: None,
) -> APIRouter:
    """Return the route; a worker that has started has ``timeout`` seconds to show that it serves requests.

    ``engine_failure`` returns the reason why it cannot run tasks, or None. ``deaths`` are those of service threads; the
    loss of some makes a worker unhealthy though it serves requests. ``warning`` returns a text for a healthy worker's
    message, or None.
    """
    handler = RequestHandler(herder, timeout)
    router = json_router("worker")

    @router.get("/health", summary="Whether the worker is ready to serve requests")
    async def health() -> Response:
        if herder.failure() is None and not herder.has_started():
            return _answer(HTTPStatus.SERVICE_UNAVAILABLE, "starting", f"{_STARTING} It is {herder.stage()}")
        try:
            await handler.complete(herder.health_check())
        except RequestTimeoutError:
            why = f"It is {herder.stage()}"
        except ConnectError as error:
            why = str(error)
        else:
            if losses := deaths.losses():
                return _answer(HTTPStatus.SERVICE_UNAVAILABLE, "unhealthy", " ".join((_IMPAIRED, *losses)))
            if (failure := engine_failure()) is not None:
                # Not 500: the engine recovers by itself, as a worker that is starting becomes ready.
                return _answer(HTTPStatus.SERVICE_UNAVAILABLE, "unhealthy", f"{_NO_TASKS} {failure}")
            return _answer(HTTPStatus.OK, "healthy", " ".join(filter(None, (_HEALTHY, *deaths.minor(), warning()))))
        return _answer(HTTPStatus.INTERNAL_SERVER_ERROR, "unhealthy", f"{_UNHEALTHY} {why}")

    return router


def _answer(status: HTTPStatus, name: str, message: str) -> Response:
    return JSONResponse({"status": name, "message": message}, status)


def metrics_router(herder: Herder, namings: Sequence[Naming] = STRIMZI) -> APIRouter:
    """Return the route of ``GET /metrics``, with a name by each of ``namings`` for every metric."""
    router = APIRouter(tags=["worker"])
    exposition = Exposition(herder.figures, namings)

    # No coroutine: rendering the metrics of many tasks takes time, so it runs on another thread than the event loop's.
    @router.get(
        "/metrics",
        summary="Figures of the worker, its connectors and tasks, as Prometheus reads them",
        response_class=PlainTextResponse,
    )
    def metrics(request: Request) -> Response:
        text, content_type = exposition.render(request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": content_type})

    return router


def history_router(herder: Herder, handler: RequestHandler) -> APIRouter:
    """Return the route of ``GET /history``."""
    router = json_router("worker")

    @router.get("/history", summary="Throughput and lag of all connectors together over the last hour")
    async def get_cluster_history() -> Response:
        return JSONResponse(await handler.complete(herder.connector_history(None)))

    return router


def root_router(herder: Herder) -> APIRouter:
    """Return the route of ``GET /``, which leads browsers to the console; all other clients get JSON."""
    router = json_router("worker")

    @router.get("/", summary="Version of the worker and id of its Kafka cluster")
    async def root(request: Request) -> Response:
        if wants_page(request.headers):
            return RedirectResponse("console", HTTPStatus.SEE_OTHER, {"Vary": "Accept"})
        return JSONResponse(to_json(herder.server_info()), headers=access_of(request).role_header())

    return router
