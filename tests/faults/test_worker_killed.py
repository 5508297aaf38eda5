# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of a worker, and of Spark's JVM below it; SIGTERM and SIGINT of a worker and all below it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.polling import wait_for
from tests.support.processes import alive
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 6000


def test_worker_killed_and_started_again(own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    own_worker.start()
    create_numbered(own_worker, unique, COUNT, **{"pause.ms": "50"})
    wait_for_values(broker.bootstrap_servers, unique, 200, 90)
    own_worker.kill()
    wait_for(lambda: not own_worker.leftovers(), 20, lambda: f"the end of {own_worker.leftovers()}")
    own_worker.start()
    _assert_all(own_worker, broker, unique)


def test_sparks_jvm_killed(own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    own_worker.start()
    create_numbered(own_worker, unique, COUNT, **{"pause.ms": "50"})
    wait_for_values(broker.bootstrap_servers, unique, 200, 90)
    own_worker.jvm().kill()
    _assert_all(own_worker, broker, unique)
    own_worker.wait_for_tasks(unique)


def test_stopped_in_order_leaves_nothing_behind(own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    own_worker.start()
    create_numbered(own_worker, unique, COUNT, **{"pause.ms": "50"})
    wait_for_values(broker.bootstrap_servers, unique, 200, 90)
    assert own_worker.stop() == 0, own_worker.log[-3000:]
    assert own_worker.leftovers() == []
    own_worker.start()
    _assert_all(own_worker, broker, unique)


@pytest.mark.parametrize(("number", "everywhere"), [(signal.SIGTERM, True), (signal.SIGINT, False)])
def test_stop_signals_for_the_workers_group_and_service(
    own_worker: WorkerProcess, broker: EmbeddedBroker, tmp_path: Path, unique: str, number: int, everywhere: bool
) -> None:
    """The group's as a terminal's Ctrl-C, and those to each single process as of systemd's control group."""
    own_worker.prefix = ("setsid",)
    own_worker.start()
    create_numbered(own_worker, unique, COUNT, **{"pause.ms": "50"})
    sink = {"connector.class": "FileStreamSink", "topics": unique, "file": str(tmp_path / "sunk")}
    own_worker.create(f"{unique}-sink", **sink, **{"spark.task.isolation": "connector"})
    own_worker.wait_for_tasks(f"{unique}-sink")
    wait_for_values(broker.bootstrap_servers, unique, 200, 90)
    below, said = own_worker.descendants(), len(own_worker.log)
    os.killpg(own_worker.pid, number)
    for process in below if everywhere else []:
        with suppress(psutil.Error):
            process.send_signal(number)
    assert own_worker.launched.wait(60) == 0, own_worker.log[-3000:]
    assert not [process for process in below if alive(process)]
    wrong = [line for line in own_worker.log[said:].splitlines() if "] INFO " not in line]
    assert not wrong, "\n".join(wrong)
    own_worker.start()
    _assert_all(own_worker, broker, unique)
    wait_for(lambda: (tmp_path / "sunk").read_text().splitlines()[-1] == str(COUNT - 1), 60, "the sink's last line")
    assert (tmp_path / "sunk").read_text().splitlines() == [str(number) for number in range(COUNT)]


def _assert_all(worker: WorkerProcess, broker: EmbeddedBroker, name: str) -> None:
    assert_exactly_once(broker.bootstrap_servers, name, COUNT, worker.properties["offset.storage.topic"], name)
