# SPDX-License-Identifier: Apache-2.0
"""``GET /events``: the states of connectors as server-sent events, as they change. headrace's own."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from headrace.herder.connector_changes import Changes
from headrace.model.deadline import Deadline
from headrace.rest.access.access import Access, access_of
from headrace.rest.access.operations import Role
from headrace.rest.event_streams import EventStreams, Look

LONGEST_S: Final = 60
"""Seconds after which a stream ends, so that the client's login and the rules are checked again."""
_HEARTBEAT_S: Final = 15.0
_RETRY: Final = "retry: 1000\n\n"
_RESET, _CHANGE = "reset", "change"
_SECONDS: Final = "Seconds after which the stream ends. Browsers then connect again by themselves, and miss nothing"
_LAST: Final = "The id of the last event that the client has got; browsers send it when they connect again"
_DESCRIPTION: Final = (
    "Server-sent events. `reset` has the states of all connectors, as GET /connectors?expand=status&expand=health, and "
    "`change` those that have changed, null for a connector that is gone. Without `Last-Event-ID`, or where that is "
    "of another worker process, the first event is a reset. A state that changes again before it is sent is not sent. "
    "A change of nothing comes every 15 seconds, if there is no other. Secrets are hidden for every user."
)

Seconds = Annotated[int, Query(ge=1, le=LONGEST_S, description=_SECONDS)]
LastEventId = Annotated[str, Header(alias="Last-Event-ID", description=_LAST)]


class EventStream(StreamingResponse):
    """An answer of events, which calls a function at its end, whatever ends it."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str], at_end: Callable[[], None]) -> None:
        # nginx would keep events back until it has some kilobytes of them.
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._at_end = at_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._at_end()


def events_router(streams: EventStreams, look: Look) -> APIRouter:
    """Return the route; ``look`` finds what has changed, for all streams."""
    router = APIRouter(tags=["connectors"])

    @router.get(
        "/events",
        summary="States of connectors, as they change",
        description=_DESCRIPTION,
        status_code=HTTPStatus.OK,
        response_class=EventStream,
    )
    async def get_events(request: Request, last: LastEventId = "", seconds: Seconds = LONGEST_S) -> Response:
        await streams.join(look)
        end = Deadline.after(0 if request.method == "HEAD" else seconds)
        return EventStream(_events(streams, access_of(request), last, end), streams.leave)

    return router


async def _events(streams: EventStreams, access: Access, position: str, end: Deadline) -> AsyncIterator[str]:
    """Yield events after a position. A client that does not read them stops this, and then gets the newest states."""
    yield _RETRY
    silent_until = time.monotonic()
    while True:
        found = streams.changes.after(position)
        position = found.position
        text = _event(found, access)
        if text is not None or time.monotonic() >= silent_until:
            yield text or _text(_CHANGE, position, "")
            silent_until = time.monotonic() + _HEARTBEAT_S
        if end.expired or not streams.going:
            return
        await streams.changed(position, min(silent_until - time.monotonic(), end.remaining()))


def _event(found: Changes, access: Access) -> str | None:
    """Return the event with what the user may see of it; None if that is nothing."""
    shown = [(name, state) for name, state in found.states.items() if access.may(Role.VIEWER, name)]
    if not shown and not found.whole:
        return None
    states = ",".join(f"{json.dumps(name)}:{state or 'null'}" for name, state in shown)
    return _text(_RESET if found.whole else _CHANGE, found.position, states)


def _text(kind: str, position: str, states: str) -> str:
    """Return an event on lines; JSON has none inside."""
    return f"id: {position}\nevent: {kind}\ndata: {{{states}}}\n\n"
