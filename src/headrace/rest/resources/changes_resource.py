# SPDX-License-Identifier: Apache-2.0
"""``GET /changes``: who has changed what in the whole cluster, as far as workers keep it in memory. headrace's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from headrace.herder.cluster_changes import MOST_CHANGES, ChangeQuery, ClusterChanges
from headrace.logs import audit
from headrace.model.info import AuditedChange
from headrace.rest.access.access import Access, access_of
from headrace.rest.access.operations import Role
from headrace.rest.entities import to_json
from headrace.rest.routing import json_router

_LONGEST: Final = 200
_PATTERN: Final = "with * and ? for any text and any character; by default all"

Limit = Annotated[int, Query(ge=1, le=MOST_CHANGES, description="The most changes to answer")]
Who = Annotated[str, Query(max_length=_LONGEST, description=f"The user, leader, engine or file, {_PATTERN}")]
OfConnector = Annotated[str, Query(max_length=_LONGEST, description=f"The connector, {_PATTERN}")]
Result = Annotated[Literal["succeeded", "failed"] | None, Query(description="failed: refused ones too")]
Text = Annotated[str, Query(max_length=_LONGEST, description="A part of the line of headrace.audit, in any case")]


def changes_router(changes: ClusterChanges) -> APIRouter:
    """Return the route. Other workers are asked on other threads than the event loop's.

    A user sees the changes of connectors whose log lines he may see, and all others with the role ADMIN for all.
    """
    router = json_router("worker", "/changes")

    @router.get("", summary="Who has changed what, and when: the newest lines of headrace.audit of all workers")
    async def list_changes(
        request: Request,
        limit: Limit = 200,
        who: Who = "",
        connector: OfConnector = "",
        result: Result = None,
        text: Text = "",
    ) -> Response:
        access = access_of(request)
        query = ChangeQuery(limit, who, connector, result or "", text)
        if not _sees_all(access):  # others' changes, which are left out below, must not take the place of theirs
            query = replace(query, limit=MOST_CHANGES)
        found = await run_in_threadpool(changes.of_cluster, query)
        shown = [change for change in found.changes if _may_see(access, change)]
        return JSONResponse(to_json(replace(found, changes=tuple(shown[:limit]))))

    return router


def _sees_all(access: Access) -> bool:
    return access.may(Role.ADMIN, None)


def _may_see(access: Access, change: AuditedChange) -> bool:
    """Return True if the user may see the change; a name that is cut could be of any connector that begins so."""
    if _sees_all(access):
        return True
    name = change.connector
    return name is not None and not audit.is_cut(name) and access.may(Role.OPERATOR, name)
