# SPDX-License-Identifier: Apache-2.0
"""Spark for previews as their processes see it, over real sockets. An engine of the test's plays Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import ConfigError, RetriableError
from headrace.api.frames import FrameJob
from headrace.inspection.preview.previews import FramesOffer
from headrace.spark.channel.messages import FrameFault, FrameJobEnded, RunFrameJob
from headrace.spark.engine.spark_settings import settings
from headrace.spark.frames import preview_jobs
from headrace.spark.frames.preview_engine import PreviewEngine, preview_settings
from headrace.spark.frames.preview_jobs import LATE, NOT_STARTED
from headrace.spark.process.preview_frames import CONNECT, connect
from headrace.spark.process.process_frames import ProcessFrames
from tests.support.polling import wait_for

JOB = FrameJob("module:function", {})


class PlayedJvm:
    """A JVM whose jobs end as ``job`` does."""

    def __init__(self, job: Callable[[], FrameJobEnded | None]) -> None:
        self.job = job
        self.killed = False
        self.begun = threading.Event()
        self.closed: list[str] = []

    def alive(self) -> bool:
        return not self.killed

    def run_frame_job(self, key: str, group: str, description: str, request: RunFrameJob) -> FrameJobEnded:
        self.begun.set()
        return self.job() or FrameJobEnded(request.number)

    def close_frame_session(self, key: str) -> None:
        self.closed.append(key)

    def kill(self) -> None:
        self.killed = True


class PlayedEngine:
    """A ``SparkEngine`` that is up as soon as it has a JVM."""

    def __init__(self, directory: Path, jvm: PlayedJvm | None) -> None:
        self.directory = directory
        self.jvm = jvm
        self.cancelled = threading.Event()
        self.stopped = False
        self.failure: str | None = None

    def start(self) -> None: ...

    def stop(self) -> None:
        self.stopped = True

    def current(self) -> PlayedJvm | None:
        return self.jvm

    def await_jvm(self, given_up: Callable[[], bool]) -> PlayedJvm | None:
        while self.jvm is None and not given_up():
            time.sleep(0.01)
        return self.jvm

    def unscheduled(self, group: str) -> bool:
        return False

    def cancel(self, group: str) -> None:
        self.cancelled.set()

    def describe_error(self, text: str) -> str:
        return text


class Spark:
    """The previews' Spark of a worker, with the engines that it has made."""

    def __init__(self, directory: Path, jvm: PlayedJvm | None, idle_s: float = 60) -> None:
        self.made: list[PlayedEngine] = []
        self.jvm = jvm
        self.engine = PreviewEngine(directory, self._new, idle_s)

    def _new(self, directory: Path) -> Any:
        self.made.append(PlayedEngine(directory, self.jvm))
        return self.made[-1]


@pytest.fixture
def hanging() -> Iterator[PlayedJvm]:
    over = threading.Event()
    jvm = PlayedJvm(lambda: over.wait(60) and None)  # type: ignore[func-returns-value]
    yield jvm
    over.set()


def connected(offer: FramesOffer | None) -> ProcessFrames:
    assert offer is not None and offer.function == CONNECT
    return connect(offer.settings)


def soon(seconds: float) -> float:
    return time.monotonic() + seconds


def test_settings_are_the_workers_but_for_the_place() -> None:
    given = {"spark.master": "spark://cluster:7077", "spark.driver.host": "here", "spark.task.cpus": "8"}
    conf = settings(preview_settings({**given, "spark.jars.packages": "a:b:1", "spark.app.name": "w"}), Path("/d"))
    assert (conf["spark.master"], conf["spark.driver.host"]) == ("local[4]", "127.0.0.1")
    assert (conf["spark.app.name"], conf["spark.ui.enabled"]) == ("w: previews", "false")
    assert conf["spark.jars.packages"] == "a:b:1" and "spark.task.cpus" not in conf
    assert conf["spark.local.dir"] == "/d/local"


def test_one_engine_for_all_until_none_needs_it(socket_directory: Path) -> None:
    spark = Spark(socket_directory, PlayedJvm(lambda: None), idle_s=0.2)
    with spark.engine.offered(soon(60)):
        assert not spark.made
    with spark.engine.offered(soon(60)) as first, spark.engine.offered(soon(60)) as second:
        assert connected(first).run(JOB).num_rows == 0
        assert connected(second).run(JOB).num_rows == 0
        (engine,) = spark.made
        assert engine.directory.is_dir()
        time.sleep(0.4)  # longer than it may idle
        assert not engine.stopped
    wait_for(lambda: engine.stopped and not engine.directory.exists(), 10, "the end of an engine without previews")
    assert spark.jvm is not None and len(spark.jvm.closed) == 2 and not spark.jvm.killed
    with spark.engine.offered(soon(60)) as third:
        connected(third).run(JOB)
    assert len(spark.made) == 2
    spark.engine.stop()
    assert spark.made[1].stopped and not list(socket_directory.iterdir())


def test_without_a_place_for_its_socket_a_preview_has_no_spark(socket_directory: Path) -> None:
    with Spark(socket_directory / "absent", None).engine.offered(soon(60)) as offer:
        assert offer is None


def test_errors_of_jobs(socket_directory: Path) -> None:
    failing = FrameJobEnded(0, fault=FrameFault.CONFIG, error="no column x")
    spark = Spark(socket_directory, PlayedJvm(lambda: failing))
    with spark.engine.offered(soon(60)) as offer, pytest.raises(ConfigError, match="no column x"):
        connected(offer).run(JOB)
    spark.engine.stop()


def test_a_start_that_takes_longer_than_the_preview(socket_directory: Path) -> None:
    spark = Spark(socket_directory, None)
    with spark.engine.offered(soon(0.5)) as offer:
        frames = connected(offer)
        for _ in range(2):  # while there is time, and later
            with pytest.raises(RetriableError, match=NOT_STARTED):
                frames.run(JOB)
        assert offer is not None and offer.missing() == NOT_STARTED
        spark.made[0].failure = "there is no Java"
        with pytest.raises(RetriableError, match="there is no Java"):
            frames.run(JOB)
    assert not spark.made[0].stopped
    spark.engine.stop()


def test_a_job_that_ends_when_it_is_cancelled(socket_directory: Path) -> None:
    def job() -> None:
        assert spark.made[0].cancelled.wait(30)

    spark = Spark(socket_directory, PlayedJvm(job))
    with spark.engine.offered(soon(0.5)) as offer, pytest.raises(RetriableError, match=LATE):
        connected(offer).run(JOB)
    assert offer is not None and offer.missing() is None
    assert spark.jvm is not None
    wait_for(lambda: spark.jvm is not None and spark.jvm.closed, 10, "the end of the job")
    assert not spark.jvm.killed
    spark.engine.stop()


def test_a_job_that_nothing_ends(socket_directory: Path, hanging: PlayedJvm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview_jobs, "_CANCEL_S", 0.3)
    spark = Spark(socket_directory, hanging)
    with spark.engine.offered(soon(0.5)) as offer, pytest.raises(RetriableError, match=LATE):
        connected(offer).run(JOB)
    (engine,) = spark.made
    wait_for(lambda: hanging.killed and engine.stopped and engine.cancelled.is_set(), 10, "the end of the JVM")
    spark.jvm = PlayedJvm(lambda: None)
    with spark.engine.offered(soon(60)) as offer:
        connected(offer).run(JOB)
    assert len(spark.made) == 2
    spark.engine.stop()


def test_a_process_that_is_killed_leaves_no_job(
    socket_directory: Path, hanging: PlayedJvm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_jobs, "_CANCEL_S", 0.3)
    spark = Spark(socket_directory, hanging)
    with spark.engine.offered(soon(60)) as offer:
        frames = connected(offer)
        threading.Thread(target=lambda: run_without_a_caller(frames), daemon=True).start()
        assert hanging.begun.wait(30)
    wait_for(lambda: hanging.killed, 10, "the end of the JVM")


def test_a_worker_that_stops_starts_no_spark(socket_directory: Path) -> None:
    spark = Spark(socket_directory, PlayedJvm(lambda: None))
    spark.engine.stop()
    with spark.engine.offered(soon(60)) as offer, pytest.raises(RetriableError, match="the worker stops"):
        connected(offer).run(JOB)
    assert not spark.made


def run_without_a_caller(frames: Any) -> None:
    with suppress(RetriableError):
        frames.run(JOB)
