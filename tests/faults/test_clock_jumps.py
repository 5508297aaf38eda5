# SPDX-License-Identifier: Apache-2.0
"""Wall clocks that jump under a worker, its JVM and its tasks, while the brokers' go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.model.set_back_clock import EXIT_STATUS
from tests.faults.faked_clock import FakedClock
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, lines, wait_for_lines
from tests.support.worker_process import WorkerProcess

DAY = 86_400
TEN_YEARS = 3653 * DAY
COUNT = 1500


@pytest.fixture
def clock(tmp_path: Path) -> FakedClock:
    return FakedClock(tmp_path)


@pytest.fixture
def its_worker(broker: EmbeddedBroker, tmp_path: Path, unique: str, clock: FakedClock) -> Iterator[WorkerProcess]:
    """A worker that lives by the clock, with a source and a sink that go on and on."""
    process = WorkerProcess(tmp_path, broker.bootstrap_servers, **{"group.id": f"group-{unique}"})
    process.environment = clock.environment
    try:
        process.start()
        pauses = {"pause.ms": "50", "batch": "4", "hurry": str(tmp_path / "hurry")}
        create_numbered(process, unique, COUNT, **pauses)
        create_sink(process, f"{unique}-sink", unique, tmp_path / "lines")
        wait_for_lines(tmp_path / "lines", 50)
        yield process
    finally:
        process.close()


@pytest.mark.parametrize(("ahead", "then"), [(DAY, 0), (TEN_YEARS, -DAY)], ids=["a day ahead", "ten years, and back"])
def test_no_record_is_lost_or_doubled_when_the_wall_clock_jumps(
    its_worker: WorkerProcess,
    broker: EmbeddedBroker,
    unique: str,
    clock: FakedClock,
    tmp_path: Path,
    ahead: int,
    then: int,
) -> None:
    """Ahead: the brokers take no record from the future, and health says so. Back: the worker ends, to be started."""
    file = tmp_path / "lines"
    _assert_flows(its_worker, file)
    clock.jump(ahead)
    wait_for(lambda: _health(its_worker)[0] == 500, 60, lambda: f"{_health(its_worker)}\n{its_worker.log[-3000:]}")
    assert "No status could be written" in _health(its_worker)[1]
    assert "the clock of this machine says" in _health(its_worker)[1]
    clock.jump(then)
    assert its_worker.launched.wait(20) == EXIT_STATUS, its_worker.log[-3000:]
    assert "the clock of this machine was set back by" in its_worker.log
    (tmp_path / "hurry").touch()
    its_worker.start()
    assert_exactly_once(broker.bootstrap_servers, unique, COUNT, its_worker.properties["offset.storage.topic"], unique)
    wait_for_lines(file, COUNT)
    assert set(lines(file)) == {str(n) for n in range(COUNT)}
    for name in (unique, f"{unique}-sink"):
        its_worker.wait_for_tasks(name)
    assert _health(its_worker)[0] == 200


def _health(worker: WorkerProcess) -> tuple[int, str]:
    answer = worker.rest.get("/health")
    return answer.status_code, answer.json()["message"]


def _assert_flows(worker: WorkerProcess, file: Path) -> None:
    written = len(lines(file))
    wait_for(lambda: len(lines(file)) > written + 20, 45, lambda: f"{written} lines\n{worker.log[-3000:]}")
