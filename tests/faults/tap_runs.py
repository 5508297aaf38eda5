# SPDX-License-Identifier: Apache-2.0
"""The runs of a tap of PyPI, and their ends by SIGKILL."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from tests.support.polling import wait_for
from tests.support.processes import alive, command_of
from tests.support.worker_process import WorkerProcess

RESTARTS: Final = {
    "tasks.restart.policy": "on-failure",
    "tasks.restart.backoff.initial.ms": "500",
    "tasks.restart.max.attempts": "100",
}
"""Of a worker whose tasks are killed."""


def runs(home: Path) -> list[psutil.Process]:
    """Return the processes of the tap's run: first its guard, then the tap. `home` is the data directory."""
    found = [each for each in psutil.process_iter() if str(home) in command_of(each) and alive(each)]
    return [each for each in found if "--discover" not in command_of(each)]


def kill(worker: WorkerProcess, what: str, home: Path) -> None:
    """Kill the tap as soon as it runs, the process of the worker's only task, or the worker, which is started again."""
    if what == "task":
        worker.task_process().kill()
    elif what == "worker":
        worker.kill()
        wait_for(lambda: not worker.leftovers(), 30, lambda: f"the end of {worker.leftovers()}")
        worker.start()
    else:
        running = wait_for(lambda: runs(home), 60, "a run of the tap")
        with suppress(psutil.Error):
            running[-1].kill()
