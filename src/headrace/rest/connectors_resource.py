# SPDX-License-Identifier: Apache-2.0
"""``/connectors`` and what lies below. Java: ``ConnectorsResource``."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Request, Response
from starlette.responses import JSONResponse

from headrace.herder.herder import Herder, PutResult
from headrace.model.state import TargetState
from headrace.rest import entities
from headrace.rest.raw_path import decoded
from headrace.rest.request_body import CONFIG_DOC, CREATE_DOC, named, read_config, read_create_request
from headrace.rest.request_handler import RequestHandler


def _decoded_name(connector: Annotated[str, Path(description="The connector's name, percent-encoded")]) -> str:
    return decoded(connector)


Name = Annotated[str, Depends(_decoded_name)]


def connectors_router(herder: Herder, handler: RequestHandler) -> APIRouter:
    """Handlers run on the event loop: queries answer from a snapshot, requests are awaited, nothing blocks."""
    router = APIRouter(prefix="/connectors", tags=["connectors"], default_response_class=JSONResponse)
    _add_queries(router, herder, handler)
    _add_requests(router, herder, handler)
    return router


def _add_queries(router: APIRouter, herder: Herder, handler: RequestHandler) -> None:
    @router.get("", summary="Names of all connectors")
    async def list_connectors() -> Response:
        return JSONResponse(herder.connectors())

    @router.get("/{connector}", summary="A connector with its configuration and tasks")
    async def get_connector(name: Name) -> Response:
        return JSONResponse(entities.connector_info(herder.connector_info(name)))

    @router.get("/{connector}/config", summary="A connector's configuration, as written")
    async def get_config(name: Name) -> Response:
        return JSONResponse(dict(herder.connector_info(name).config))

    @router.get("/{connector}/status", summary="States of a connector and its tasks, with traces of failures")
    async def get_status(name: Name) -> Response:
        return JSONResponse(entities.connector_status(herder.connector_status(name)))

    @router.get("/{connector}/tasks", summary="A connector's tasks with their configurations")
    async def get_tasks(name: Name) -> Response:
        return JSONResponse(entities.task_infos(herder.task_infos(name)))

    @router.get("/{connector}/offsets", summary="A connector's committed offsets")
    async def get_offsets(name: Name) -> Response:
        offsets = await handler.complete(herder.connector_offsets(name))
        return JSONResponse(entities.connector_offsets(offsets))


def _add_requests(router: APIRouter, herder: Herder, handler: RequestHandler) -> None:
    @router.post("", summary="Create a connector", status_code=HTTPStatus.CREATED, openapi_extra=CREATE_DOC)
    async def create_connector(request: Request) -> Response:
        create = await read_create_request(request)
        config = named(create.name, create.config)
        put = herder.put_connector_config(create.name, config, target_state=create.initial_state, allow_replace=False)
        return _put_response(request, await handler.complete(put))

    @router.put("/{connector}/config", summary="Create or reconfigure a connector", openapi_extra=CONFIG_DOC)
    async def put_config(name: Name, request: Request) -> Response:
        config = named(name, await read_config(request))
        put = herder.put_connector_config(name, config, target_state=None, allow_replace=True)
        return _put_response(request, await handler.complete(put))

    @router.delete("/{connector}", summary="Delete a connector", status_code=HTTPStatus.NO_CONTENT)
    async def delete_connector(name: Name) -> Response:
        await handler.complete(herder.delete_connector(name))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.put("/{connector}/pause", summary="Pause a connector and its tasks", status_code=HTTPStatus.ACCEPTED)
    async def pause(name: Name) -> Response:
        await handler.complete(herder.set_target_state(name, TargetState.PAUSED))
        return Response(status_code=HTTPStatus.ACCEPTED)

    @router.put("/{connector}/resume", summary="Resume a connector and its tasks", status_code=HTTPStatus.ACCEPTED)
    async def resume(name: Name) -> Response:
        await handler.complete(herder.set_target_state(name, TargetState.STARTED))
        return Response(status_code=HTTPStatus.ACCEPTED)


def _put_response(request: Request, result: PutResult) -> Response:
    body = entities.connector_info(result.info)
    if not result.created:
        return JSONResponse(body)
    location = f"{str(request.base_url).rstrip('/')}/connectors/{quote(result.info.name, safe='')}"
    return JSONResponse(body, HTTPStatus.CREATED, {"Location": location})
