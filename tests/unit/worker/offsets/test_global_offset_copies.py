# SPDX-License-Identifier: Apache-2.0
"""Copies of offsets to the worker's topic: the newest arrives, whatever happens, and no caller waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from headrace.api.errors import ConnectError, RetriableError
from headrace.model.backoff import ExponentialBackoff
from headrace.worker.offsets import global_offset_copies
from headrace.worker.offsets.global_offset_copies import CopyLag, GlobalOffsetCopies
from tests.support.polling import wait_for
from tests.unit.clock import Clock

OWN, OTHER = ("own", "b:1"), ("other", "b:1")


class Store:
    """An offset store; each write waits for ``go``, and fails while there is an ``error``."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | None] = {}
        self.writes: list[dict[bytes, bytes | None]] = []
        self.error: Exception | None = None
        self.go = threading.Event()
        self.go.set()

    def set(self, records: Mapping[bytes, bytes | None]) -> Future[None]:
        self.writes.append(dict(records))
        future: Future[None] = Future()

        def write() -> None:
            self.go.wait(10)
            if self.error is not None:
                future.set_exception(self.error)
                return
            self.values.update(records)
            future.set_result(None)

        threading.Thread(target=write, daemon=True).start()
        return future

    def get(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        future: Future[dict[bytes, bytes | None]] = Future()
        future.set_result({key: self.values.get(key) for key in keys})
        return future

    def waiting_for(self) -> str | None:
        return None


class Stage:
    def __init__(self) -> None:
        self.target, self.own, self.clock = Store(), Store(), Clock()
        self.copies: Any = GlobalOffsetCopies(self.target, {OWN: self.own}.get, self.clock)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(global_offset_copies, "_BACKOFF", ExponentialBackoff(0.01, 30.0))
    made = Stage()
    yield made
    made.target.go.set()
    made.copies.stop(0)


def test_the_newest_is_copied_and_the_rest_is_skipped(stage: Stage) -> None:
    stage.target.go.clear()
    for n in range(100):
        stage.copies.put("c", {b"k": b"%d" % n}, OWN)
    assert stage.copies.lag("c").pending == 1
    stage.target.go.set()
    wait_for(lambda: stage.copies.lag("c") == CopyLag(), 5, "the copies")
    assert stage.target.values == {b"k": b"99"}
    assert len(stage.target.writes) <= 3


def test_the_lag_is_that_of_the_oldest(stage: Stage) -> None:
    stage.target.go.clear()
    stage.copies.put("c", {b"a": b"1"}, OWN)
    wait_for(lambda: stage.target.writes, 5, "a write")
    stage.clock.now += 5
    stage.copies.put("c", {b"b": b"1"}, OWN)
    stage.clock.now += 1
    assert stage.copies.lag("c") == CopyLag(2, 6.0)
    assert stage.copies.lag("other") == CopyLag()


def test_it_is_tried_again_until_it_works_with_what_is_committed_then(stage: Stage, caplog: Any) -> None:
    """What was deleted meanwhile does not come back (KAFKA-15018)."""
    stage.own.values = {b"a": b"1", b"b": b"1"}
    stage.target.error = ConnectError("no ACL")
    stage.copies.put("c", {b"a": b"1", b"b": b"1"}, OWN)
    wait_for(lambda: len(stage.target.writes) > 3, 5, "attempts")
    stage.own.values = {b"a": b"2"}
    attempts = len(stage.target.writes)
    wait_for(lambda: len(stage.target.writes) > attempts + 1, 5, "an attempt that has read what is committed now")
    stage.target.error = None
    wait_for(lambda: stage.copies.lag("c") == CopyLag(), 5, "the copies")
    assert stage.target.values == {b"a": b"2", b"b": None}
    assert caplog.text.count("no ACL") == 1, "a broker that is away for hours does not fill the log"


def test_a_connector_that_was_moved_waits_for_its_copies(stage: Stage) -> None:
    stage.target.go.clear()
    stage.copies.put("c", {b"k": b"1"}, OWN)
    stage.copies.await_moved("c", OWN, 0)
    stage.copies.await_moved("another", None, 0)
    for moved_to in (OTHER, None):
        with pytest.raises(RetriableError, match="another offsets topic than before"):
            stage.copies.await_moved("c", moved_to, 0.05)
    threading.Timer(0.05, stage.target.go.set).start()
    stage.copies.await_moved("c", OTHER, 5)
    assert stage.target.values == {b"k": b"1"}


def test_what_a_user_changes_is_not_copied_any_more(stage: Stage) -> None:
    stage.target.error = ConnectError("not now")
    stage.copies.put("c", {b"k": b"1"}, OWN)
    stage.copies.put("d", {b"l": b"1"}, OWN)
    stage.copies.forget("c")
    assert (stage.copies.lag("c").pending, stage.copies.lag("d").pending) == (0, 1)


def test_what_is_changed_while_it_is_about_to_be_copied_is_not_sent(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change comes between the look at what is committed and the write."""
    committed = stage.own.get

    def change(keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        stage.copies.forget("c")
        stage.target.error = None
        return committed(keys)

    monkeypatch.setattr(stage.own, "get", change)
    stage.target.error = ConnectError("not now")
    stage.copies.put("c", {b"k": b"1"}, OWN)
    wait_for(lambda: stage.target.error is None and stage.target.writes[-1] == {}, 5, "a write without it")
    assert stage.target.values == {}


def test_a_stop_waits_for_what_can_still_be_copied(stage: Stage) -> None:
    stage.target.go.clear()
    stage.copies.put("c", {b"k": b"1"}, OWN)
    threading.Timer(0.1, stage.target.go.set).start()
    stage.copies.stop(5)
    assert stage.target.values == {b"k": b"1"}
    stage.copies.put("c", {b"k": b"2"}, OWN)
    assert stage.target.values == {b"k": b"1"}
