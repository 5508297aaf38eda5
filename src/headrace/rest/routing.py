# SPDX-License-Identifier: Apache-2.0
"""Common parts of routes: JSON in bodies and answers, by ``Accept`` and ``Content-Type``, and query parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fastapi import APIRouter, Depends, Query
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

JSON: Final = "application/json"
_WITH_BODY: Final = ("POST", "PUT", "PATCH")
_MATCHES_JSON: Final = frozenset({JSON, "application/*", "*/*", "*"})


def accepted_types(headers: Headers) -> Iterator[str]:
    """Yield the media types of ``Accept``, in lower case and without parameters."""
    for each in ",".join(headers.getlist("accept")).split(","):
        media_type = each.partition(";")[0].strip().lower()
        if media_type:
            yield media_type


async def check_accept(request: Request) -> None:
    """Raise 406 for a request that accepts other types only, before it is handled; also where no body is answered."""
    accepted = set(accepted_types(request.headers))
    if accepted and not accepted & _MATCHES_JSON:
        raise HTTPException(406, f"The answer would be {JSON}, which the header Accept does not have")


async def check_content_type(request: Request) -> None:
    """Raise 415 for a body without the content type of JSON; also where no body is expected.

    A browser lets any page send most other types, or none, without a CORS preflight request. Requests that change
    nothing by their body, as a GET, may omit the type, as in Kafka Connect.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == JSON or (not media_type and request.method not in _WITH_BODY):
        return
    if await request.body():
        raise HTTPException(415, f"The body has to come with the header Content-Type: {JSON}")


def json_router(tag: str, prefix: str = "") -> APIRouter:
    """Return a router whose operations answer with JSON, or without a body."""
    return APIRouter(
        prefix=prefix, tags=[tag], dependencies=[Depends(check_accept)], default_response_class=JSONResponse
    )


def java_boolean(name: str, default: bool, description: str) -> Any:
    """Return a dependency that reads a ``bool``: ``true`` in any case is true, all else false, empty the default.

    For Kafka Connect's own parameters (Java: ``parseBoolean``). headrace's own refuse other values: a request with
    ``dryRun=ture`` must not change anything.
    """
    as_boolean = {"type": "boolean", "default": default}
    parameter = Query(default_factory=str, alias=name, description=description, json_schema_extra=as_boolean)

    async def parse(text: str = parameter) -> bool:
        return text.lower() == "true" if text else default

    return Depends(parse)
