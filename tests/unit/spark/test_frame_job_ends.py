# SPDX-License-Identifier: Apache-2.0
"""A frame job that outlives the process that asked for it: no task goes on before it has ended."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.api.frames import FrameJob
from headrace.model.info import SparkAttempt
from headrace.spark.channel.messages import FrameFault, FrameJobEnded, RunFrameJob
from headrace.spark.engine.jvm import RunningJob
from headrace.spark.engine.slots import Cores
from headrace.spark.frames import frame_jobs
from headrace.spark.frames.frame_breaker import BreakerLimits, FrameBreaker
from headrace.spark.frames.frame_jobs import FrameJobs, FrameLimits


class SlowSpark:
    """An engine that is asked for its session, and answers when the test lets it."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.may_answer = threading.Event()
        self.cancelled: list[str] = []

    def current(self) -> None:
        self.asked.set()
        self.may_answer.wait(10)

    def unscheduled(self, group: str) -> bool:
        return False

    def describe_error(self, text: str) -> str:
        return text

    def cancel(self, group: str) -> None:
        self.cancelled.append(group)


def request() -> RunFrameJob:
    endpoint: Any = None
    return RunFrameJob(3, FrameJob("json:dumps", {}), endpoint, None)


def test_the_end_of_all_jobs_is_awaited() -> None:
    spark: Any = SlowSpark()
    jobs = FrameJobs("key", "c/0", spark, FrameLimits("c"))
    assert jobs.await_ended(0)
    ended: list[FrameJobEnded] = []
    thread = threading.Thread(target=lambda: ended.append(jobs.run_frame_job(request())))
    thread.start()
    assert spark.asked.wait(10)
    jobs.cancel_all()
    assert spark.cancelled == ["key-frame-3"]
    assert not jobs.await_ended(0.05)
    spark.may_answer.set()
    assert jobs.await_ended(10)
    thread.join(10)
    assert [each.fault for each in ended] == [FrameFault.RETRIABLE]


class FullSpark(SlowSpark):
    """All cores are held by tasks: a job that is there waits until it is cancelled."""

    master = "local[2,4]"
    cores_per_task = 1

    def unscheduled(self, group: str) -> bool:
        return self.asked.is_set()

    def cores(self) -> Cores:
        return Cores(1, 2, 2)

    def cancel(self, group: str) -> None:
        super().cancel(group)
        self.may_answer.set()


def test_a_job_for_which_there_is_no_core_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_jobs, "_NO_CORE_S", 0.05)
    monkeypatch.setattr(frame_jobs, "_RECHECK_DELAY_S", 0.01)
    spark: Any = FullSpark()
    ended = FrameJobs("key", "c/0", spark, FrameLimits("c")).run_frame_job(request())
    assert spark.cancelled == ["key-frame-3"]
    assert ended.fault is FrameFault.RETRIABLE
    assert "spark.master=local[2,4] gives this worker 2, 2 of them in use; a job on frames needs one" in ended.error
    assert "give spark.master=local[N] a larger N" in ended.error


def test_a_job_is_not_given_up_while_cores_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_jobs, "_NO_CORE_S", 0.01)
    monkeypatch.setattr(frame_jobs, "_RECHECK_DELAY_S", 0.01)
    spark: Any = FullSpark()
    looks = itertools.count()

    def cores() -> Cores:
        if next(looks) == 3:
            spark.may_answer.set()
        return Cores(1, 2, 1)

    spark.cores = cores
    ended = FrameJobs("key", "c/0", spark, FrameLimits("c")).run_frame_job(request())
    assert (spark.cancelled, ended.error) == ([], "Spark is not running")


def test_a_job_that_begins_late_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it ran when that was looked at, which may be between two of its stages."""
    monkeypatch.setattr(frame_jobs, "_NO_CORE_S", 0.02)
    monkeypatch.setattr(frame_jobs, "_RECHECK_DELAY_S", 0.01)
    spark: Any = SlowSpark()
    looks: list[bool] = []

    def unscheduled(group: str) -> bool:
        looks.append(len(looks) % 2 == 0)
        if len(looks) > 4:
            spark.may_answer.set()
        return looks[-1]

    spark.unscheduled = unscheduled
    spark.cores = lambda: None
    ended = FrameJobs("key", "c/0", spark, FrameLimits("c")).run_frame_job(request())
    assert spark.cancelled == []
    assert ended.error == "Spark is not running"


def test_a_successor_attaches_after_that(launch: Any) -> None:
    waited, over = threading.Event(), threading.Event()

    def await_ended(seconds: float) -> bool:
        waited.set()
        return over.wait(10)

    task = launch.start()
    task._frames = SimpleNamespace(cancel_all=lambda: None, await_ended=await_ended, close=lambda: None)
    first = launch.process(pid=7)
    first.take()
    first.end()
    assert waited.wait(10)
    second = launch.process(pid=8)
    assert second.take(0.1) is None
    over.set()
    assert second.take().spec == task._spec
    second.end()


def test_the_latest_attempt_in_spark_is_reported(launch: Any) -> None:
    task = launch.start()
    assert task.spark_attempt() is None
    launch.engine.running = lambda group: RunningJob("app", 5, "2", "host") if group == task.key else None
    process = launch.process(pid=42)
    process.take()
    assert task.spark_attempt() == SparkAttempt("app", 5, "2", 0, "host", 42)
    launch.engine.running = lambda group: None
    assert task.spark_attempt() == SparkAttempt(None, None, None, 0, None, 42)
    process.end()


class DeadJvm:
    """Ends under each job, or was killed on purpose."""

    def __init__(self, *, killed: bool = False) -> None:
        self.killed = killed

    def alive(self) -> bool:
        return False

    def run_frame_job(self, key: str, group: str, description: str, request: RunFrameJob) -> None:
        raise ConnectionResetError("py4j lost its JVM")


class DyingSpark(SlowSpark):
    """An engine with one such JVM after the other."""

    def __init__(self, *jvms: DeadJvm) -> None:
        super().__init__()
        self.jvms = list(jvms)

    def current(self) -> Any:
        return self.jvms[0]


def test_after_so_many_deaths_of_the_jvm_a_job_is_refused() -> None:
    spark: Any = DyingSpark(DeadJvm())
    jobs = FrameJobs("key", "c/0", spark, FrameLimits("c", FrameBreaker(BreakerLimits(deaths=2))))
    assert jobs.run_frame_job(request()).fault is FrameFault.RETRIABLE
    spark.jvms = [DeadJvm()]
    ended = jobs.run_frame_job(request())
    assert (ended.fault, "died 2 times" in ended.error) == (FrameFault.CONFIG, True)


def test_a_jvm_that_was_killed_on_purpose_does_not_count() -> None:
    spark: Any = DyingSpark(DeadJvm(killed=True))
    limits = FrameLimits("c", FrameBreaker(BreakerLimits(deaths=1)))
    assert FrameJobs("key", "c/0", spark, limits).run_frame_job(request()).fault is FrameFault.RETRIABLE


def test_a_job_that_takes_too_long_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    spark: Any = FullSpark()
    spark.unscheduled = lambda group: False
    ended = FrameJobs("key", "c/0", spark, FrameLimits("c", timeout=0.05)).run_frame_job(request())
    assert (ended.fault, spark.cancelled) == (FrameFault.RETRIABLE, ["key-frame-3"])
    assert "longer than frame.job.timeout.ms=50" in ended.error


def test_a_stream_lasts_as_long_as_it_is_taken() -> None:
    spark: Any = SlowSpark()
    threading.Timer(0.3, spark.may_answer.set).start()
    ended = FrameJobs("key", "c/0", spark, FrameLimits("c", timeout=0.05)).run_frame_job(
        replace(request(), streamed=True)
    )
    assert (spark.cancelled, ended.error) == ([], "Spark is not running")
