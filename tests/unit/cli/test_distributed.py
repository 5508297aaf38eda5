# SPDX-License-Identifier: Apache-2.0
"""The life of a worker's process, with real signals and a herder in memory."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.api.errors import ConnectError
from headrace.cli import distributed
from headrace.cli.distributed import WorkerProcess
from headrace.config.distributed_config import DistributedConfig
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

    def start(self) -> None:
        self.calls.append("start")

    def stop(self, timeout: float) -> None:
        assert 0 < timeout <= 15
        self.calls.append("stop")

    def failure(self) -> BaseException | None:
        return self.died

    def stage(self) -> str:
        return "waiting for Kafka to answer"

    def server_info(self) -> ServerInfo:
        return ServerInfo("0", "0", self.cluster_id)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parts]:
    monkeypatch.setattr(distributed, "_LOOK_SECONDS", 0.01)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield Parts()
    for number, handler in handlers.items():
        signal.signal(number, handler)


def process(parts: Any) -> WorkerProcess:
    return WorkerProcess(parts, parts, "http://localhost:8083", CONFIG)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_in_order(parts: Parts, number: int, capsys: pytest.CaptureFixture[str]) -> None:
    timer = threading.Timer(0.1, os.kill, (os.getpid(), number))
    timer.start()
    assert process(parts).run() == 0
    timer.join()
    assert parts.calls == ["start", "start", "stop", "stop"]
    assert capsys.readouterr().out == "headrace worker ready: http://localhost:8083\n"


def test_a_herder_that_dies_ends_the_process_with_its_reason(parts: Parts) -> None:
    parts.died = ConnectError("the config topic is gone")
    with pytest.raises(ConnectError, match=r"^the config topic is gone$"):
        process(parts).run()
    assert parts.calls[-2:] == ["stop", "stop"]


def test_a_defect_of_the_herder_is_told_as_one(parts: Parts) -> None:
    parts.died = KeyError("x")
    with pytest.raises(ConnectError, match=r"^The worker has failed: KeyError\('x'\)$"):
        process(parts).run()


def test_brokers_that_stay_away_end_the_start(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(distributed, "_KAFKA_SECONDS", 0.05)
    parts.cluster_id = None
    with pytest.raises(ConnectError, match=r"bootstrap\.servers=nowhere:9092 .* waiting for Kafka to answer"):
        process(parts).run()
    assert parts.calls[-2:] == ["stop", "stop"]
    assert capsys.readouterr().out == ""


def test_a_second_signal_ends_it_at_once(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    worker = process(parts)
    worker._on_signal(signal.SIGINT, None)
    assert ended == []
    worker._on_signal(signal.SIGINT, None)
    assert ended == [130]
