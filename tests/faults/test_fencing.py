# SPDX-License-Identifier: Apache-2.0
"""Other producers with a task's transactional id: foreign ones, and zombies of its own (invariants 2, 4 and 10)."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.data.transactional_producer import TransactionalProducer
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.polling import wait_for
from tests.support.processes import alive, status_of
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 6000
SLOWLY = {"pause.ms": "40"}


def test_a_foreign_producer_fences_the_task(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    create_numbered(worker, unique, COUNT, **SLOWLY)
    wait_for_values(broker.bootstrap_servers, unique, 200, 90)
    foreign = TransactionalProducer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "transactional.id": f"{worker.properties['group.id']}-{unique}-0",
        }
    )
    foreign.init_transactions(30)
    foreign.begin()
    foreign.records.send(unique, None, b"never visible")
    foreign.records.flush(10)
    foreign.close()
    assert_exactly_once(broker.bootstrap_servers, unique, COUNT, worker.properties["offset.storage.topic"], unique)
    worker.wait_for_tasks(unique)
    worker.delete(unique)


def make_zombie(
    worker: WorkerProcess, name: str, directory: Path, count: int, stop_at: str, **more: str
) -> psutil.Process:
    """Start the worker and the connector; its task stops itself at the phase `stop_at`, and the worker is killed."""
    once = directory / "once"
    once.touch()
    worker.start()
    create_numbered(worker, name, count, **{"die.at": stop_at, "die.how": "stop", "die.once": str(once), **more})
    wait_for(lambda: not once.exists(), 90, "the zombie's stop")
    zombie = worker.task_process()
    wait_for(lambda: status_of(zombie) == psutil.STATUS_STOPPED, 10, "the zombie's stop")
    worker.kill()
    assert zombie.is_running()
    return zombie


def test_a_zombie_wakes_after_its_successor_has_started(
    worker_elsewhere: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """The task's process stops itself just before a commit; its worker dies; the zombie wakes and commits too late."""
    zombie = make_zombie(worker_elsewhere, unique, tmp_path, COUNT, "before_commit", **SLOWLY)
    worker_elsewhere.start()
    wait_for_values(broker.bootstrap_servers, unique, 1500, 90)
    zombie.send_signal(signal.SIGCONT)
    wait_for(lambda: not alive(zombie), 30, "the zombie's end")
    assert_exactly_once(
        broker.bootstrap_servers, unique, COUNT, worker_elsewhere.properties["offset.storage.topic"], unique
    )
