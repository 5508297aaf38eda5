# SPDX-License-Identifier: Apache-2.0
"""``/connectors/{connector}/dead-letters``; headrace's own, Kafka Connect has nothing like it."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import JSONResponse

from headrace.api.errors import DataError
from headrace.herder.errors import BadRequestError, NotFoundError
from headrace.herder.herder import Herder
from headrace.inspection.dead_letters.dead_letters import DeadLetters
from headrace.inspection.dead_letters.letter_filter import parse_filter
from headrace.inspection.dead_letters.letter_view import MOST_LETTERS, LetterQuery, parse_after
from headrace.inspection.dead_letters.redrive_rules import Action, LetterRequest
from headrace.logs import audit
from headrace.rest.access.change_audit import note, note_no_change
from headrace.rest.herder_request_handler import RequestHandler
from headrace.rest.request_body import connector_config, malformed
from headrace.rest.resources.connectors_resource import Name
from headrace.rest.routing import json_router
from headrace.rest.schema_parts import body_doc
from headrace.storage import json_bytes

_COMMON: Final = frozenset({"filter", "limit", "dry_run"})
_REDRIVE: Final = _COMMON | {"again", "to_topic", "config"}
_LONGEST_TOPIC: Final = 249


def dead_letters_router(herder: Herder, handler: RequestHandler, letters: DeadLetters | None) -> APIRouter:
    """Return the routes; handlers run as those of ``connectors_router``. Without ``letters`` nothing is found."""
    router = json_router("dead letters", "/connectors")

    def served(name: str) -> DeadLetters:
        herder.connector_info(name)
        if letters is None:
            raise NotFoundError("This worker does not serve dead letters")
        return letters

    @router.get("/{connector}/dead-letters", summary="A connector's pending dead letters, grouped by cause")
    async def get_dead_letters(
        name: Name,
        filter: Annotated[
            list[str] | None, Query(description="As stage=VALUE_CONVERTER or message~=timeout; all have to match")
        ] = None,
        limit: Annotated[int, Query(ge=0, le=MOST_LETTERS, description="Letters of the page")] = 20,
        after: Annotated[str | None, Query(description="The next of the page before")] = None,
        decode: Annotated[bool, Query(description="Decode the records by the connector's converters")] = True,
    ) -> Response:
        chosen = parse_filter(filter or (), _now_ms())
        query = LetterQuery(chosen, limit, parse_after(after), decode)
        return JSONResponse(await handler.complete(served(name).show(name, query)))

    @router.get("/{connector}/dead-letters/redrive", summary="The progress of the last redrive on this worker")
    async def get_redrive(name: Name) -> Response:
        return JSONResponse(served(name).job(name))

    @router.post(
        "/{connector}/dead-letters/redrive",
        summary="Write the records of dead letters again, in the background",
        openapi_extra=body_doc("Redrive"),
    )
    async def redrive(name: Name, request: Request) -> Response:
        return await begin(name, request, parse_request(Action.REDRIVE, await request.body()))

    @router.post(
        "/{connector}/dead-letters/discard",
        summary="Pass dead letters without writing their records, in the background",
        openapi_extra=body_doc("Discard"),
    )
    async def discard(name: Name, request: Request) -> Response:
        return await begin(name, request, parse_request(Action.DISCARD, await request.body()))

    async def begin(name: str, request: Request, wanted: LetterRequest) -> Response:
        if wanted.dry_run:
            note_no_change(request)
        note(request, _noted(wanted))
        answer = await handler.complete(served(name).start(name, wanted))
        return JSONResponse(answer, HTTPStatus.OK if wanted.dry_run else HTTPStatus.ACCEPTED)

    return router


def parse_request(action: Action, body: bytes) -> LetterRequest:
    """Parse the body of a redrive or discard; an empty one takes all letters. Raise BadRequestError."""
    value = _object(body)
    known = _REDRIVE if action is Action.REDRIVE else _COMMON
    if unknown := sorted(value.keys() - known):
        raise BadRequestError(f"Unrecognized field '{unknown[0]}' in the body: known are {', '.join(sorted(known))}")
    config = value.get("config")
    return LetterRequest(
        action,
        parse_filter(_texts(value.get("filter")), _now_ms()),
        _limit(value.get("limit")),
        _flag(value, "again"),
        _topic(value.get("to_topic")),
        None if config is None else _config(config),
        _flag(value, "dry_run"),
    )


def _object(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        value = json_bytes.loads(body)
        json_bytes.check_text(value)
    except (DataError, ValueError, RecursionError) as error:
        raise malformed(error, "the body") from error
    if not isinstance(value, dict):
        raise BadRequestError("Expected a JSON object in the body")
    return value


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadRequestError("The field 'filter' must be a list of strings such as stage=VALUE_CONVERTER")
    return value


def _limit(value: Any) -> int | None:
    if value is None:
        return None
    if type(value) is not int or value < 1:
        raise BadRequestError("The field 'limit' must be a whole number from 1 on")
    return value


def _flag(value: dict[str, Any], name: str) -> bool:
    flag = value.get(name, False)
    if not isinstance(flag, bool):
        raise BadRequestError(f"The field '{name}' must be true or false")
    return flag


def _topic(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_TOPIC:
        raise BadRequestError("The field 'to_topic' must be the name of a topic")
    return value


def _config(value: Any) -> dict[str, str]:
    config = connector_config(_with_texts(value), "config")
    return {name: text for name, text in config.items() if text is not None}


def _with_texts(value: Any) -> Any:
    """Return the configuration with its numbers as texts."""
    if not isinstance(value, dict):
        return value
    return {
        name: json_bytes.dumps(each).decode() if type(each) in (int, float) else each for name, each in value.items()
    }


def _noted(wanted: LetterRequest) -> str:
    """Return a text for the audit, without the values of an edited configuration, which may be secrets."""
    parts = [f"{wanted.action.value} of dead letters"]
    parts += [f"filter {audit.cut(text)}" for text in wanted.filter.texts]
    parts += [f"limit {wanted.limit}"] if wanted.limit is not None else []
    parts += [f"to topic {wanted.to_topic}"] if wanted.to_topic is not None else []
    parts += [f"with {', '.join(sorted(wanted.config))}"] if wanted.config else []
    parts += ["again"] if wanted.again else []
    return "; ".join(parts)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
