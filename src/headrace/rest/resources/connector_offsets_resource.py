# SPDX-License-Identifier: Apache-2.0
"""``/connectors/{connector}/offsets`` (KIP-875). Java: ``ConnectorsResource``."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import JSONResponse

from headrace.api.errors import DataError
from headrace.herder.errors import BadRequestError
from headrace.herder.herder import Herder
from headrace.model.info import ConnectorOffset, OffsetsChange, OffsetsChanged
from headrace.rest.access.change_audit import note, note_no_change, offsets_text
from headrace.rest.entities import connector_offsets, offsets_changed, to_json
from headrace.rest.herder_request_handler import RequestHandler
from headrace.rest.request_body import malformed
from headrace.rest.resources.connectors_resource import Name
from headrace.rest.routing import JSON, accepted_types, json_router
from headrace.rest.schema_parts import body_doc
from headrace.storage import json_bytes

OFFSETS_DOC: Final = body_doc("NewOffsets")
_BOUNDS: Final = "bounds"
Expand = Annotated[
    list[str] | None,
    Query(
        description="bounds adds the first and the end offset of each partition that a sink may read; null of a source"
    ),
]
DryRun = Annotated[bool, Query(alias="dryRun", description="Report what would be different, and change nothing")]


def connector_offsets_router(herder: Herder, handler: RequestHandler) -> APIRouter:
    """Return the routes; handlers run as those of ``connectors_router``."""
    router = json_router("offsets", "/connectors")

    @router.get("/{connector}/offsets", summary="A connector's committed offsets")
    async def get_offsets(name: Name, expand: Expand = None) -> Response:
        offsets = await handler.complete(herder.connector_offsets(name))
        found = connector_offsets(offsets)
        if _BOUNDS in (expand or ()):
            found["bounds"] = to_json(await handler.complete(herder.offset_bounds(name)))
        return JSONResponse(found)

    @router.patch("/{connector}/offsets", summary="Change offsets of a stopped connector", openapi_extra=OFFSETS_DOC)
    async def alter_offsets(name: Name, request: Request, dry_run: DryRun = False) -> Response:
        offsets = parse_offsets(await request.body())
        return await _change(name, request, OffsetsChange(offsets, dry_run))

    @router.delete("/{connector}/offsets", summary="Delete all offsets of a stopped connector")
    async def reset_offsets(name: Name, request: Request, dry_run: DryRun = False) -> Response:
        return await _change(name, request, OffsetsChange(None, dry_run))

    async def _change(name: str, request: Request, change: OffsetsChange) -> Response:
        if change.dry_run:
            note_no_change(request)
        note(request, _asked(change))
        changed = await handler.complete(herder.change_offsets(name, change))
        note(request, _changed(changed))
        if change.dry_run or _accepts_json(request):
            return JSONResponse(offsets_changed(changed, dry_run=change.dry_run))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def parse_offsets(body: bytes) -> tuple[ConnectorOffset, ...]:
    """Parse ``{"offsets": [{"partition": {…}, "offset": {…} or null}, …]}``. Raise BadRequestError with the mistake."""
    try:
        value = json_bytes.loads(body)
        json_bytes.check_text(value)
    except (DataError, ValueError) as error:
        raise malformed(error, "the body") from error
    if not isinstance(value, dict):
        raise BadRequestError("Expected a JSON object with the field 'offsets' in the body")
    _check_fields(value, {"offsets"}, "the body")
    entries = value.get("offsets")
    if not isinstance(entries, list) or not entries:
        raise BadRequestError("Partitions and offsets have to be given, as a list that is not empty, in 'offsets'")
    return tuple(_offset(entry) for entry in entries)


def _offset(entry: Any) -> ConnectorOffset:
    if not isinstance(entry, dict):
        raise BadRequestError("Each of the 'offsets' must be an object with 'partition' and 'offset'")
    _check_fields(entry, {"partition", "offset"}, "one of the 'offsets'")
    partition, offset = entry.get("partition"), entry.get("offset")
    if not isinstance(partition, dict):
        raise BadRequestError("The 'partition' of each of the 'offsets' must be an object")
    if offset is not None and not isinstance(offset, dict):
        raise BadRequestError("The 'offset' of each of the 'offsets' must be an object or null")
    return ConnectorOffset(partition, offset)


def _check_fields(value: dict[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(value.keys() - known)
    if unknown:
        raise BadRequestError(f"Unrecognized field '{unknown[0]}' in {where}: known are {', '.join(sorted(known))}")


def _asked(change: OffsetsChange) -> str:
    """Return a text for the audit of a request that another worker serves."""
    if change.offsets is None:
        return "all offsets are reset"
    return offsets_text((each.partition, each.offset) for each in change.offsets)


def _changed(changed: OffsetsChanged) -> str:
    return offsets_text((each.partition, each.before, each.after) for each in changed.differences)


def _accepts_json(request: Request) -> bool:
    """Return True if ``Accept`` names JSON: a request that accepts anything gets no body, by KIP-875."""
    return JSON in accepted_types(request.headers)
