# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of a worker, and of Spark's JVM below it."""

from __future__ import annotations

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_exactly_once
from tests.support.numbered import create_numbered
from tests.support.polling import wait_for
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


def _assert_all(worker: WorkerProcess, broker: EmbeddedBroker, name: str) -> None:
    assert_exactly_once(broker.bootstrap_servers, name, COUNT, worker.properties["offset.storage.topic"], name)
