# SPDX-License-Identifier: Apache-2.0
"""A client of ``GET /events`` that reads the stream as it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2


class Event(NamedTuple):
    id: str
    kind: str
    states: dict[str, Any]


@contextmanager
def streamed(client: httpx2.Client, last: str | None = None, **query: Any) -> Iterator[Iterator[Event]]:
    """The events of a stream after the last one that is known, until it or the block ends."""
    headers = {} if last is None else {"Last-Event-ID": last}
    with client.stream("GET", "/events", headers=headers, params=query) as answer:
        assert answer.status_code == 200, f"{answer.status_code} {answer.read().decode()}"
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = _events(answer.iter_lines())  # held until the block ends: without it, the client closes the stream
        yield events


def next_that(events: Iterator[Event], wanted: Callable[[Event], object]) -> Event:
    """The first event that is wanted; AssertionError if the stream ends before."""
    found = next((event for event in events if wanted(event)), None)
    assert found is not None, "the stream has ended"
    return found


def _events(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, text = line.partition(": ")
            fields[name] = text
        elif "data" in fields:
            yield Event(fields["id"], fields["event"], json.loads(fields["data"]))
            fields = {}
