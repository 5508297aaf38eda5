# SPDX-License-Identifier: Apache-2.0
"""The life of a worker's process, with real signals and a herder in memory."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import ConnectError
from headrace.cli import worker_process
from headrace.cli.stop_signals import StopSignals, run_until_stopped
from headrace.cli.worker_process import WorkerProcess, check_temporary_directory
from headrace.config.distributed_config import DistributedConfig
from headrace.model.futures import failed_future
from headrace.model.info import ServerInfo

CONFIG = DistributedConfig(
    {
        "bootstrap.servers": "nowhere:9092",
        "group.id": "g",
        "key.converter": "StringConverter",
        "value.converter": "StringConverter",
        "config.storage.topic": "c",
        "offset.storage.topic": "o",
        "status.storage.topic": "s",
    }
)


class Parts:
    """Herder and server in one, as far as the process knows them; keeps what was called."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.cluster_id: str | None = "cluster"
        self.died: BaseException | None = None
        self.server_died = False

    def start(self) -> None:
        self.calls.append("start")

    def stop(self, timeout: float) -> None:
        assert 0 < timeout <= 15
        self.calls.append("stop")

    def failure(self) -> BaseException | None:
        return self.died

    def has_died(self) -> bool:
        return self.server_died

    def stage(self) -> str:
        return "waiting for Kafka to answer"

    def has_started(self) -> bool:
        return True

    def server_info(self) -> ServerInfo:
        return ServerInfo("0", "0", self.cluster_id, "0")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    monkeypatch.setattr(worker_process, "_POLL_SECONDS", 0.01)
    return Parts()


@pytest.fixture
def signals() -> StopSignals:
    made = StopSignals()
    made.install()
    return made


def process(parts: Any, begin: Any = None) -> WorkerProcess:
    return WorkerProcess(parts, parts, "http://localhost:8083", CONFIG, begin)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_in_order(
    parts: Parts, signals: StopSignals, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    timer = threading.Timer(0.1, os.kill, (os.getpid(), number))
    timer.start()
    assert process(parts).run(signals) == 0
    timer.join()
    assert parts.calls == ["start", "start", "stop", "stop"]
    assert capsys.readouterr().out == "headrace worker ready: http://localhost:8083\n"


def test_a_herder_that_dies_ends_the_process_with_its_reason(parts: Parts, signals: StopSignals) -> None:
    parts.died = ConnectError("the config topic is gone")
    with pytest.raises(ConnectError, match=r"^the config topic is gone$"):
        process(parts).run(signals)
    assert parts.calls[-2:] == ["stop", "stop"]


def test_a_defect_of_the_herder_is_reported_as_one(parts: Parts, signals: StopSignals) -> None:
    parts.died = KeyError("x")
    with pytest.raises(ConnectError, match=r"^The worker has failed: KeyError\('x'\)$"):
        process(parts).run(signals)


def test_a_rest_server_that_dies_ends_the_process(parts: Parts, signals: StopSignals) -> None:
    parts.server_died = True
    hook = threading.excepthook
    with pytest.raises(ConnectError, match="The thread of the REST server has died"):
        process(parts).run(signals)
    assert threading.excepthook is hook


def test_brokers_that_stay_away_end_the_start(
    parts: Parts, signals: StopSignals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(worker_process, "_KAFKA_SECONDS", 0.05)
    parts.cluster_id = None
    with pytest.raises(ConnectError, match=r"bootstrap\.servers=nowhere:9092 .* waiting for Kafka to answer"):
        process(parts).run(signals)
    assert parts.calls[-2:] == ["stop", "stop"]
    assert capsys.readouterr().out == ""


def test_it_is_ready_when_what_has_to_begin_has_begun(
    parts: Parts, signals: StopSignals, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: Future[None] = Future()
    out: list[str] = []

    def end() -> None:
        out.append(capsys.readouterr().out)
        begun.set_result(None)

    timers = [threading.Timer(0.1, end), threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))]
    for timer in timers:
        timer.start()
    assert process(parts, lambda: begun).run(signals) == 0
    assert out == [""]
    assert "ready" in capsys.readouterr().out


def test_what_fails_to_begin_ends_the_process_in_order(parts: Parts, signals: StopSignals) -> None:
    with pytest.raises(ConnectError, match="no such class"):
        process(parts, lambda: failed_future(ConnectError("no such class"))).run(signals)
    assert parts.calls == ["start", "start", "stop", "stop"]


def test_a_signal_ends_what_takes_long_to_begin(
    parts: Parts, signals: StopSignals, capsys: pytest.CaptureFixture[str]
) -> None:
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    assert process(parts, Future).run(signals) == 0
    timer.join()
    assert capsys.readouterr().out == ""


def test_a_second_signal_ends_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    now = [0.0]
    signals = StopSignals(lambda: now[0])
    signals.await_orderly()
    assert not signals.wait(0)
    signals.on_signal(signal.SIGINT, None)
    assert signals.wait(0)
    now[0] = 0.9  # sent to the process and its group, one after the other
    signals.on_signal(signal.SIGTERM, None)
    assert ended == []
    now[0] = 1.0
    signals.on_signal(signal.SIGINT, None)
    assert ended == [130]


@pytest.mark.parametrize("caught", [False, True])
def test_a_signal_before_all_is_put_together_ends_it_in_order(signals: StopSignals, caught: bool) -> None:
    """Not even a plugin whose import catches everything makes it go on."""
    ended: list[str] = []

    def run(signals: StopSignals) -> int:
        try:
            with suppress(BaseException) if caught else nullcontext():
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(60)
            signals.await_orderly()
            return 1
        except BaseException:
            ended.append("stopped")
            raise

    assert run_until_stopped(run) == 0
    assert ended == ["stopped"]


def test_a_failure_after_a_signal_is_none_of_the_signals(signals: StopSignals) -> None:
    def run(signals: StopSignals) -> int:
        signals.await_orderly()
        os.kill(os.getpid(), signal.SIGTERM)
        raise ConnectError("could not be stopped")

    with pytest.raises(ConnectError, match="could not be stopped"):
        run_until_stopped(run)


def test_a_temporary_directory_that_is_not_used_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    check_temporary_directory()
    assert not caplog.messages
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    check_temporary_directory()
    (line,) = caplog.messages
    assert line == f"TMPDIR={tmp_path / 'absent'} cannot be written to: temporary files are in {tempfile.gettempdir()}"
