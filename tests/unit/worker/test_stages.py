# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading

import pytest

from headrace.worker.stages import PluginExitError, SerialExecutor, Stages

WAIT = 5


def test_names_what_takes_long_the_longest_first() -> None:
    now = [100.0]
    stages = Stages(lambda: now[0])
    with stages.stage("start of connector a"):
        now[0] += 11
        with stages.stage("start of connector b"):
            now[0] += 1
            assert stages.longer_than(1) == ["start of connector a since 12 s", "start of connector b since 1 s"]
            assert stages.longer_than(5) == ["start of connector a since 12 s"]
    assert stages.longer_than(0) == []


def test_work_is_done_in_order_and_errors_are_its_future_s() -> None:
    executor = SerialExecutor("x", Stages(lambda: 0.0))
    gate = threading.Event()
    done: list[int] = []
    first = executor.submit("one", lambda: gate.wait(WAIT) and done.append(1))
    second = executor.submit("two", lambda: 1 // 0)
    third = executor.submit("three", lambda: done.append(3))
    gate.set()
    first.result(WAIT)
    with pytest.raises(ZeroDivisionError):
        second.result(WAIT)
    third.result(WAIT)
    assert done == [1, 3]
    executor.close()


def test_each_background_work_has_its_own_thread() -> None:
    stages = Stages(lambda: 0.0)
    gate = threading.Event()
    slow = stages.run_in_background("slow", lambda: gate.wait(WAIT))
    assert stages.run_in_background("quick", lambda: 7).result(WAIT) == 7
    assert not slow.done()
    gate.set()
    assert slow.result(WAIT)


def test_system_exit_in_background_work_becomes_a_plugin_error() -> None:
    def leave() -> None:
        raise SystemExit(7)

    future = Stages(lambda: 0.0).run_in_background("leaving", leave)
    with pytest.raises(PluginExitError, match="SystemExit: 7"):
        future.result(5)


def test_an_executors_thread_continues_after_work_that_raises_keyboard_interrupt() -> None:
    def leave() -> None:
        raise KeyboardInterrupt

    executor = SerialExecutor("lasting", Stages(lambda: 0.0))
    first, second = executor.submit("leaving", leave), executor.submit("staying", lambda: 1)
    first.add_done_callback(lambda done: done.result())
    assert second.result(5) == 1
    executor.close()
