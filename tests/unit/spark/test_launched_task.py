# SPDX-License-Identifier: Apache-2.0
"""Decisions of a launched task, over real channels, with Spark's place taken by memory."""

from __future__ import annotations

import logging
import random
import signal
import subprocess
import threading
from dataclasses import replace
from typing import Any

import pytest

from headrace.api.errors import ConfigError, RetriableError
from headrace.logs.context import CONTEXT
from headrace.logs.loggers import Loggers
from headrace.model.backoff import ExponentialBackoff
from headrace.model.process_end import ExitCalled
from headrace.model.state import TargetState
from headrace.spark.channel.messages import Log, LogLevels, Start
from headrace.spark.frames.frame_breaker import BreakerLimits, FrameBreaker
from headrace.spark.frames.frame_jobs import FrameLimits
from headrace.spark.process.machine import this_machine
from headrace.spark.task import launched_task
from headrace.spark.task.launched_task import LaunchedTask
from headrace.task.task_protocol import (
    Answered,
    Asked,
    Command,
    ConfirmStart,
    Ended,
    Metrics,
    OffsetsCommitted,
    Outcome,
    Paused,
    ReadOffsets,
    Refusal,
    Running,
    TopicsUsed,
    WriteOffsets,
)
from tests.support.polling import wait_for
from tests.unit.spark.conftest import SPEC

CLOSED = "closed"
STOPPED, ABANDONED = Ended(Outcome.STOPPED), Ended(Outcome.ABANDONED)
FAILED, TAINTED = Ended(Outcome.FAILED, "the trace"), Ended(Outcome.TAINTED, "who knows")


LOST = ": it was killed, by a lack of memory for instance, has crashed, or called Runtime.halt"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is waited for for long."""
    monkeypatch.setattr(launched_task, "_EXIT_TIMEOUT_S", 0.05)
    monkeypatch.setattr(launched_task, "_BACKOFF", ExponentialBackoff(0.01, 30.0))


def test_a_whole_life(launch: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(CONTEXT)
    task = launch.start()
    process = launch.process()
    start = process.take()
    assert isinstance(start, Start)
    assert (start.spec.id, start.paused) == (task._spec.id, False)
    process.say(Asked(5, ConfirmStart()))
    assert process.take() == Answered(5, True)
    process.say(Asked(6, ReadOffsets([{"p": 1}])))
    assert process.take() == Answered(6, [{"n": 1}])
    with caplog.at_level(logging.WARNING):
        process.say(Running(), OffsetsCommitted([({"p": 1}, {"n": 2})]), TopicsUsed(["t"]), Metrics({"m": 1.0}))
        process.say(Log("some.logger", logging.WARNING, "look"), Paused())
        events = ["running", ("offsets", [({"p": 1}, {"n": 2})]), ("topics", ["t"]), ("metrics", {"m": 1.0}), "paused"]
        launch.wait_for(("attempt", 0), *events)
    [line] = [record for record in caplog.records if record.name == "some.logger"]
    assert (line.levelno, line.getMessage(), line.connector_context) == (logging.WARNING, "look", "[c|task-0] ")  # type: ignore[attr-defined]
    task.forget_topics()
    assert process.take() is Command.FORGET_TOPICS
    task.stop()
    assert process.take() is Command.STOP
    assert not task.await_stopped(0.02)
    process.end(STOPPED)
    launch.engine.end_job()
    assert task.await_stopped(10)
    launch.wait_for(("attempt", 0), *events, "stopped")
    assert launch.gone == 1
    assert launch.listener.asked == 1


def test_pausing_at_any_moment(launch: Any) -> None:
    task = launch.start(replace(launch.task._spec, target_state=TargetState.PAUSED))
    first = launch.process()
    assert first.take().paused
    task.resume()
    assert first.take() is Command.RESUME
    task.pause()
    assert first.take() is Command.PAUSE
    first.end()
    second = launch.process()
    assert second.take().paused
    second.end()
    task.resume()
    third = launch.process()
    assert not third.take().paused


def test_stopped_before_a_process_attaches(launch: Any) -> None:
    task = launch.start()
    task.stop()
    process = launch.process()
    assert process.take() is Command.STOP
    assert process.take() == CLOSED
    launch.engine.end_job()
    assert task.await_stopped(10)
    launch.wait_for("stopped")
    assert launch.engine.jobs == 1


def test_stopped_before_its_job_starts(launch: Any) -> None:
    launch.task.stop()
    launch.task.start(launch._gone)
    assert launch.task.await_stopped(10)
    launch.wait_for("stopped")
    assert launch.engine.jobs == 0


def test_stopped_while_it_waits_for_its_go(launch: Any) -> None:
    task = launch.start()
    asked = threading.Event()
    launch.listener.may_start = lambda: asked.wait(10)
    process = launch.process()
    process.take()
    process.say(Asked(5, ConfirmStart()))
    wait_for(lambda: launch.listener.asked == 1, 10)
    task.stop()
    assert process.take() is Command.STOP
    asked.set()
    assert process.take() == Answered(5, True)
    process.end(STOPPED)
    launch.engine.end_job()
    assert task.await_stopped(10)


def test_killed_before_a_process_attaches(launch: Any) -> None:
    task = launch.start()
    task.kill()
    assert task.await_stopped(10)
    assert launch.engine.cancelled == 1
    launch.wait_for("stopped")
    assert launch.process().take() is Command.STOP


def test_killed_with_the_worker_busy_answering(launch: Any) -> None:
    """The end of the process is noticed whatever the listener is doing."""
    task = launch.start()
    never = threading.Event()
    launch.listener.may_start = lambda: never.wait(20)
    process = launch.process()
    process.take()
    process.say(Asked(5, ConfirmStart()))
    wait_for(lambda: launch.listener.asked == 1, 10)
    task.kill()
    assert process.take() == CLOSED
    assert task.await_stopped(5)
    launch.wait_for(("attempt", 0), "stopped")
    never.set()


def test_killing_kills_the_process_and_waits_for_its_end(launch: Any) -> None:
    task = launch.start()
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        process = launch.process(sleeping.pid, this_machine())
        assert isinstance(process.take(), Start)
        task.kill()
        assert sleeping.wait(10) == -signal.SIGKILL
        assert not task.await_stopped(0.05), "its channel is still open"
        process.end()
        assert task.await_stopped(10)


def test_a_process_that_takes_no_commands_is_killed_all_the_same(launch: Any) -> None:
    """A stop may block in the channel of a process that hangs; the kill that follows must not wait for it."""
    task = launch.start()
    launch.listener.offsets = lambda partitions: [{"large": "x" * 10_000_000}]
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        process = launch.process(sleeping.pid, this_machine())
        assert isinstance(process.take(), Start)
        process.say(Asked(1, ReadOffsets([{}])))
        process.await_message()  # which it does not take
        stopping = threading.Thread(target=task.stop, daemon=True)
        stopping.start()
        wait_for(lambda: task._state.stopping, 10, "the stop")
        task.kill()
        assert sleeping.wait(10) == -signal.SIGKILL
        process.end()
        assert task.await_stopped(10)
        stopping.join(10)


def test_a_process_whose_child_holds_its_channel(launch: Any, impatient: None) -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    task = launch.start()
    process = launch.process(ended.pid, this_machine())
    process.take()
    launch.engine.end_job("executor lost")
    launch.wait_for(
        ("attempt", 0), ("restarting", f"its process {ended.pid} was lost"), ("restarting", "executor lost")
    )
    assert process.take() == CLOSED
    assert not task.await_stopped(0)


def test_a_second_attempt_while_the_first_lives(launch: Any) -> None:
    launch.start()
    first = launch.process(1)
    first.take()
    first.say(Running())
    launch.wait_for(("attempt", 0), "running")
    second = launch.process(2)
    assert isinstance(second.take(), Start)
    assert first.take() == CLOSED
    launch.wait_for(("attempt", 0), "running", ("restarting", "its process 1 was lost"), ("attempt", 1))
    assert launch.listener.asked == 1
    second.say(Running())
    wait_for(lambda: launch.listener.events[-1] == "running", 10)


def test_attempts_that_attach_together_follow_each_other(launch: Any) -> None:
    launch.start()
    processes = [launch.process(n) for n in range(4)]
    wait_for(lambda: [e for e in launch.listener.events if e[0] == "attempt"] == [("attempt", n) for n in range(4)], 10)
    # Those that are replaced at once may end before their task arrives.
    taken = [[process.take(), process.take(0.1)] for process in processes]
    assert sum(ends[-1] == CLOSED for ends in taken) == 3
    [(start, nothing)] = [ends for ends in taken if ends[-1] != CLOSED]
    assert isinstance(start, Start) and nothing is None


@pytest.mark.parametrize("refused", [0, 1])
def test_a_task_that_was_taken_away(launch: Any, refused: int) -> None:
    """An attempt that follows another one does not even get its task."""
    launch.listener.may_start = lambda: launch.listener.asked <= refused
    task = launch.start()
    process = launch.process()
    process.take()
    process.say(Asked(5, ConfirmStart()))
    assert process.take() == Answered(5, refused != 0)
    if refused == 0:
        process.end(ABANDONED)
    else:
        process.end()
        again = launch.process()
        assert again.take() is Command.STOP
    launch.engine.end_job()
    assert task.await_stopped(10)
    assert launch.listener.events[-1] == "stopped"
    assert not [e for e in launch.listener.events if e[0] == "failed"]
    assert launch.engine.jobs == 1


@pytest.mark.parametrize("error", [RetriableError("config topic is away"), KeyError("a defect")])
def test_not_knowing_is_no_permission(launch: Any, impatient: None, error: Exception) -> None:
    def unknown() -> bool:
        raise error

    launch.listener.may_start = unknown
    launch.start()
    process = launch.process()
    process.take()
    process.say(Asked(5, ConfirmStart()))
    assert process.take() == Answered(5, refusal=Refusal(str(error)))
    process.end(Ended(Outcome.TAINTED, "the worker could not find out"))
    launch.engine.end_job()
    launch.engine.await_job(2)
    follower = launch.process()
    assert follower.take() is Command.STOP
    launch.engine.end_job()
    launch.wait_for(("attempt", 0), ("restarting", "the worker could not find out"), ("restarting", str(error)))
    launch.listener.may_start = lambda: True
    launch.engine.await_job(3)
    assert isinstance(launch.process().take(), Start)


@pytest.mark.parametrize("refused", [0, 1])
def test_a_task_that_can_never_start_as_it_is_configured(launch: Any, refused: int) -> None:
    """An attempt that follows another one makes no producer that would fence in vain."""

    def unusable() -> bool:
        if launch.listener.asked == 1:
            raise ConfigError("no ACL for the offsets topic")
        return True

    launch.listener.may_start = unusable
    task = launch.start()
    process = launch.process()
    process.take()
    if refused:
        process.end()
        assert launch.process().take() is Command.STOP
    else:
        process.say(Asked(5, ConfirmStart()))
        assert process.take() == Answered(5, refusal=Refusal("no ACL for the offsets topic", for_good=True))
        process.end(Ended(Outcome.FAILED, "no ACL for the offsets topic"))
    launch.engine.end_job()
    assert task.await_stopped(10)
    assert launch.listener.events[-2:] == [("failed", "no ACL for the offsets topic"), "stopped"]


def test_offsets_that_can_never_be_read(launch: Any) -> None:
    def unreadable(partitions: Any) -> Any:
        raise ConfigError("no ACL for the offsets topic")

    launch.listener.offsets = unreadable
    launch.start()
    process = launch.process()
    process.take()
    process.say(Asked(6, ReadOffsets([{}])))
    assert process.take() == Answered(6, refusal=Refusal("no ACL for the offsets topic", for_good=True))


@pytest.mark.parametrize("error", [RetriableError("away"), KeyError("a defect")])
def test_offsets_that_cannot_be_read(launch: Any, error: Exception) -> None:
    def unreadable(partitions: Any) -> Any:
        raise error

    launch.listener.offsets = unreadable
    launch.start()
    process = launch.process()
    process.take()
    process.say(Asked(6, ReadOffsets([{}])))
    assert process.take() == Answered(6, refusal=Refusal(str(error)))


@pytest.mark.parametrize("error", [None, RetriableError("the disk is full"), KeyError("a defect")])
def test_offsets_are_written_for_the_task(launch: Any, error: Exception | None) -> None:
    written: list[Any] = []

    def write(records: Any) -> None:
        written.append(records)
        if error is not None:
            raise error

    launch.listener.write = write
    launch.start()
    process = launch.process()
    process.take()
    process.say(Asked(6, WriteOffsets({b"k": b"v"})))
    assert process.take() == Answered(6, refusal=None if error is None else Refusal(str(error)))
    assert written == [{b"k": b"v"}]


def test_a_failure_is_final(launch: Any) -> None:
    task = launch.start()
    process = launch.process()
    process.take()
    process.say(Running())
    process.end(FAILED)
    launch.engine.end_job()
    assert task.await_stopped(10)
    expected = [("attempt", 0), "running", ("failed", "the trace"), "stopped"]
    launch.wait_for(*expected)
    # A process that Spark had started for a lost executor, say.
    assert launch.process().take() is Command.STOP
    task.pause()
    task.stop()
    task.kill()
    assert launch.listener.events == expected


def test_a_failure_is_not_forgotten_when_spark_tries_again(launch: Any) -> None:
    launch.start()
    process = launch.process()
    process.take()
    process.end(FAILED)
    wait_for(lambda: launch.task._state.attempt is None, 10)
    assert launch.process().take() is Command.STOP
    launch.engine.end_job()
    launch.wait_for(("attempt", 0), ("failed", "the trace"), "stopped")


def test_a_failure_while_stopping_is_no_failure(launch: Any) -> None:
    task = launch.start()
    process = launch.process()
    process.take()
    task.stop()
    process.end(FAILED)
    launch.engine.end_job()
    launch.wait_for(("attempt", 0), "stopped")


@pytest.mark.parametrize("ended", [TAINTED, Ended(Outcome.FENCED, "fenced"), None])
def test_a_new_job_follows_what_is_uncertain(launch: Any, impatient: None, ended: Ended | None) -> None:
    launch.start()
    process = launch.process(7)
    process.take()
    process.end(ended)
    launch.engine.end_job("maxFailures")
    launch.engine.await_job(2)
    expected = (
        [("attempt", 0), ("restarting", ended.reason)]
        if ended
        else [
            ("attempt", 0),
            ("restarting", "its process 7 was lost"),
            ("restarting", "maxFailures"),
        ]
    )
    launch.wait_for(*expected)
    assert launch.listener.outcomes == ([ended.outcome] if ended else [None, Outcome.TAINTED])
    assert isinstance(launch.process().take(), Start)


def test_processes_get_the_workers_levels_and_their_changes(launch: Any) -> None:
    task = launch.start()
    process = launch.process()
    start = process.take()
    assert start.log_levels["root"] == logging.getLogger().level
    levels = Loggers()
    levels.set_level("a.plugin.at.work", "TRACE")
    task.send_log_levels()
    assert process.take() == LogLevels(levels.set_levels())


def test_a_job_that_ends_before_its_process(launch: Any, impatient: None) -> None:
    """An executor is given up, a JVM dies: the process is ended first, then another job follows."""
    launch.start()
    process = launch.process()
    process.take()
    launch.engine.end_job("executor lost")
    assert process.take() == CLOSED
    launch.engine.await_job(2)
    assert launch.listener.events[-1] == ("restarting", "executor lost")


def test_a_process_that_attaches_between_two_jobs_is_sent_away(launch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launched_task, "_BACKOFF", ExponentialBackoff(20.0, 30.0))
    launch.start()
    launch.engine.end_job("executor lost")
    launch.wait_for(("restarting", "executor lost"))
    assert launch.process().take() is Command.STOP


def test_a_process_that_always_dies_is_started_ever_more_seldom(launch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launched_task, "_BACKOFF", ExponentialBackoff(20.0, 30.0))
    task = launch.start()
    for _ in range(2):  # The first loss costs no time.
        process = launch.process()
        assert isinstance(process.take(), Start)
        process.end()
        wait_for(lambda: launch.task._state.attempt is None, 10)
    waiting = launch.process()
    assert waiting.take(0.1) is None
    task.stop()
    assert waiting.take() is Command.STOP


@pytest.mark.parametrize(
    "event", [OffsetsCommitted([({}, {})]), Metrics({"offset-commit-completion-total": 1.0})], ids=["source", "sink"]
)
def test_a_commit_ends_the_backing_off(launch: Any, monkeypatch: pytest.MonkeyPatch, event: object) -> None:
    monkeypatch.setattr(launched_task, "_BACKOFF", ExponentialBackoff(20.0, 30.0))
    launch.start()
    for _ in range(3):
        process = launch.process()
        assert isinstance(process.take(), Start)
        process.say(event)
        process.end()
        wait_for(lambda: launch.task._state.attempt is None, 10)


def test_a_listener_that_fails_does_not_end_the_channel(launch: Any) -> None:
    launch.listener.refused = Running
    launch.start()
    process = launch.process()
    process.take()
    process.say(Running(), "what is this?", Paused())
    launch.wait_for(("attempt", 0), "paused")


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_reports(launch: Any, impatient: None, seed: int) -> None:
    """Whatever happens when: nothing but ``stopped`` after ``failed``, nothing after ``stopped``, which comes once."""
    chance = random.Random(seed)
    task = launch.start()

    def attempts() -> None:
        for pid in range(6):
            process = launch.process(pid)
            if isinstance(process.take(chance.random() / 20), Start):
                process.say(Running(), Paused(), Running())
            process.end(chance.choice([None, None, TAINTED, FAILED]))

    def control() -> None:
        for _ in range(6):
            chance.choice([task.pause, task.resume, launch.engine.end_job, lambda: launch.engine.end_job("lost")])()
            threading.Event().wait(chance.random() / 50)
        chance.choice([task.stop, task.kill])()

    threads = [threading.Thread(target=f) for f in (attempts, attempts, control)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    def ended() -> bool:
        launch.engine.end_job()  # again and again: the last job that was ordered may not have begun
        return bool(task.await_stopped(0.01))

    wait_for(ended, 10, "the end of the task")
    events = launch.listener.events
    assert events.count("stopped") == 1
    assert events[-1] == "stopped"
    failed = [place for place, event in enumerate(events) if event[0] == "failed"]
    assert failed in ([], [len(events) - 2])
    assert [e[1] for e in events if e[0] == "attempt"] == sorted({e[1] for e in events if e[0] == "attempt"})


def test_a_task_whose_frame_jobs_end_the_engine_fails_and_does_not_run_again(launch: Any) -> None:
    breaker = FrameBreaker(BreakerLimits(deaths=1))
    launch.task = LaunchedTask("key", SPEC, launch.listener, launch.engine, limits=FrameLimits("c", breaker))
    launch.task.start(launch._gone)
    launch.engine.await_job()
    process = launch.process()
    process.take()
    breaker.engine_died("c", "jvm")
    process.end()
    launch.engine.end_job("the JVM of Spark died")
    assert launch.task.await_stopped(10)
    assert [event[0] for event in launch.listener.events] == ["attempt", "restarting", "restarting", "failed", "s"]
    assert "frame jobs of connector c" in launch.listener.events[-2][1]
    assert launch.engine.jobs == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_task_whose_thread_dies_is_failed(launch: Any, monkeypatch: pytest.MonkeyPatch, impatient: None) -> None:
    class Poison(BaseException):
        pass

    def run(*args: object) -> None:
        launch.engine.jobs += 1
        launch.process().take()
        raise Poison("of the engine")

    monkeypatch.setattr(launch.engine, "run_task_job", run)
    launch.task.start(launch._gone)
    assert launch.task.await_stopped(10)
    assert [event[0] for event in launch.listener.events] == ["attempt", "restarting", "failed", "s"]
    assert "died of Poison: of the engine" in launch.listener.events[-2][1]
    assert (launch.gone, launch.engine.jobs) == (1, 1)


@pytest.mark.parametrize(
    "task_class, said, death",
    [
        ("m:C", [], ""),
        ("m:C", [ExitCalled(None)], ", as Java code called System.exit"),
        ("java:a.Source", [], LOST),
    ],
)
def test_the_restart_says_what_a_process_has_said(launch: Any, task_class: str, said: list[Any], death: str) -> None:
    """One that is lost, and followed by the next attempt, as all are that have reported no outcome."""
    launch.start(replace(launch.task._spec, task_class=task_class))
    process = launch.process(pid=7)
    process.take()
    process.say(*said)
    process.end()
    second = launch.process(pid=8)
    assert isinstance(second.take(), Start)
    launch.wait_for(("attempt", 0), ("restarting", f"its process 7 was lost{death}"), ("attempt", 1))


def test_a_task_fails_whose_process_a_plugin_has_ended(launch: Any) -> None:
    task = launch.start()
    process = launch.process(pid=7)
    process.take()
    process.say(ExitCalled("A.b (A.java:7)"))
    process.end()
    assert task.await_stopped(10)
    assert launch.engine.cancelled == 1
    assert launch.process(pid=8).take() is Command.STOP
    reason = "its process 7 was lost, as A.b (A.java:7) called System.exit"
    launch.wait_for(("attempt", 0), ("failed", reason), "stopped")
    assert launch.engine.jobs == 1
