# SPDX-License-Identifier: Apache-2.0
"""``GET /workers``: all workers of the cluster, with their figures. headrace's own."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.responses import JSONResponse

from headrace.herder.herder import Herder
from headrace.rest.entities import to_json
from headrace.rest.herder_request_handler import RequestHandler
from headrace.rest.routing import json_router


def workers_router(herder: Herder, handler: RequestHandler) -> APIRouter:
    """Return the route. Any worker answers, also while the group has no leader."""
    router = json_router("worker", "/workers")

    @router.get("", summary="All workers, also those that run nothing, with their lag behind the config topic")
    async def list_workers() -> Response:
        return JSONResponse(to_json(await handler.complete(herder.workers())))

    return router
