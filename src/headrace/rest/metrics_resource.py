# SPDX-License-Identifier: Apache-2.0
"""``GET /metrics``, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import PlainTextResponse

from headrace.herder.herder import Herder
from headrace.metrics import Exposition


def metrics_router(herder: Herder) -> APIRouter:
    router = APIRouter(tags=["worker"])
    exposition = Exposition(herder.figures)

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
