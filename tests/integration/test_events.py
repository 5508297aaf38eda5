# SPDX-License-Identifier: Apache-2.0
"""States of connectors as they change, from both workers of a real group."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.event_stream import Event, next_that, streamed
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration
SOURCE = {"connector.class": "MockSourceConnector", "tasks.max": "1"}


@pytest.fixture(scope="module")
def group(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[WorkerProcess]]:
    """Two workers of a group."""
    with ExitStack() as stack:
        workers = [
            WorkerProcess(tmp_path_factory.mktemp(f"events-{n}"), broker.bootstrap_servers, **{"group.id": "events"})
            for n in range(2)
        ]
        for worker in workers:
            stack.callback(worker.close)
            worker.launch()
        for worker in workers:
            worker.await_answer(120, "/connectors")
        yield workers


def has(name: str, connector: str, *tasks: str, verdict: str | None = None) -> Any:
    """Whether an event has these states of a connector and of its tasks."""

    def wanted(event: Event) -> bool:
        state = event.states.get(name)
        if state is None:
            return False
        found = [state["status"]["connector"]["state"], *(task["state"] for task in state["status"]["tasks"])]
        return found == [connector, *tasks] and verdict in (None, state["health"]["verdict"])

    return wanted


def is_gone(name: str) -> Any:
    return lambda event: name in event.states and event.states[name] is None


def test_every_worker_reports_changes_in_their_order(group: list[WorkerProcess], unique: str) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(streamed(worker.rest)) for worker in group]
        assert [next(events).kind for events in streams] == ["reset", "reset"]
        for act, wanted in (
            (lambda: group[0].create(unique, **SOURCE), has(unique, "RUNNING", "RUNNING", verdict="healthy")),
            (lambda: group[1].rest.put(f"/connectors/{unique}/pause"), has(unique, "PAUSED", "PAUSED")),
            (lambda: group[0].rest.put(f"/connectors/{unique}/resume"), has(unique, "RUNNING", "RUNNING")),
            (lambda: group[1].delete(unique), is_gone(unique)),
        ):
            act()
            for events in streams:
                next_that(events, wanted)


def test_a_change_comes_within_a_second(group: list[WorkerProcess], unique: str) -> None:
    """Measured from when the API itself shows it; a page that asks every five seconds would be late by that."""
    group[0].create(unique, **SOURCE)
    group[0].wait_for_tasks(unique)
    took = []
    for change, state in (("pause", "PAUSED"), ("resume", "RUNNING"), ("pause", "PAUSED")):
        with streamed(group[1].rest) as events:
            next(events)
            group[0].rest.put(f"/connectors/{unique}/{change}")
            group[0].wait_for_tasks(unique, state)
            begun = time.monotonic()
            next_that(events, has(unique, state, state))
            took.append(time.monotonic() - begun)
    print("a change came after", [f"{each:.2f} s" for each in took])
    assert min(took) < 1
    group[0].delete(unique)


def test_a_client_that_connects_again_gets_what_was_missed(group: list[WorkerProcess], unique: str) -> None:
    one, other = (worker.rest for worker in group)
    with streamed(one) as events:
        last = next(events).id
    group[0].create(unique, **SOURCE)
    group[0].wait_for_tasks(unique)
    with streamed(one, last) as events:
        missed = next(events)
    assert missed.kind == "change" and has(unique, "RUNNING", "RUNNING")(missed), missed
    with streamed(other, missed.id) as events:
        whole = next(events)
    assert whole.kind == "reset" and has(unique, "RUNNING", "RUNNING")(whole), "of another process"
    group[0].delete(unique)
    with streamed(one, missed.id) as events:
        next_that(events, is_gone(unique))


def test_a_stream_is_silent_for_fifteen_seconds_at_most(group: list[WorkerProcess]) -> None:
    """There is no connector, so there is nothing to say."""
    with streamed(group[0].rest) as events:
        next_that(events, lambda event: event.kind == "reset")
        begun = time.monotonic()
        beat = next(events)
    assert (beat.kind, beat.states) == ("change", {})
    assert time.monotonic() - begun < 20


def test_a_worker_that_stops_ends_its_streams(own_worker: WorkerProcess) -> None:
    own_worker.start(path="/connectors")
    with streamed(own_worker.rest) as events:
        next(events)
        begun = time.monotonic()
        own_worker.launched.terminate()
        for _ in events:  # an orderly end; httpx2 raises an error for a connection that is cut
            pass
        took = time.monotonic() - begun
    print(f"the stream ended {took:.2f} s after the signal")
    assert took < 2, "uvicorn ends what is open after two seconds"


def test_a_standalone_worker_reports_them_too(broker: EmbeddedBroker, tmp_path: Path, unique: str) -> None:
    alone = WorkerProcess(
        tmp_path,
        broker.bootstrap_servers,
        **{"offset.storage.file.filename": str(tmp_path / "offsets"), "exactly.once.source.support": "disabled"},
    )
    alone.command = ("standalone",)
    try:
        alone.start(path="/connectors")
        with streamed(alone.rest) as events:
            assert next(events).kind == "reset"
            alone.create(unique, **SOURCE)
            next_that(events, has(unique, "RUNNING", "RUNNING"))
            alone.delete(unique)
            next_that(events, is_gone(unique))
    finally:
        alone.close()
