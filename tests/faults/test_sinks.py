# SPDX-License-Identifier: Apache-2.0
"""Sinks and SIGKILL: nothing is lost, little is written twice, and offsets are never ahead (invariant 9)."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.faults.flowing_numbers import PER_SECOND, Numbers
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, lines, make_topic, wait_for_lines
from tests.support.worker_process import WorkerProcess


def test_the_tasks_process_is_killed(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    numbers = Numbers(broker.bootstrap_servers, unique, partial(lines, tmp_path / "out.txt"))
    make_topic(broker.bootstrap_servers, unique)
    session = {"consumer.override.session.timeout.ms": "240000"}
    with numbers.flowing():
        create_sink(worker, unique, unique, tmp_path / "out.txt", **session)
        for _ in range(3):
            written = numbers.wait_until_caught_up()
            began = time.monotonic()
            worker.task_process().kill()
            wait_for_lines(tmp_path / "out.txt", written + PER_SECOND)
            # The group would notice the death after four minutes; its successor does not wait for that.
            assert time.monotonic() - began < 60
    numbers.assert_at_least_once(3)
    worker.delete(unique)


def test_the_worker_is_killed(own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    numbers = Numbers(broker.bootstrap_servers, unique, partial(lines, tmp_path / "out.txt"))
    make_topic(broker.bootstrap_servers, unique)
    own_worker.start()
    with numbers.flowing():
        create_sink(own_worker, unique, unique, tmp_path / "out.txt")
        numbers.wait_until_caught_up()
        own_worker.kill()
        wait_for(lambda: own_worker.leftovers() == [], 30, lambda: f"the end of {own_worker.leftovers()}")
        written = len(lines(tmp_path / "out.txt"))
        own_worker.start()
        wait_for_lines(tmp_path / "out.txt", written + PER_SECOND)
    numbers.assert_at_least_once(1)


def test_the_broker_is_killed(
    worker_of_own_broker: WorkerProcess, own_broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    worker, numbers = (
        worker_of_own_broker,
        Numbers(own_broker.bootstrap_servers, unique, partial(lines, tmp_path / "out.txt")),
    )
    make_topic(own_broker.bootstrap_servers, unique)
    with numbers.flowing():
        create_sink(worker, unique, unique, tmp_path / "out.txt")
        written = numbers.wait_until_caught_up()
        own_broker.kill()
        own_broker.start()
        wait_for_lines(tmp_path / "out.txt", written + PER_SECOND, 120)
    numbers.assert_at_least_once(1)
    worker.wait_for_tasks(unique)
