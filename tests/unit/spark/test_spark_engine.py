# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.api.errors import ConfigError
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.engine import spark_engine
from headrace.spark.engine.spark_engine import DEFAULT_START, JvmStart, SparkEngine
from headrace.spark.engine.spark_settings import settings
from tests.support.polling import wait_for


def test_spark_is_started_once_however_often_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts, tried = [], threading.Event()

    def no_java(*_: object) -> None:
        starts.append(threading.current_thread())
        tried.set()
        raise ConfigError("No Java 17 or 21 found")

    monkeypatch.setattr(spark_engine, "SparkProcess", no_java)
    engine = SparkEngine(settings({}, tmp_path), tmp_path, Endpoint("", b""))
    engine.start()
    engine.start()
    assert tried.wait(10)
    engine.stop()
    starts[0].join(10)
    assert len(starts) == 1


def test_a_cluster_that_lets_one_wait_for_long_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    never, reported = threading.Event(), list[str]()
    monkeypatch.setattr(spark_engine, "_SLOW_S", 0.3)
    monkeypatch.setattr(spark_engine, "SparkProcess", lambda *_: SimpleNamespace(kill=never.set))
    monkeypatch.setattr(spark_engine, "SparkJvm", lambda *_: never.wait(20) and 1 / 0)
    engine = SparkEngine(settings({"spark.master": "yarn"}, tmp_path), tmp_path, Endpoint("", b""))
    engine.start()
    engine.run_task_job("c-0-0", "c-0", lambda: bool(reported), reported.append)
    assert reported[0].startswith("Spark has not come up with spark.master=yarn for ")
    engine.stop()
    assert never.is_set()


class Session:
    """As a SparkJvm whose master may have forgotten it."""

    def __init__(self, forgotten: bool = False) -> None:
        self._forgotten = forgotten
        self.process_alive = True
        self.ended: list[str] = []

    def is_unknown_to_master(self) -> bool:
        return self._forgotten

    def kill(self) -> None:
        self.ended.append("killed")

    def stop(self) -> None:
        self.ended.append("stopped")


@pytest.mark.parametrize(
    ("forgotten", "there", "ended"), [(True, True, ["killed", "stopped"]), (True, False, []), (False, True, [])]
)
def test_spark_restarts_only_if_a_reachable_master_does_not_know_the_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: bool, there: bool, ended: list[str]
) -> None:
    session = Session(forgotten)
    monkeypatch.setattr(spark_engine, "SparkProcess", lambda *_: SimpleNamespace(kill=lambda: None))
    monkeypatch.setattr(spark_engine, "SparkJvm", lambda *_: session)
    engine = SparkEngine(settings({"spark.master": "yarn"}, tmp_path), tmp_path, Endpoint("", b""))
    engine.start()
    wait_for(engine.current, 5, "the session")
    monkeypatch.setattr(spark_engine, "unreachable", lambda master: None if there else "no answer")
    engine.restart_if_forgotten()
    assert session.ended[:2] == ended
    monkeypatch.setattr(spark_engine, "unreachable", lambda master: None)
    engine.stop()


def started(
    directory: Path, monkeypatch: pytest.MonkeyPatch, jvm: Callable[..., object], start: JvmStart = DEFAULT_START
) -> SparkEngine:
    """An engine over sessions that ``jvm`` makes of processes that say ``no luck`` last."""
    process = lambda *_: SimpleNamespace(kill=lambda: None, last_words=lambda: "no luck")  # noqa: E731
    monkeypatch.setattr(spark_engine, "SparkProcess", process)
    monkeypatch.setattr(spark_engine, "SparkJvm", jvm)
    monkeypatch.setattr(spark_engine, "_WATCH_INTERVAL_S", 0.02)
    engine = SparkEngine(settings({"spark.master": "yarn"}, directory), directory, Endpoint("", b""), jvm_start=start)
    engine.start()
    return engine


def test_a_start_that_fails_is_reported_and_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = iter([RuntimeError("no luck"), Session()])

    def jvm(*_: object) -> object:
        if isinstance(start := next(starts), Exception):
            raise start
        return start

    engine = started(tmp_path, monkeypatch, jvm)
    trouble = wait_for(engine.trouble, 5, "a failure that is reported")
    assert trouble.startswith("Spark could not be started with spark.master=yarn: no luck; it is started again ")
    wait_for(engine.current, 10, "the second start")
    assert engine.trouble() is None
    engine.stop()


def test_a_start_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = threading.Event()

    def jvm(process: SimpleNamespace, *_: object) -> object:
        process.kill = killed.set
        assert killed.wait(10)
        raise ConnectionError("the JVM is gone")

    engine = started(tmp_path, monkeypatch, jvm, JvmStart(timeout=0.05))
    trouble = wait_for(engine.trouble, 5, "a start that was ended")
    assert "it did not come up within engine.start.timeout.ms=50; its JVM last said: no luck" in trouble
    engine.stop()


def test_the_loss_of_a_jvm_without_jobs_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [Session(), Session()]
    given = iter(sessions)
    engine = started(tmp_path, monkeypatch, lambda *_: next(given))
    wait_for(engine.current, 5, "the session")
    sessions[0].process_alive = False
    wait_for(lambda: (engine.trouble() or "").startswith("the JVM of Spark died; "), 5, "the loss")
    wait_for(lambda: engine.current() is sessions[1], 5, "the next session")
    assert engine.trouble() is None
    engine.stop()
