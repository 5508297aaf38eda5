# SPDX-License-Identifier: Apache-2.0
"""``/admin/loggers`` (KIP-495, KIP-976). Java: ``LoggingResource``."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.responses import JSONResponse

from headrace.herder.errors import BadRequestError, NotFoundError
from headrace.herder.herder import Herder
from headrace.logs.audit import cut
from headrace.logs.loggers import Loggers, level_of
from headrace.rest.access.change_audit import note
from headrace.rest.entities import to_json
from headrace.rest.herder_request_handler import RequestHandler
from headrace.rest.raw_path import decoded
from headrace.rest.request_body import json_object
from headrace.rest.routing import json_router
from headrace.rest.schema_parts import body_doc

log = logging.getLogger(__name__)

_WORKER, _CLUSTER = "worker", "cluster"


def _decoded_name(logger: Annotated[str, Path(description="The logger's name; root is that of all")]) -> str:
    return decoded(logger)


Name = Annotated[str, Depends(_decoded_name)]


def loggers_router(loggers: Loggers, herder: Herder, handler: RequestHandler) -> APIRouter:
    """Return the routes over this worker's ``loggers``; changes for the whole cluster go through the herder."""
    router = json_router("admin", "/admin/loggers")

    @router.get("", summary="Loggers and their levels")
    async def list_loggers() -> Response:
        return JSONResponse({name: to_json(level) for name, level in loggers.all_levels().items()})

    @router.get("/{logger}", summary="The level of a logger")
    async def get_logger(name: Name) -> Response:
        level = loggers.level(name)
        if level is None:
            raise NotFoundError(f"Logger {name} not found.")
        return JSONResponse(to_json(level))

    @router.put(
        "/{logger}",
        summary="Set the level of a logger and all below it",
        openapi_extra=body_doc("LevelChange"),
    )
    async def set_level(
        name: Name,
        request: Request,
        scope: Annotated[str, Query(description="worker, for this one, or cluster, for all that run now")] = _WORKER,
    ) -> Response:
        level = read_level(await request.body())
        note(request, f"level of {cut(name)}: {level}")
        if scope.lower() == _CLUSTER:
            await handler.complete(herder.put_logger_level(name, level))
            return Response(status_code=HTTPStatus.NO_CONTENT)
        if scope.lower() != _WORKER:
            log.warning("There is no scope '%s' of a logger's level; it is set for this worker", scope)
        return JSONResponse(loggers.set_level(name, level))

    return router


def read_level(body: bytes) -> str:
    """Return the level of a request's body. Raise NotFoundError, as Kafka Connect, for a name of no level."""
    level = json_object(body, "the body").get("level")
    if level is None:
        raise BadRequestError("Desired 'level' parameter was not specified in request.")
    if not isinstance(level, str) or not level:
        raise BadRequestError("The field 'level' of the request must be the name of a level")
    known = level_of(level)
    if known is None:
        raise NotFoundError(f"invalid log level '{level}'.")
    return known
