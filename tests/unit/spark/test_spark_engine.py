# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.api.errors import ConfigError
from headrace.spark import spark_engine
from headrace.spark.endpoint import Endpoint
from headrace.spark.spark_engine import SparkEngine
from headrace.spark.spark_settings import settings
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


def test_a_cluster_that_lets_one_wait_for_long_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    never, told = threading.Event(), list[str]()
    monkeypatch.setattr(spark_engine, "_SLOW", 0.3)
    monkeypatch.setattr(spark_engine, "SparkProcess", lambda *_: SimpleNamespace(kill=never.set))
    monkeypatch.setattr(spark_engine, "SparkJvm", lambda *_: never.wait(20) and 1 / 0)
    engine = SparkEngine(settings({"spark.master": "yarn"}, tmp_path), tmp_path, Endpoint("", b""))
    engine.start()
    engine.run("c-0-0", "c-0", lambda: bool(told), told.append)
    assert told[0].startswith("it has not come up with spark.master=yarn for ")
    engine.stop()
    assert never.is_set()


class Session:
    """As a SparkJvm whose master may have forgotten it."""

    def __init__(self, forgotten: bool) -> None:
        self._forgotten = forgotten
        self.ended: list[str] = []

    def forgotten(self) -> bool:
        return self._forgotten

    def kill(self) -> None:
        self.ended.append("killed")

    def stop(self) -> None:
        self.ended.append("stopped")


@pytest.mark.parametrize(
    ("forgotten", "there", "ended"), [(True, True, ["killed", "stopped"]), (True, False, []), (False, True, [])]
)
def test_only_a_master_that_is_there_and_does_not_know_us_is_begun_anew_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: bool, there: bool, ended: list[str]
) -> None:
    session = Session(forgotten)
    monkeypatch.setattr(spark_engine, "SparkProcess", lambda *_: SimpleNamespace(kill=lambda: None))
    monkeypatch.setattr(spark_engine, "SparkJvm", lambda *_: session)
    engine = SparkEngine(settings({"spark.master": "yarn"}, tmp_path), tmp_path, Endpoint("", b""))
    engine.start()
    wait_for(engine.current, 5, "the session")
    monkeypatch.setattr(spark_engine, "unreachable", lambda master: None if there else "nobody answers")
    engine.renew_if_forgotten()
    assert session.ended[:2] == ended
    monkeypatch.setattr(spark_engine, "unreachable", lambda master: None)
    engine.stop()
