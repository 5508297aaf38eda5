# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading

from headrace.task.worker_link import TaskControl


def test_the_hook_runs_once(control: TaskControl) -> None:
    ran: list[str] = []
    assert control.on_stop(lambda: ran.append("hook"))
    assert not control.stopping
    control.stop()
    control.stop()
    assert ran == ["hook"]
    assert control.stopping


def test_a_hook_that_comes_too_late_never_runs(control: TaskControl) -> None:
    ran: list[str] = []
    control.stop()
    assert not control.on_stop(lambda: ran.append("hook"))
    control.stop()
    assert ran == []


def test_each_pause_calls_its_hook_and_no_resume(control: TaskControl) -> None:
    ran: list[str] = []
    control.set_paused(True)
    control.on_pause(lambda: ran.append("hook"))
    control.set_paused(True)
    assert ran == [], "it is paused already"
    control.set_paused(False)
    assert ran == []
    control.set_paused(True)
    assert ran == ["hook"]


def test_waiting_ends_with_a_resume_and_with_a_stop(control: TaskControl) -> None:
    for end in (lambda: control.set_paused(False), control.stop):
        control.set_paused(True)
        waiting = threading.Thread(target=control.wait_while_paused)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
        end()
        waiting.join(5)
        assert not waiting.is_alive()
    assert control.wait_for_stop(5)
    assert not TaskControl().wait_for_stop(0.01)
