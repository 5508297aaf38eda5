# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.api.errors import ConfigError
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.worker.runnable_configs import ConfigWatch


class Timers:
    """Time passes when a test says so."""

    def __init__(self) -> None:
        self.pending: dict[int, tuple[float, Callable[[], None]]] = {}
        self._count = 0

    def after(self, seconds: float, work: Callable[[], None]) -> Callable[[], None]:
        number = self._count = self._count + 1
        self.pending[number] = (seconds, work)
        return lambda: self.pending.pop(number, None) and None

    def pass_(self) -> None:
        (number, (_, work)), *more = self.pending.items()
        assert not more
        del self.pending[number]
        work()


class Stage:
    """A watch, and what it looks at."""

    def __init__(self) -> None:
        self.timers = Timers()
        self.changes = 0
        self.now = self.value("1", 30)
        self.error: Exception | None = None
        self.watch = ConfigWatch("Task c-0", self.resolve, self.changed, self.timers.after)

    @staticmethod
    def value(text: str, ttl: float | None, action: str = "restart") -> ResolvedConfig:
        config = {"x": text, "config.action.reload": action}
        return ResolvedConfig(config | {"x": "${v:x}"}, config, {"${v:x}": text}, ttl)

    def resolve(self) -> ResolvedConfig:
        if self.error:
            raise self.error
        return self.now

    def changed(self) -> None:
        self.changes += 1

    @property
    def waits(self) -> list[float]:
        return [seconds for seconds, _ in self.timers.pending.values()]


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_change_is_reported_once(stage: Stage) -> None:
    stage.watch.begin(stage.now)
    assert stage.waits == [30]
    stage.now = stage.value("2", 20)
    stage.timers.pass_()
    assert stage.changes == 1
    assert stage.waits == []
    stage.watch.begin(stage.now)
    assert stage.waits == [20]


def test_what_has_not_changed_is_looked_at_again(stage: Stage) -> None:
    stage.watch.begin(stage.now)
    stage.now = stage.value("1", 10)
    stage.timers.pass_()
    assert (stage.changes, stage.waits) == (0, [10])
    stage.now = stage.value("1", None)
    stage.timers.pass_()
    assert (stage.changes, stage.waits) == (0, [10])


def test_what_cannot_be_looked_up_now_is_later(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.watch.begin(stage.now)
    stage.error = ConfigError("no such file")
    stage.timers.pass_()
    assert (stage.changes, stage.waits) == (0, [30])
    assert "Task c-0: references cannot be looked up again, will try later: no such file" in caplog.text
    stage.error, stage.now = None, stage.value("2", 30)
    stage.timers.pass_()
    assert stage.changes == 1


@pytest.mark.parametrize(("ttl", "action"), [(None, "restart"), (30, "none")])
def test_nothing_to_watch(stage: Stage, ttl: float | None, action: str) -> None:
    stage.watch.begin(stage.value("1", ttl, action))
    assert stage.waits == []


def test_an_end_while_values_are_looked_up(stage: Stage) -> None:
    stage.watch.begin(stage.now)
    stage.now = stage.value("2", 30)
    resolve = stage.resolve

    def ends_meanwhile() -> ResolvedConfig:
        stage.watch.end()
        return resolve()

    stage.watch._resolve = ends_meanwhile
    stage.timers.pass_()
    assert (stage.changes, stage.waits) == (0, [])


def test_begun_again_there_is_one_timer(stage: Stage) -> None:
    stage.watch.begin(stage.now)
    stage.watch.begin(stage.now)
    assert stage.waits == [30]
    stage.watch.end()
    assert stage.waits == []
    stage.watch.begin(stage.now)
    stage.watch.close()
    stage.watch.begin(stage.now)
    assert stage.waits == []
