# SPDX-License-Identifier: Apache-2.0
"""``GET /events`` over real sockets, and a herder in memory."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.api.errors import ConnectError, RetriableError
from headrace.herder.connector_changes import ConnectorChanges
from headrace.model.state import TargetState
from headrace.rest.access.access import Access, with_access
from headrace.rest.access.authentication import Principal
from headrace.rest.access.rules import parse_rules
from headrace.rest.app import create_app
from headrace.rest.connector_watch import ConnectorWatch
from headrace.rest.event_streams import EventStreams
from headrace.rest.server.listeners import BoundListeners
from headrace.rest.server.rest_server import RestServer
from tests.support.event_stream import next_that, streamed
from tests.support.polling import wait_for, within
from tests.unit.rest.conftest import InMemoryHerder

CONFIG = {"connector.class": "a.B", "topic": "t"}
RULES = """
rules:
  - {users: [olga], role: admin}
  - {users: [vera], role: viewer, connectors: ["pay-*"]}
"""


def put(herder: InMemoryHerder, name: str, **config: str) -> None:
    herder.put_connector_config(name, {**CONFIG, **config}, target_state=TargetState.STARTED, allow_replace=True)


class OfUser:
    """Makes each request that of the user in a header, as access control does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = dict(scope.get("headers", ())).get(b"x-user", b"olga").decode()
        access = Access(Principal(name), parse_rules(RULES, "rules"), lambda role, connector, decision: None)
        await self._app(with_access(scope, access), receive, send)


@contextmanager
def serving(herder: InMemoryHerder, streams: EventStreams) -> Iterator[tuple[RestServer, httpx2.Client]]:
    app = OfUser(create_app(herder, request_timeout=2, streams=streams))
    listeners = BoundListeners.bind(["http://127.0.0.1:0"])
    server = RestServer(app, listeners, end_requests=(streams.close,))
    server.start()
    try:
        with httpx2.Client(base_url=listeners.local_url, timeout=20) as http:
            yield server, http
    finally:
        server.stop()


def test_states_come_as_they_change(client: httpx2.Client, herder: Any) -> None:
    put(herder, "a")
    with streamed(client) as events:
        first = next(events)
        assert first.kind == "reset"
        assert first.states == client.get("/connectors?expand=status&expand=health").json()
        put(herder, "b")
        created = next_that(events, lambda event: event.states)
        assert (created.kind, created.states.keys()) == ("change", {"b"})
        herder.trace = "broken"
        broken = next_that(events, lambda event: event.states)
        assert {name: each["status"]["tasks"][0]["state"] for name, each in broken.states.items()} == {
            "a": "FAILED",
            "b": "FAILED",
        }
        herder.delete_connector("a")
        assert next_that(events, lambda event: event.states).states == {"a": None}


def test_a_client_that_connects_again_gets_what_was_missed(client: httpx2.Client, herder: Any) -> None:
    put(herder, "a")
    put(herder, "b")
    with streamed(client) as events:
        last = next(events).id
    with streamed(client, last, seconds=1) as events:
        assert next(events).states == {}, "nothing was missed, and the client learns it at once"
    put(herder, "c")
    herder.delete_connector("a")
    with streamed(client, last) as events:
        missed = next(events)
    assert (missed.kind, missed.states.keys()) == ("change", {"a", "c"})
    with streamed(client, "123:4") as events:
        assert (next(events).kind) == "reset"


def test_a_stream_ends_after_its_seconds(client: httpx2.Client, herder: Any) -> None:
    begun = time.monotonic()
    with streamed(client, seconds=1) as events:
        assert [event.kind for event in events] == ["reset"]
    assert 1 <= time.monotonic() - begun < 15
    assert client.get("/events?seconds=61").status_code == 400


def test_a_user_sees_the_connectors_of_their_rules_alone(herder: InMemoryHerder) -> None:
    put(herder, "pay-a")
    put(herder, "other")
    with serving(herder, EventStreams()) as (_, http), http.stream("GET", "/events", headers={"x-user": "vera"}) as own:
        lines = own.iter_lines()
        read = [next(lines)]
        put(herder, "other-b")
        herder.delete_connector("other")
        put(herder, "pay-b")
        while "pay-b" not in read[-1]:
            read.append(next(lines))
    text = "\n".join(read)
    assert "pay-a" in text and "other" not in text


def test_no_stream_has_secrets_not_even_an_administrators(client: httpx2.Client, herder: Any) -> None:
    put(herder, "a", **{"db.password": "swordfish"})
    herder.trace = "no login as swordfish"
    with streamed(client) as events:
        text = str(next(events).states)
    assert "swordfish" not in text and "[hidden]" in text


def test_there_are_only_so_many(herder: InMemoryHerder) -> None:
    with serving(herder, EventStreams(2)) as (_, http):
        with ExitStack() as stack:
            for _ in range(2):
                next(stack.enter_context(streamed(http)))
            refused = http.get("/events")
            assert refused.status_code == 503 and refused.headers["retry-after"]
            assert "2 streams of events are open" in refused.json()["message"]
        wait_for(lambda: http.get("/events?seconds=1").status_code == 200, 20, "room after streams have ended")


def test_a_worker_that_stops_ends_them_at_once(herder: InMemoryHerder) -> None:
    with serving(herder, EventStreams()) as (server, http), streamed(http) as events:
        next(events)
        stopping = threading.Thread(target=server.stop)
        begun = time.monotonic()
        stopping.start()
        assert list(events) == []
        assert time.monotonic() - begun < 1.5, "it has not waited for the server to cut it off"
        stopping.join()


def test_streams_end_if_the_state_cannot_be_read(herder: InMemoryHerder) -> None:
    put(herder, "a")
    with serving(herder, EventStreams()) as (_, http):
        with streamed(http) as events:
            next(events)
            herder.error = ConnectError("the status topic is gone")
            assert [event for event in events if event.states] == []
        assert http.get("/events").status_code == 500
        herder.error = None
        with streamed(http) as events:
            assert next(events).states.keys() == {"a"}


def test_a_worker_that_starts_is_asked_again_later(herder: InMemoryHerder) -> None:
    put(herder, "a")
    herder.error = RetriableError("The worker is starting")
    with serving(herder, EventStreams()) as (_, http):
        answer = http.get("/events")
    assert answer.status_code == 503 and answer.headers["retry-after"] == "1"


def test_it_looks_once_for_all_and_only_while_there_is_a_stream(herder: InMemoryHerder) -> None:
    looks = 0
    revision = herder.revision

    def counted() -> tuple[int, int]:
        nonlocal looks
        looks += 1
        return revision()

    herder.revision = counted  # type: ignore[method-assign]
    with serving(herder, EventStreams()) as (_, http):
        with ExitStack() as stack:
            for _ in range(10):
                next(stack.enter_context(streamed(http)))
            of_streams = looks
            time.sleep(2)  # not for a condition: this is the time in which looks are counted
            assert 2 <= looks - of_streams <= 6, "two a second, whatever the number of streams"
        within(10, lambda: _still(lambda: looks), "the last look")


def _still(count: Any) -> bool:
    before = count()
    time.sleep(1.2)  # more than the pause between two looks
    return bool(count() == before)


class Views:
    """Answers with what a test says, and notes what it was asked for."""

    def __init__(self, herder: InMemoryHerder) -> None:
        self.herder = herder
        self.asked: list[list[str]] = []
        self.took = 0.0
        self.now = 0.0

    async def of(self, access: Access, names: list[str], wanted: object) -> dict[str, Any]:
        assert access.hides_secrets
        self.asked.append(names)
        self.now += self.took
        return {name: {"state": self.herder.trace} for name in names if name in self.herder.configs}


@pytest.mark.parametrize(("took", "pause"), [(0.01, 5), (0.2, 10), (5, 60)])
def test_what_has_changed_is_looked_at_at_once_and_all_at_times(took: float, pause: float) -> None:
    herder = InMemoryHerder()
    put(herder, "a")
    put(herder, "b")
    views = Views(herder)
    views.took = took
    watch, changes = ConnectorWatch(views, lambda: views.now), ConnectorChanges("f")  # type: ignore[arg-type]

    def look() -> bool:
        return asyncio.run(watch.look(changes))

    assert look() and views.asked == [["a", "b"]]
    put(herder, "c")
    assert look() and views.asked[1:] == [["c"]], "the others have the same status"
    asked_all = views.now - took  # c was looked at in between
    herder.revision = lambda: (0, 0)  # type: ignore[method-assign]
    look()
    count = len(views.asked)
    views.now = asked_all + pause - 0.01
    assert not look() and len(views.asked) == count
    views.now = asked_all + pause + 0.01
    herder.trace = "figures"
    assert look() and views.asked[-1] == ["a", "b", "c"]


def test_a_client_that_does_not_read_misses_states_in_between(herder: InMemoryHerder) -> None:
    """It is sent no more than fits between it and the worker, and then the newest state."""
    put(herder, "a")
    with serving(herder, EventStreams()) as (_, http), closing(socket.socket()) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        slow.settimeout(20)
        slow.connect(("127.0.0.1", http.base_url.port))
        slow.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        with streamed(http) as quick:
            next(quick)
            for number in range(8):
                herder.trace = f"state-{number} " + "x" * 1_000_000
                next_that(quick, lambda event: "state-" in str(event.states)[:2000])
        received = b""
        while b"state-7" not in received:
            received += slow.recv(1 << 20)
    states = re.findall(rb"state-\d", received)
    assert len(set(states)) < 8, states
