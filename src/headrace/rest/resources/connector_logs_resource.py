# SPDX-License-Identifier: Apache-2.0
"""``GET /connectors/{connector}/logs``: log lines about a connector, of all workers. headrace's own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from headrace.herder.connector_logs import MOST_LINES, ConnectorLogs, LogQuery
from headrace.model.deadline import Deadline
from headrace.rest.access.access import access_of
from headrace.rest.access.hidden_secrets import HiddenSecrets
from headrace.rest.resources.connectors_resource import Name
from headrace.rest.routing import json_router

LONGEST_WAIT_S: Final = 30
_PAUSE_S: Final = 1.0
_AFTER: Final = "The positions of an earlier answer; without them, the last lines are answered"
_WAIT: Final = "Seconds to wait for a first line. The answer comes about a second after it"

After = Annotated[str, Query(description=_AFTER)]
Limit = Annotated[int, Query(ge=1, le=MOST_LINES, description="The most lines of each worker to answer")]
Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description=_WAIT)]
Level = Annotated[str, Query(description="The least level: TRACE, DEBUG, INFO, WARN, ERROR or FATAL")]
Task = Annotated[int | None, Query(ge=0, description="The number of the only task")]


def connector_logs_router(logs: ConnectorLogs, hidden: HiddenSecrets) -> APIRouter:
    """Return the route. Other workers are asked on other threads than the event loop's."""
    router = json_router("connectors", "/connectors")

    @router.get("/{connector}/logs", summary="Log lines about a connector and its tasks, of all workers")
    async def get_logs(
        name: Name,
        request: Request,
        after: After = "",
        limit: Limit = 200,
        wait: Wait = 0,
        level: Level = "ALL",
        task: Task = None,
    ) -> Response:
        query = LogQuery.checked(name, after, limit, level, task)
        deadline = Deadline.after(wait)
        found = await run_in_threadpool(logs.of_cluster, query)
        while not (found["lines"] or deadline.expired or logs.closed or await request.is_disconnected()):
            await asyncio.sleep(min(_PAUSE_S, deadline.remaining()))
            following = LogQuery.checked(name, found["positions"], limit, level, task)
            gaps = found["gaps"]
            found = await run_in_threadpool(
                logs.of_cluster, replace(following, after={**query.after, **following.after})
            )
            found["gaps"] = sorted({*gaps, *found["gaps"]})
        return JSONResponse(await hidden.mask(access_of(request), name, found))

    return router
