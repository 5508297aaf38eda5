# SPDX-License-Identifier: Apache-2.0
"""What becomes of a checking job, over a Spark that is only spoken to."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.api.errors import ConfigError, DataError, RetriableError
from headrace.api.frames import FrameJob
from headrace.spark.frames import connector_jobs
from headrace.spark.frames.connector_jobs import analyse

_hang = threading.Event()
_raise: list[Exception] = []


def check(session: Any, frame: Any, settings: Any) -> None:
    """The function of the jobs here."""
    if "hang" in settings:
        _hang.wait(30)
    if _raise:
        raise _raise.pop()


class Engine:
    def __init__(self, *, up: bool = True) -> None:
        self.cancelled: list[str] = []
        context = SimpleNamespace(setJobGroup=lambda group, *_, **__: self.groups.append(group))
        session = SimpleNamespace(sparkContext=context, createDataFrame=lambda rows, columns: None)
        self.groups: list[str] = []
        self._jvm = SimpleNamespace(frame_session=lambda: session) if up else None

    def own(self) -> Any:
        return self._jvm

    def cancel(self, group: str) -> None:
        self.cancelled.append(group)


def reported(engine: Engine, **settings: str) -> ConfigError | None:
    return analyse(engine, FrameJob(f"{__name__}:check", settings))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector_jobs, "load_function", lambda name: check)


def test_neither_a_good_query_nor_a_passing_error_is_reported() -> None:
    assert reported(Engine()) is None
    _raise.append(RetriableError("away"))
    assert reported(Engine()) is None
    assert not _raise


def test_an_error_keeps_its_property() -> None:
    _raise.append(error := ConfigError.invalid("table", "t", "is not there"))
    assert reported(Engine()) is error
    _raise.append(DataError("not so"))
    found = reported(Engine())
    assert (str(found), found and found.name) == ("not so", None)


def test_while_spark_starts_nothing_is_asked() -> None:
    _raise.append(ConfigError("never raised"))
    assert reported(Engine(up=False)) is None
    assert _raise.pop()


def test_what_takes_long_is_cancelled_and_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector_jobs, "_TIMEOUT_S", 0.05)
    engine = Engine()
    try:
        assert reported(engine, hang="yes") is None
    finally:
        _hang.set()
    assert engine.cancelled == engine.groups != []
