# SPDX-License-Identifier: Apache-2.0
"""The configurations that a worker writes when it becomes the leader."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import pytest

from headrace.api.errors import RetriableError
from headrace.cli.mirror.mirror_config import Pair
from headrace.cli.mirror.mirror_connectors import MirrorConnectors
from headrace.herder.core.herder_state import HerderState, Membership, Phase
from headrace.herder.errors import BadRequestError, NotFoundError
from headrace.model.info import ConnectorInfo

CONFIGS = {"one": {"name": "one", "x": "1"}, "two": {"name": "two", "x": "2"}}


def member(leader: str) -> Membership:
    return Membership(1, "me", leader, "http://x", 0, frozenset(), frozenset())


@dataclass
class Herder:
    """One that is the leader, or is not, at each look at it, and refuses what `errors` has."""

    leaders: list[str]
    there: dict[str, Any] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    failed: BaseException | None = None

    def failure(self) -> BaseException | None:
        return self.failed

    def fail(self, error: BaseException) -> None:
        self.failed = error

    @property
    def state(self) -> HerderState:
        if not self.leaders:
            return HerderState(exactly_once=True, phase=Phase.STOPPED)
        return HerderState(exactly_once=True, membership=member(self.leaders[0]))

    def next(self, seconds: float) -> None:
        self.leaders.pop(0)

    def connector_info(self, name: str) -> ConnectorInfo:
        if name not in self.there:
            raise NotFoundError(name)
        return ConnectorInfo(name, self.there[name], (), "source")

    def put_connector_config(self, name: str, config: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.errors:
            future.set_exception(self.errors.pop(0))
        else:
            self.written.append(name)
            self.there[name] = config
            future.set_result(None)
        return future


def watched(leaders: Sequence[str], **more: Any) -> Herder:
    herder = Herder(list(leaders), **more)
    connectors = MirrorConnectors(Pair("A", "B"), CONFIGS, herder, "here:1", herder.next)  # type: ignore[arg-type]
    assert connectors.begin().result(10) is None
    connectors.join(10)
    return herder


def test_the_leader_writes_what_differs() -> None:
    herder = watched(["me", "me"], there={"one": CONFIGS["one"], "two": {"x": "old"}})
    assert herder.written == ["two"]
    assert herder.there == CONFIGS


def test_others_write_nothing() -> None:
    assert watched(["you", "you"]).written == []


def test_each_time_it_becomes_the_leader_the_configurations_are_compared() -> None:
    class Forgetful(dict[str, Any]):
        def __contains__(self, name: object) -> bool:
            return False

    herder = watched(["me", "me", "you", "me"], there=Forgetful())
    assert herder.written == ["one", "two"] * 2


def test_what_passes_is_tried_again_while_it_leads() -> None:
    assert watched(["me", "me"], errors=[RetriableError("wait")]).written == ["one", "two"]
    assert watched(["me", "you"], errors=[RetriableError("wait")]).written == []


def test_a_refused_connector_ends_the_worker_and_a_refused_change_does_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    changed = watched(["me", "me"], there={"one": {"x": "old"}}, errors=[BadRequestError("x is bad")])
    assert (changed.failed, changed.written) == (None, ["two"])
    assert "Connector one of A->B continues as it was, for its new configuration is refused: x is bad" in caplog.text
    herder = Herder(["me", "me"], errors=[BadRequestError("x is bad")])
    connectors = MirrorConnectors(Pair("A", "B"), CONFIGS, herder, "here:1", herder.next)  # type: ignore[arg-type]
    connectors.begin()
    connectors.join(10)
    assert str(herder.failed) == "Connector one: x is bad"
    assert herder.written == []
