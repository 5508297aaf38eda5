# SPDX-License-Identifier: Apache-2.0
"""Launches in processes that they share, over real channels, with Spark's place taken by memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.logs.loggers import Loggers
from headrace.model.process_end import ExitCalled
from headrace.spark.channel.messages import Attach, RunTask, StartShared, TaskOver
from headrace.spark.channel.task_channel import AttemptChannel, TaskChannels
from headrace.spark.engine.spark_engine import SparkJobError
from headrace.spark.task.shared_processes import SharedProcesses
from headrace.task.task_protocol import Command
from tests.support.polling import wait_for
from tests.unit.spark.conftest import CLOSED, Engine, TaskProcess


class Run:
    """One launch that runs its job on a thread, as a LaunchedTask does."""

    def __init__(self, processes: SharedProcesses, engine: Any, launch: str, limit: int) -> None:
        self.stopping = False
        self.result: object = None
        self.unavailable: list[str] = []
        self._jobs = processes.jobs(engine, limit)
        self._thread = threading.Thread(target=self._run, args=(launch,), daemon=True)
        self._thread.start()
        wait_for(lambda: processes.find(launch) is not None or self.result is not None, 10)

    def _run(self, launch: str) -> None:
        try:
            self._jobs.run_task_job(launch, launch, lambda: self.stopping, self.unavailable.append)
            self.result = "ended"
        except SparkJobError as error:
            self.result = str(error)

    def await_result(self) -> object:
        self._thread.join(10)
        return self.result


class Shared:
    """SharedProcesses, and processes that attach to them."""

    def __init__(self, directory: Path) -> None:
        self.engine = Engine()
        self.reported: list[tuple[str, str]] = []
        self.processes = SharedProcesses(Loggers(), lambda launch, reason: self.reported.append((launch, reason)))
        self.channels = TaskChannels(directory, self._attached)
        self.channels.start()

    def run(self, launch: str, limit: int = 2) -> Run:
        return Run(self.processes, self.engine, launch, limit)

    def process(self, key: str) -> TaskProcess:
        return TaskProcess(self.channels, 0, "elsewhere", key)

    def _attached(self, channel: AttemptChannel, attach: Attach) -> None:
        self.processes.serve(channel, attach)


@pytest.fixture
def shared(socket_directory: Path) -> Iterator[Shared]:
    made = Shared(socket_directory)
    yield made
    made.engine.end_job()
    made.channels.stop()


def test_launches_fill_a_process_and_another_one_follows(shared: Shared) -> None:
    runs = [shared.run(launch) for launch in "abc"]
    keys = [shared.processes.find(launch).key for launch in "abc"]  # type: ignore[union-attr]
    assert keys == ["shared-0", "shared-0", "shared-1"]
    process = shared.process("shared-0")
    assert [process.take() for _ in range(3)] == [StartShared(Loggers().set_levels()), RunTask("a"), RunTask("b")]
    assert shared.process("shared-0").take() == CLOSED
    process.say(TaskOver("a"))
    assert runs[0].await_result() == "ended"
    runs.append(shared.run("d"))
    assert process.take() == RunTask("d")
    process.say(TaskOver("b"), TaskOver("d"))
    assert [runs[1].await_result(), runs[3].await_result()] == ["ended", "ended"]
    assert process.take() is Command.STOP
    assert runs[2].result is None
    assert shared.run("e").result is None
    assert shared.processes.find("e").key == "shared-1"  # type: ignore[union-attr]


def test_launches_of_other_limits_or_engines_have_other_processes(shared: Shared) -> None:
    shared.run("a", limit=2)
    shared.run("b", limit=3)
    other = Engine()
    Run(shared.processes, other, "c", 2)
    assert [shared.processes.find(launch).key for launch in "abc"] == [f"shared-{n}" for n in range(3)]  # type: ignore[union-attr]
    other.end_job()


def test_a_lost_process_ends_all_its_launches_and_takes_no_more(shared: Shared) -> None:
    runs = [shared.run(launch, limit=3) for launch in "ab"]
    process = shared.process("shared-0")
    process.take()
    process.end()
    assert {run.await_result() for run in runs} == {"process 0, which it shared with other tasks, was lost"}
    wait_for(lambda: shared.engine.cancelled == 1, 10, "the job's cancelling, or Spark would repeat it")
    assert shared.process("shared-0").take() == CLOSED
    shared.run("c", limit=3)
    assert shared.processes.find("c").key == "shared-1"  # type: ignore[union-attr]


def test_each_launch_is_told_how_its_process_was_lost(shared: Shared) -> None:
    run = shared.run("a")
    process = shared.process("shared-0")
    process.take()
    process.say(ExitCalled(None))
    process.end()
    shared_with_others = "process 0, which it shared with other tasks, was lost"
    assert run.await_result() == f"{shared_with_others}, as Java code called System.exit"


def test_a_job_that_ends_early_ends_its_launches(shared: Shared) -> None:
    run = shared.run("a")
    shared.engine.end_job("no executor is left")
    assert run.await_result() == "no executor is left"


def test_each_launch_is_told_that_spark_is_not_running(shared: Shared) -> None:
    runs = [shared.run(launch) for launch in "ab"]
    shared.engine.await_job()
    shared.engine.on_unavailable("no master")
    assert [run.unavailable for run in runs] == [["no master"], ["no master"]]


def test_stopped_before_there_is_a_process(shared: Shared) -> None:
    first, second = shared.run("a"), shared.run("b")
    first.stopping = True
    assert first.await_result() == "ended"
    assert (second.result, shared.engine.cancelled) == (None, 0)
    second.stopping = True
    assert second.await_result() == "ended"
    assert shared.engine.cancelled == 1


def test_cancelled_before_there_is_a_process(shared: Shared) -> None:
    first, second = shared.run("a"), shared.run("b")
    shared.processes.cancel("a")
    assert (first.await_result(), second.result) == ("it was cancelled", None)


def test_cancelled_with_its_process(shared: Shared) -> None:
    first, second = shared.run("a"), shared.run("b")
    process = shared.process("shared-0")
    assert [process.take() for _ in range(3)][1:] == [RunTask("a"), RunTask("b")]
    shared.processes.cancel("a")
    for run in (first, second):
        assert run.await_result() == "process 0, which it shared with other tasks, was lost"
    assert process.take() == CLOSED


def test_not_over_while_its_channel_is_served(shared: Shared) -> None:
    run = shared.run("a")
    process = shared.process("shared-0")
    with shared.processes.serving("a"):
        process.say(TaskOver("a"))
        served = shared.run("b")
        process.say(TaskOver("b"))
        assert served.await_result() == "ended"
        assert run.result is None
    assert run.await_result() == "ended"


def test_each_launch_is_told_that_its_process_waits_for_a_core(shared: Shared) -> None:
    for launch in "abc":
        shared.run(launch)
    waiting = shared.processes.waiting(shared.engine)  # type: ignore[arg-type]
    assert [each.key for each in waiting] == ["shared-0", "shared-1"]
    waiting[0].report_waiting("no core")
    assert shared.reported == [("a", "no core"), ("b", "no core")]
    process = shared.process("shared-0")
    process.take()
    assert [each.key for each in shared.processes.waiting(shared.engine)] == ["shared-1"]  # type: ignore[arg-type]
    process.end()
