# SPDX-License-Identifier: Apache-2.0
"""Content negotiation of operations that answer with JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fastapi import APIRouter, Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

JSON: Final = "application/json"
_MATCHES_JSON: Final = frozenset({JSON, "application/*", "*/*", "*"})


def accepted_types(request: Request) -> Iterator[str]:
    """Yield the media types of ``Accept``, in lower case and without parameters."""
    for each in ",".join(request.headers.getlist("accept")).split(","):
        media_type = each.partition(";")[0].strip().lower()
        if media_type:
            yield media_type


async def check_accept(request: Request) -> None:
    """Raise 406 for a request that accepts other types only, before it is handled; also where no body is answered."""
    accepted = set(accepted_types(request))
    if accepted and not accepted & _MATCHES_JSON:
        raise HTTPException(406, f"The answer would be {JSON}, which the header Accept does not have")


def json_router(tag: str, prefix: str = "") -> APIRouter:
    """Return a router whose operations answer with JSON, or without a body."""
    return APIRouter(
        prefix=prefix, tags=[tag], dependencies=[Depends(check_accept)], default_response_class=JSONResponse
    )
