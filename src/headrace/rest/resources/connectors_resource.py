# SPDX-License-Identifier: Apache-2.0
"""``/connectors`` and what lies below. Java: ``ConnectorsResource``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.responses import JSONResponse

from headrace.api.errors import ConnectError
from headrace.herder.errors import NotFoundError
from headrace.herder.herder import Herder, PutResult
from headrace.logs.audit import work_text
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorStateInfo
from headrace.model.state import State, TargetState
from headrace.rest.access.access import access_of
from headrace.rest.access.change_audit import note, note_config
from headrace.rest.access.hidden_secrets import HiddenSecrets
from headrace.rest.access.operations import Role
from headrace.rest.entities import active_topics, to_json
from headrace.rest.herder_request_handler import RequestHandler
from headrace.rest.raw_path import decoded
from headrace.rest.request_body import CONFIG_DOC, CREATE_DOC, named, read_config, read_create_request
from headrace.rest.resources.connector_views import SPARK, ConnectorViews, info_of, status_of, status_with_spark
from headrace.rest.routing import java_boolean, json_router

_DIGITS: Final = 10
"""Digits of a task's number, which is an int in Java."""


def _decoded_name(connector: Annotated[str, Path(description="The connector's name, percent-encoded")]) -> str:
    return decoded(connector)


Name = Annotated[str, Depends(_decoded_name)]
TaskNumber = Annotated[str, Path(description="The task's number, from 0 on", json_schema_extra={"pattern": "^[0-9]+$"})]


def connectors_router(herder: Herder, handler: RequestHandler) -> APIRouter:
    """Return the routes. Handlers run on the event loop: queries read a snapshot, changes are awaited, none blocks."""
    router = json_router("connectors", "/connectors")
    hidden = HiddenSecrets(herder, handler)
    _add_list(router, herder, ConnectorViews(herder, handler, hidden))
    _add_queries(router, herder, handler, hidden)
    _add_config_changes(router, herder, handler, hidden)
    _add_state_changes(router, herder, handler)
    _add_restarts(router, herder, handler, hidden)
    return router


def _add_list(router: APIRouter, herder: Herder, views: ConnectorViews) -> None:
    @router.get("", summary="Names of all connectors, or with expand what there is to know of each")
    async def list_connectors(
        request: Request,
        expand: Annotated[
            list[str] | None,
            Query(
                description="info, status and health, each by a parameter of its own; spark adds to status what Spark "
                "runs"
            ),
        ] = None,
    ) -> Response:
        access = access_of(request)
        names = tuple(name for name in herder.connectors() if access.may(Role.VIEWER, name))
        if expand is None:
            return JSONResponse(names)
        return JSONResponse(await views.of(access, names, {*expand, "status"} if SPARK in expand else set(expand)))


def _add_queries(router: APIRouter, herder: Herder, handler: RequestHandler, hidden: HiddenSecrets) -> None:
    @router.get("/{connector}", summary="A connector with its configuration and tasks")
    async def get_connector(name: Name, request: Request) -> Response:
        access = access_of(request)
        shown = await hidden.mask(access, name, info_of(herder, name))
        return JSONResponse(shown, headers=access.role_header(name))

    @router.get("/{connector}/config", summary="A connector's configuration, as written")
    async def get_config(name: Name, request: Request) -> Response:
        shown = await hidden.mask(access_of(request), name, info_of(herder, name))
        return JSONResponse(shown["config"])

    @router.get("/{connector}/status", summary="States of a connector and its tasks, with traces of failures")
    async def get_status(
        name: Name,
        request: Request,
        expand: Annotated[list[str] | None, Query(description="spark adds what Spark runs of each task")] = None,
    ) -> Response:
        with_spark = SPARK in (expand or ())
        status = await status_with_spark(herder, handler, name) if with_spark else status_of(herder, name)
        return JSONResponse(await hidden.mask(access_of(request), name, status))

    @router.get("/{connector}/health", summary="How a connector and its tasks fare: progress, errors, and a verdict")
    async def get_health(name: Name, request: Request) -> Response:
        herder.connector_status(name)  # raises the error for a connector that does not exist
        found = await handler.complete(herder.connector_health((name,)))
        if name not in found:
            raise NotFoundError(f"Connector {name} not found")
        return JSONResponse(await hidden.mask(access_of(request), name, found[name]))

    @router.get("/{connector}/history", summary="A connector's throughput and lag over the last hour")
    async def get_history(name: Name) -> Response:
        herder.connector_info(name)  # raises the error for a connector that does not exist
        return JSONResponse(await handler.complete(herder.connector_history(name)))

    @router.get("/{connector}/tasks", summary="A connector's tasks with their configurations")
    async def get_tasks(name: Name, request: Request) -> Response:
        tasks = to_json(herder.task_infos(name))
        return JSONResponse(await hidden.mask(access_of(request), name, tasks))

    @router.get("/{connector}/tasks/{task}/status", summary="The state of a task")
    async def get_task_status(name: Name, task: TaskNumber, request: Request) -> Response:
        state = to_json(herder.task_status(_task_id(name, task)))
        return JSONResponse(await hidden.mask(access_of(request), name, state))

    @router.get("/{connector}/topics", summary="Topics that a connector was seen to use")
    async def get_topics(name: Name) -> Response:
        return JSONResponse(active_topics(name, herder.active_topics(name)))


def _add_config_changes(router: APIRouter, herder: Herder, handler: RequestHandler, hidden: HiddenSecrets) -> None:
    @router.post("", summary="Create a connector", status_code=HTTPStatus.CREATED, openapi_extra=CREATE_DOC)
    async def create_connector(request: Request) -> Response:
        create = await read_create_request(request)
        config = named(create.name, create.config)
        access_of(request).check_config(create.name, config)
        await note_config(request, hidden, {}, config)
        put = herder.put_connector_config(create.name, config, target_state=create.initial_state, allow_replace=False)
        return await _put_response(request, hidden, await handler.complete(put))

    @router.put("/{connector}/config", summary="Create or reconfigure a connector", openapi_extra=CONFIG_DOC)
    async def put_config(name: Name, request: Request) -> Response:
        config = named(name, await read_config(request))
        access_of(request).check_config(name, config)
        await note_config(request, hidden, _known_config(herder, name), config)
        put = herder.put_connector_config(name, config, target_state=None, allow_replace=True)
        return await _put_response(request, hidden, await handler.complete(put))

    @router.patch("/{connector}/config", summary="Change properties of a connector", openapi_extra=CONFIG_DOC)
    async def patch_config(name: Name, request: Request) -> Response:
        patch = await read_config(request)
        before = _config(herder, name)
        access_of(request).check_config(name, {**before, **patch})
        await note_config(request, hidden, before, _patched(before, patch))
        patched = await handler.complete(herder.patch_connector_config(name, named(name, patch)))
        return JSONResponse(await hidden.mask_written(access_of(request), to_json(patched.info)))

    @router.delete("/{connector}", summary="Delete a connector", status_code=HTTPStatus.NO_CONTENT)
    async def delete_connector(
        name: Name,
        with_offsets: Annotated[
            bool, Query(alias="includeOffsets", description="Whether its committed offsets are deleted as well")
        ] = False,
    ) -> Response:
        await handler.complete(herder.delete_connector(name, with_offsets=with_offsets))
        return Response(status_code=HTTPStatus.NO_CONTENT)


def _add_state_changes(router: APIRouter, herder: Herder, handler: RequestHandler) -> None:
    @router.put("/{connector}/pause", summary="Pause a connector and its tasks", status_code=HTTPStatus.ACCEPTED)
    async def pause(name: Name) -> Response:
        await handler.complete(herder.set_target_state(name, TargetState.PAUSED))
        return Response(status_code=HTTPStatus.ACCEPTED)

    @router.put("/{connector}/resume", summary="Resume a connector and its tasks", status_code=HTTPStatus.ACCEPTED)
    async def resume(name: Name) -> Response:
        await handler.complete(herder.set_target_state(name, TargetState.STARTED))
        return Response(status_code=HTTPStatus.ACCEPTED)

    @router.put(
        "/{connector}/stop",
        summary="Stop a connector: it stays, its tasks end",
        status_code=HTTPStatus.NO_CONTENT,
    )
    async def stop(name: Name) -> Response:
        await handler.complete(herder.set_target_state(name, TargetState.STOPPED))
        return Response(status_code=HTTPStatus.NO_CONTENT)


def _add_restarts(router: APIRouter, herder: Herder, handler: RequestHandler, hidden: HiddenSecrets) -> None:
    @router.post(
        "/{connector}/restart",
        summary="Restart a connector, with its tasks or what has failed if wanted",
        status_code=HTTPStatus.NO_CONTENT,
    )
    async def restart(
        name: Name,
        request: Request,
        include_tasks: Annotated[bool, java_boolean("includeTasks", False, "Its tasks as well")],
        only_failed: Annotated[bool, java_boolean("onlyFailed", False, "Nothing but what has failed")],
    ) -> Response:
        wanted = herder.restart_connector(name, only_failed=only_failed, include_tasks=include_tasks)
        status = await handler.complete(wanted)
        note(request, f"restarts {_restarting(status)}")
        if not include_tasks and not only_failed:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        shown = await hidden.mask(access_of(request), name, to_json(status))
        return JSONResponse(shown, HTTPStatus.ACCEPTED)

    @router.post("/{connector}/tasks/{task}/restart", summary="Restart a task", status_code=HTTPStatus.NO_CONTENT)
    async def restart_task(name: Name, task: TaskNumber) -> Response:
        await handler.complete(herder.restart_task(_task_id(name, task)))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.put(
        "/{connector}/topics/reset", summary="Forget the topics of a connector", status_code=HTTPStatus.ACCEPTED
    )
    async def reset_topics(name: Name) -> Response:
        herder.reset_active_topics(name)
        return Response(status_code=HTTPStatus.ACCEPTED)


def _config(herder: Herder, name: str) -> Mapping[str, str | None]:
    """Return a connector's configuration; empty for one that does not exist, which the herder reports later."""
    with suppress(NotFoundError):
        return herder.connector_info(name).config
    return {}


def _known_config(herder: Herder, name: str) -> Mapping[str, str | None]:
    """Return the same for the audit; empty also while the worker is starting, for which the request waits."""
    with suppress(ConnectError):
        return _config(herder, name)
    return {}


def _patched(config: Mapping[str, str | None], patch: Mapping[str, str | None]) -> dict[str, str | None]:
    return {key: text for key, text in {**config, **patch}.items() if patch.get(key, "") is not None}


def _restarting(status: ConnectorStateInfo) -> str:
    restarting = State.RESTARTING.value
    connectors = [status.name] if status.connector.state == restarting else []
    tasks = [ConnectorTaskId(status.name, task.id) for task in status.tasks if task.state == restarting]
    return work_text(connectors, tasks)


def _task_id(connector: str, task: str) -> ConnectorTaskId:
    if not task.isascii() or not task.isdigit() or len(task) > _DIGITS:
        raise NotFoundError(f"HTTP {HTTPStatus.NOT_FOUND.value} {HTTPStatus.NOT_FOUND.phrase}")
    return ConnectorTaskId(connector, int(task))


async def _put_response(request: Request, hidden: HiddenSecrets, result: PutResult) -> Response:
    body = await hidden.mask_written(access_of(request), to_json(result.info))
    if not result.created:
        return JSONResponse(body)
    location = f"{str(request.base_url).rstrip('/')}/connectors/{quote(result.info.name, safe='')}"
    return JSONResponse(body, HTTPStatus.CREATED, {"Location": location})
