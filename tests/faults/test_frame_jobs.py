# SPDX-License-Identifier: Apache-2.0
"""Processes of frame jobs that die in the midst of their work: nothing is lost or doubled."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_contiguous, create_numbered
from tests.support.polling import wait_for
from tests.support.topics import values, wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 400
MORE_THAN_ENOUGH = 100_000
SLOW = {
    "transforms": "q",
    "transforms.q.type": "SparkSql",
    "transforms.q.query": "SELECT linger(value) AS value FROM records",
    "transforms.q.functions": "slow_functions:register",
    "batch": "20",
}


def test_killed_processes_of_frame_jobs(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    create_numbered(worker, unique, MORE_THAN_ENOUGH, **SLOW)
    wait_for_values(broker.bootstrap_servers, unique, 20)
    task = worker.status(unique)["tasks"][0]
    killed: set[int] = set()

    def kill_one() -> bool:
        for process in worker.task_processes():
            if process.pid not in killed and _of_a_frame_job(process):
                killed.add(process.pid)
                with suppress(psutil.NoSuchProcess):
                    process.kill()
                    return True
        return False

    for number in range(5):
        written = len(values(broker.bootstrap_servers, unique))
        wait_for(kill_one, 30, f"a process of a frame job to kill, number {number}")
        # Spark gives up a job that has lost four.
        wait_for_values(broker.bootstrap_servers, unique, written + 1)
    assert worker.status(unique)["tasks"][0] == task, "the task's own process has seen nothing of it"
    worker.delete(unique)
    seen = values(broker.bootstrap_servers, unique)
    assert_contiguous(seen, len(seen))


def _of_a_frame_job(process: psutil.Process) -> bool:
    """A task's process has the broker's connections open, one of a frame job has not."""
    try:
        return not process.net_connections(kind="tcp")
    except psutil.Error:
        return False


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
def test_the_task_dies_around_a_commit(
    point: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    once.touch()
    query = {"transforms.q.query": "SELECT value FROM records WHERE CAST(value AS INT) % 10 <> 0"}
    death = {"die.at": point, "die.once": str(once)}
    create_numbered(worker, unique, COUNT, **{**SLOW, **query, **death})
    wanted = [n for n in range(COUNT) if n % 10]
    wait_for_values(broker.bootstrap_servers, unique, len(wanted), 120)
    assert not once.exists()
    assert [int(json.loads(value or b"")) for value in values(broker.bootstrap_servers, unique)] == wanted


def test_sparks_jvm_dies_under_a_frame_job(own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    own_worker.start()
    create_numbered(own_worker, unique, COUNT, **SLOW)
    wait_for_values(broker.bootstrap_servers, unique, 60)
    own_worker.jvm().kill()
    assert_contiguous(wait_for_values(broker.bootstrap_servers, unique, COUNT, 120), COUNT)
