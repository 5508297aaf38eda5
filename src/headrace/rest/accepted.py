# SPDX-License-Identifier: Apache-2.0
"""Operations that answer with JSON, and whether a client takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fastapi import APIRouter, Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

JSON: Final = "application/json"
_JSON_TOO: Final = frozenset({JSON, "application/*", "*/*", "*"})


def accepted_types(request: Request) -> Iterator[str]:
    """The media types of ``Accept``, in lower case and without parameters."""
    for each in ",".join(request.headers.getlist("accept")).split(","):
        media_type = each.partition(";")[0].strip().lower()
        if media_type:
            yield media_type


async def check_accept(request: Request) -> None:
    """406 if the request takes other types alone, before anything is done; also where the answer has no body."""
    accepted = set(accepted_types(request))
    if accepted and not accepted & _JSON_TOO:
        raise HTTPException(406, f"The answer would be {JSON}, which the header Accept does not have")


def json_router(tag: str, prefix: str = "") -> APIRouter:
    """A router whose operations answer with JSON, if with anything."""
    return APIRouter(
        prefix=prefix, tags=[tag], dependencies=[Depends(check_accept)], default_response_class=JSONResponse
    )
