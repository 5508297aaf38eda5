# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.spark import spark_engine
from headrace.spark.spark_engine import SparkEngine


def test_spark_is_started_once_however_often_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts, tried = [], threading.Event()

    def no_java(*_: object) -> None:
        starts.append(threading.current_thread())
        tried.set()
        raise ConfigError("No Java 17 or 21 found")

    monkeypatch.setattr(spark_engine, "SparkProcess", no_java)
    engine = SparkEngine({}, tmp_path, "", b"")
    engine.start()
    engine.start()
    assert tried.wait(10)
    engine.stop()
    starts[0].join(10)
    assert len(starts) == 1
