# SPDX-License-Identifier: Apache-2.0
"""Connectors of numbered records (tests/support/plugins), and zombies made of their tasks."""

from __future__ import annotations

from pathlib import Path

import psutil

from tests.support.polling import wait_for
from tests.support.processes import status_of
from tests.support.worker_process import WorkerProcess

CLASS = "numbered_source.NumberedSourceConnector"


def create_numbered(worker: WorkerProcess, name: str, count: int, **more: str) -> None:
    """A connector whose one task writes `count` numbers to a topic of the connector's name."""
    worker.create(name, **{"connector.class": CLASS, "tasks.max": "1", "topic": name, "count": str(count), **more})


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
