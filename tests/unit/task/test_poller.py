# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from headrace.api.errors import ConnectError, RetriableError
from headrace.kafka.errors import RetriableKafkaError
from headrace.task.source.source_task_calls import Poller, size_of
from headrace.task.task_metrics import TaskMetrics
from headrace.task.worker_link import TaskControl
from tests.unit.task.support_plugins import ScriptedTask


class ImpatientControl(TaskControl):
    """Waits for nothing, and remembers for how long it was to; runs a script while it is paused."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.while_paused: Callable[[], None] = lambda: None

    def wait_for_stop(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return self.stopping

    def wait_while_paused(self, seconds: float | None = None) -> bool:
        self.while_paused()
        return True


@pytest.fixture
def impatient() -> ImpatientControl:
    return ImpatientControl()


def test_it_backs_off_until_a_poll_succeeds(impatient: ImpatientControl, link: Any) -> None:
    errors = [RetriableError("not now"), RetriableKafkaError("offsets are away")] + [RetriableError("no")] * 7
    poller = Poller(ScriptedTask(*errors, ["r"], RetriableError("no")), impatient, link)
    assert [list(poller.poll()) for _ in range(11)] == [[]] * 9 + [["r"], []]
    assert impatient.waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0, 0.1])


def test_other_errors_are_the_tasks(impatient: ImpatientControl, link: Any) -> None:
    poller = Poller(ScriptedTask(ConnectError("broken"), SystemExit(3)), impatient, link)
    with pytest.raises(ConnectError, match="broken"):
        poller.poll()
    with pytest.raises(SystemExit):
        poller.poll()
    assert impatient.waits == []


def test_what_a_poll_may_return(impatient: ImpatientControl, link: Any, record: Any) -> None:
    table, records = pa.table({"topic": ["t", "t"], "value": ["1", "2"]}), [record("1")]
    poller = Poller(ScriptedTask(None, [], records, tuple(records), table), impatient, link)
    polled = [poller.poll() for _ in range(5)]
    assert [size_of(p) for p in polled] == [0, 0, 1, 1, 2]
    assert polled[2] is records
    assert [isinstance(p, pa.Table) for p in polled] == [False] * 4 + [True]


@pytest.mark.parametrize(
    ("polled", "named"), [((r for r in ()), "generator"), ("text", "str"), ({}, "dict"), (pa.array([1]), "Int64Array")]
)
def test_what_it_may_not(impatient: ImpatientControl, link: Any, polled: Any, named: str) -> None:
    with pytest.raises(ConnectError, match=f"^poll returned {named}; it may return a list of records, an Arrow table"):
        Poller(ScriptedTask(polled), impatient, link).poll()


def test_a_pause_ends_what_is_open_first(impatient: ImpatientControl, link: Any) -> None:
    impatient.set_paused(True)
    impatient.while_paused = lambda: (link.heard.append("waits"), impatient.set_paused(False))[0]
    poller = Poller(ScriptedTask(), impatient, link)
    assert poller.may_poll(lambda: link.heard.append("ends"))
    assert link.heard == ["ends", "paused", "waits", "running"]
    assert poller.may_poll(lambda: link.heard.append("ends"))
    assert link.heard[4:] == []


def test_stopped_while_paused(impatient: ImpatientControl, link: Any) -> None:
    impatient.set_paused(True)
    impatient.while_paused = impatient.stop
    poller = Poller(ScriptedTask(), impatient, link)
    assert not poller.may_poll(lambda: link.heard.append("ends"))
    assert link.heard == ["ends", "paused"]
    assert not poller.may_poll(lambda: link.heard.append("ends again"))
    assert link.heard == ["ends", "paused"]


def test_something_is_done_now_and_then_while_it_is_paused(link: Any) -> None:
    class Control(TaskControl):
        waits: list[float | None] = []

        def wait_while_paused(self, seconds: float | None = None) -> bool:
            self.waits.append(seconds)
            return len(self.waits) == 3

    control, done, clock = Control(), list[str](), itertools.count()
    metrics = TaskMetrics(lambda values: None, lambda: next(clock))
    metrics.before_report(lambda: done.append("served"))
    control.set_paused(True)
    assert Poller(ScriptedTask(), control, link, metrics).may_poll(lambda: done.append("paused"))
    assert done == ["paused", "served", "served"]
    assert control.waits == [1.0] * 3
