# SPDX-License-Identifier: Apache-2.0
"""Threads of workers that die: a worker that has lost one is not healthy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.api.errors import ConnectError
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.model.service_threads import THREAD_DEATHS
from tests.support.group_of_workers import Workers
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

KILLER = "thread_killer:ThreadKiller"


class Killed(BaseException):
    """What no thread catches."""


def kill(*args: object, **named: object) -> None:
    raise Killed("poison")


@pytest.fixture
def deaths() -> Iterator[None]:
    with THREAD_DEATHS.recording():
        yield
    THREAD_DEATHS.clear()


@pytest.fixture
def workers(broker: EmbeddedBroker, deaths: None) -> Iterator[Workers]:
    group = Workers(broker.bootstrap_servers)
    yield group
    group.close()


def test_threads_of_a_worker_in_this_process(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    node = workers.start()
    workers.put("c", 1)
    workers.wait_for_tasks("c", 1)
    assert node.http.get("/health").status_code == 200

    sender = node.herder._services.status_store._log._sender
    assert sender is not None and sender._thread is not None
    monkeypatch.setattr(
        sender, "_producer", type("Poisoned", (), {"produce": sender._producer.produce, "poll": kill})()
    )
    node.http.put("/connectors/c/pause")
    wait_for(lambda: sender._thread is not None and not sender._thread.is_alive(), 30, "the thread's death")
    answer = wait_for(lambda: (got := node.http.get("/health")).status_code == 503 and got, 30, "503")
    assert f"Thread log-{workers.group}-status-sender died of Killed: poison" in answer.json()["message"]
    monkeypatch.undo()


def test_a_membership_without_its_watcher(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """What watches for a lost session dies without a word from the client, and tasks would run on (invariant 10)."""
    node = workers.start()
    member = node.herder._services.member
    monkeypatch.setattr(member, "_allowed_silence", kill)
    assert isinstance(wait_for(node.herder.failure, 30, "the herder's failure"), Killed)
    assert node.http.get("/health").status_code == 500
    with pytest.raises(ConnectError, match="poison"):
        node.herder.health_check().result(10)


def test_threads_of_a_real_worker(broker: EmbeddedBroker, tmp_path: Path) -> None:
    properties = {"group.id": f"g-{os.getpid()}-threads"}
    with WorkerProcess(tmp_path, broker.bootstrap_servers, **properties) as worker:
        worker.await_answer(path="/health")
        worker.create("a", **{"connector.class": KILLER, "thread": "spark-slots"})
        answer = wait_for(
            lambda: (got := worker.rest.get("/health")).status_code == 503 and got, 60, worker_log(worker)
        )
        assert "Thread spark-slots died of Killed" in answer.json()["message"]
        wait_for(lambda: "Thread spark-slots died of Killed" in worker.log, 10, worker_log(worker))

        worker.create("b", **{"connector.class": KILLER, "thread": "kafka-io-connect"})
        wait_for(lambda: worker.launched.poll() is not None, 60, worker_log(worker))
        assert worker.launched.returncode != 0


def worker_log(worker: WorkerProcess) -> Callable[[], str]:
    return lambda: worker.log[-3000:]
