# SPDX-License-Identifier: Apache-2.0
"""Inter-worker requests, signed (KIP-507). Java: ``InternalClusterResource``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from headrace.api.errors import RetriableError
from headrace.herder.cluster_changes import ChangeQuery, ClusterChanges
from headrace.herder.connector_logs import ConnectorLogs, LogQuery
from headrace.herder.errors import BadRequestError, NotFoundError, RequestTimeoutError
from headrace.herder.herder import ClusterHerder
from headrace.rest.herder_request_handler import RequestHandler
from headrace.rest.internal_request_signature import SignatureVerifier, SignedParts
from headrace.rest.leader_client import (
    INTERNAL_CHANGES,
    INTERNAL_HEALTH,
    INTERNAL_HISTORY,
    INTERNAL_LOGGERS,
    INTERNAL_LOGS,
    INTERNAL_WORKER,
)
from headrace.rest.raw_path import decoded, raw_path
from headrace.rest.request_body import connector_config
from headrace.rest.resources.connectors_resource import Name
from headrace.rest.resources.loggers_resource import read_level


def internal_router(
    herder: ClusterHerder,
    handler: RequestHandler,
    verifier: SignatureVerifier,
    logs: ConnectorLogs | None = None,
    changes: ClusterChanges | None = None,
) -> APIRouter:
    """Return the routes, which are not part of the users' API. The signature is checked before anything else."""

    async def check_signature(request: Request) -> None:
        if herder.signed():
            parts = SignedParts(request.method, raw_path(request), await request.body())
            verifier.verify(parts, request.headers, herder.session_key())

    router = APIRouter(include_in_schema=False, dependencies=[Depends(check_signature)])

    @router.post("/connectors/{connector}/tasks")
    async def put_task_configs(name: Name, request: Request) -> Response:
        configs = _task_configs(await request.body())
        await handler.complete(herder.put_task_configs(name, configs))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.put(f"{INTERNAL_LOGGERS}/{{logger}}")
    async def put_logger_level(logger: str, request: Request) -> Response:
        level = read_level(await request.body())
        await handler.complete(herder.write_logger_level(decoded(logger), level))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.get(INTERNAL_HEALTH)
    async def health_of_all_tasks() -> Response:
        return JSONResponse(await handler.complete(herder.worker_health(None)))

    @router.get(f"{INTERNAL_HEALTH}/{{connector}}")
    async def health_of_tasks(name: Name) -> Response:
        return JSONResponse(await handler.complete(herder.worker_health(name)))

    @router.get(INTERNAL_HISTORY)
    async def history_of_all() -> Response:
        return JSONResponse(await run_in_threadpool(herder.worker_history, None))

    @router.get(f"{INTERNAL_HISTORY}/{{connector}}")
    async def history_of_connector(name: Name) -> Response:
        return JSONResponse(herder.worker_history(name))

    @router.get(INTERNAL_WORKER)
    async def worker_report() -> Response:
        return JSONResponse(await run_in_threadpool(herder.worker_report))

    @router.put("/connectors/{connector}/fence")
    async def fence_zombies(name: Name) -> Response:
        try:
            await handler.complete(herder.fence_zombies(name))
        except RequestTimeoutError as error:  # the round continues: a retry will find it done
            raise RetriableError(str(error)) from error
        return Response(status_code=HTTPStatus.NO_CONTENT)

    _add_logged(router, logs, changes)
    return router


def _add_logged(router: APIRouter, logs: ConnectorLogs | None, changes: ClusterChanges | None) -> None:
    """Add the routes to the log lines and changes that this worker keeps."""

    @router.post(f"{INTERNAL_LOGS}/{{connector}}")
    async def log_lines(name: Name, request: Request) -> Response:
        if logs is None:
            raise NotFoundError("This worker keeps no log lines")
        query = _log_query(name, await request.body())
        return JSONResponse(await run_in_threadpool(logs.here, query))

    @router.post(INTERNAL_CHANGES)
    async def list_changes(request: Request) -> Response:
        if changes is None:
            raise NotFoundError("This worker keeps no log lines")
        query = ChangeQuery.of_json(await request.body())
        return JSONResponse(await run_in_threadpool(changes.here, query))


def _task_configs(body: bytes) -> list[Mapping[str, str | None]]:
    try:
        configs = json.loads(body, parse_int=str, parse_float=str)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"Malformed JSON in the body: {error or 'nested too deeply'}") from error
    if not isinstance(configs, list):
        raise BadRequestError("Expected a JSON array with a configuration for each task in the body")
    return [connector_config(config, f"element {at} of the body") for at, config in enumerate(configs)]


def _log_query(connector: str, body: bytes) -> LogQuery:
    try:
        return LogQuery(**{**json.loads(body), "connector": connector})
    except (ValueError, TypeError) as error:
        raise BadRequestError(f"The body is no request for log lines: {error}") from error
