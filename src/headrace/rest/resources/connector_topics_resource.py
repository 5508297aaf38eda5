# SPDX-License-Identifier: Apache-2.0
"""``/connectors/{connector}/topics``: sizes of a connector's topics, and records. headrace's own."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from headrace.inspection.topics.records_job import BEGIN, check_positions
from headrace.inspection.topics.topic_records import LONGEST_WAIT_S, MOST_RECORDS, RecordsRequest, TopicRecords
from headrace.rest.access.access import access_of
from headrace.rest.access.hidden_secrets import HiddenSecrets
from headrace.rest.raw_path import decoded
from headrace.rest.resources.connectors_resource import Name
from headrace.rest.routing import json_router

_TICK_S: Final = 1.0
_FROM: Final = (
    "begin, end, tail for the last records, an offset, a time with its zone, such as 2026-06-01T08:00:00Z, for the "
    "records of that time and later, or the positions of an earlier answer, such as 0:17,1:4"
)
_DECODE: Final = (
    "Whose converters decode: the connector's; StringConverter for text; StringConverter for keys and JsonConverter "
    "without schemas for values"
)
_WAIT: Final = "Seconds to wait for a first record. The answer comes as soon as there is one"

Topic = Annotated[str, Path(description="The topic's name")]
From = Annotated[str, Query(alias="from", description=_FROM)]
Limit = Annotated[int, Query(ge=1, le=MOST_RECORDS, description="The most records to answer")]
Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description=_WAIT)]
Partition = Annotated[int | None, Query(ge=0, description="The only partition to read")]
Decoding = Annotated[Literal["connector", "text", "json"], Query(description=_DECODE)]
Raw = Annotated[bool, Query(description="Whether the records are answered as bytes, without decoding them")]


def connector_topics_router(topics: TopicRecords, hidden: HiddenSecrets) -> APIRouter:
    """Return the routes. What blocks runs on other threads than the event loop's."""
    router = json_router("connectors", "/connectors")

    @router.get("/{connector}/topics/statistics", summary="Partitions and numbers of records of a connector's topics")
    async def get_topic_statistics(name: Name, request: Request) -> Response:
        found = await run_in_threadpool(topics.statistics, name)
        return JSONResponse(await hidden.mask(access_of(request), name, {"topics": found}))

    @router.get(
        "/{connector}/topics/{topic}/records", summary="Records of a topic, decoded by the connector's converters"
    )
    async def get_records(
        name: Name,
        topic: Topic,
        request: Request,
        begin: From = BEGIN,
        limit: Limit = 100,
        wait: Wait = 0,
        partition: Partition = None,
        raw: Raw = False,
        decode: Decoding = "connector",
    ) -> Response:
        check_positions(begin)
        wanted = RecordsRequest(begin, limit, wait, partition, raw, decode)
        gone = threading.Event()
        reading = asyncio.ensure_future(
            run_in_threadpool(partial(topics.records, name, decoded(topic), wanted, gone.is_set))
        )
        try:
            while not (await asyncio.wait({reading}, timeout=_TICK_S))[0]:
                if await request.is_disconnected():
                    gone.set()
        finally:
            gone.set()  # also if the server cancels the request
        return JSONResponse(await reading)

    return router
