# SPDX-License-Identifier: Apache-2.0
"""A source task is asked for its lag every few seconds; an error of it is none of the task's."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from headrace.api import Lag, LagUnit, SourceTask
from headrace.model.health import Stage
from headrace.model.ids import ConnectorTaskId
from headrace.task.source.source_lag import SourceLag
from headrace.task.task_progress import TaskProgress
from tests.unit.clock import Clock


class Silent(SourceTask):
    def version(self) -> str:
        return "1"

    def start(self, props: Any) -> None: ...

    def poll(self) -> None: ...

    def stop(self) -> None: ...


class Lagging(Silent):
    """A task that gives ``answer``, or raises it."""

    answer: Any = None
    asked = 0

    def lag(self) -> Lag | None:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: Lag | None = self.answer
        return answer


@pytest.fixture
def task() -> Lagging:
    return Lagging()


@pytest.fixture
def progress(clock: Clock) -> TaskProgress:
    return TaskProgress(clock)


@pytest.fixture
def lag(task: Lagging, progress: TaskProgress, clock: Clock) -> SourceLag:
    return SourceLag(ConnectorTaskId("c", 0), task, progress, clock)


def test_a_task_is_asked_every_few_seconds(lag: SourceLag, task: Lagging, progress: TaskProgress, clock: Clock) -> None:
    task.answer = Lag(LagUnit.BYTES, {"a\ud800": np.int64(3)})  # type: ignore[dict-item]
    for _ in range(30):
        lag.refresh()
        clock.now += 0.2
    shown = progress.measure().lag
    assert task.asked == 2 and shown == Lag(LagUnit.BYTES, {"a\\ud800": 3})
    assert {type(number) for number in shown.partitions.values()} == {int}


def test_a_task_without_lag_need_not_be_asked(lag: SourceLag, progress: TaskProgress, clock: Clock) -> None:
    assert lag.is_known and not SourceLag(ConnectorTaskId("c", 0), Silent(), progress, clock).is_known
    assert Silent().lag() is None


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (OSError("no route"), "OSError: no route"),
        ({"a": 3}, "lag returned dict; it may return a Lag or None"),
        (Lag(LagUnit.FILES, {"a": 1, "b": -1}), "lag returned a number below 0: -1"),
        (Lag(LagUnit.FILES, {str(each): 0 for each in range(1001)}), "lag returned 1001 partitions; 1000 are allowed"),
        (Lag(LagUnit.FILES, {"a": 0.5}), "'float' object cannot be interpreted as an integer"),  # type: ignore[dict-item]
    ],
)
def test_an_error_is_logged_once_and_the_lag_is_unknown(
    answer: Any,
    why: str,
    lag: SourceLag,
    task: Lagging,
    progress: TaskProgress,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    good = Lag(LagUnit.FILES, {"a": 7})
    for task.answer, shown in ((good, good), (answer, None), (answer, None), (good, good)):
        with caplog.at_level(logging.WARNING):
            lag.refresh()
        assert progress.measure().lag == shown
        clock.now += 3
    (line,) = caplog.messages
    assert line.startswith("The lag of task c-0 is not known: ") and why in line


def test_a_lag_has_an_age_while_it_does_not_shrink(progress: TaskProgress, clock: Clock) -> None:
    def after(seconds: float, total: int | None) -> int | None:
        clock.now += seconds
        progress.lagged(None if total is None else Lag(LagUnit.FILES, {"a": total}))
        return progress.measure().lag_since

    progress.enter(Stage.POLLING)
    assert [after(1, 0), after(1, 5), after(1, 5), after(2, 9)] == [None, 0, 1000, 3000]
    assert [after(1, 8), after(1, 8), after(1, None), after(1, 8), after(4, 8)] == [0, 1000, None, 0, 4000]
    progress.enter(Stage.PAUSED)
    assert after(60, 8) is None and progress.measure().lag is not None
    progress.enter(Stage.POLLING)
    assert [after(1, 8), after(1, 8)] == [0, 1000]
