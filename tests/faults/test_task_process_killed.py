# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of a task's process at every phase of its life (invariants 1 to 5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

COUNT = 1500


@pytest.mark.parametrize(
    ("point", "boundary"),
    [
        ("after_init", "poll"),
        ("mid_produce", "interval"),
        ("before_commit", "poll"),
        ("after_commit", "poll"),
        ("before_commit", "interval"),
    ],
)
def test_a_task_killed_at_any_point_writes_each_record_once(
    point: str, boundary: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    once.touch()
    create_numbered(
        worker,
        unique,
        COUNT,
        **{
            "transaction.boundary": boundary,
            "transaction.boundary.interval.ms": "2000" if point == "mid_produce" else "40",
            "die.at": point,
            "die.once": str(once),
        },
    )
    assert_exactly_once(broker.bootstrap_servers, unique, COUNT, worker.properties["offset.storage.topic"], unique)
    assert not once.exists(), "the process never died"
    worker.wait_for_tasks(unique)
    worker.delete(unique)


def test_killed_before_init(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    worker.die_once.touch()
    create_numbered(worker, unique, COUNT, **{"connector.class": "numbered_source.DyingBeforeInitConnector"})
    assert_exactly_once(broker.bootstrap_servers, unique, COUNT, worker.properties["offset.storage.topic"], unique)
    assert not worker.die_once.exists(), "the process never died"
    worker.delete(unique)


def test_killed_from_outside_again_and_again(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    count = 6000
    create_numbered(worker, unique, count, **{"pause.ms": "50"})
    for _ in range(3):
        worker.wait_for_tasks(unique)
        process = worker.task_process()
        process.kill()
        wait_for(lambda pid=process.pid: pid not in [p.pid for p in worker.task_processes()], 30, "its end")
    assert_exactly_once(broker.bootstrap_servers, unique, count, worker.properties["offset.storage.topic"], unique)
    worker.delete(unique)
