# SPDX-License-Identifier: Apache-2.0
"""What tasks print is in the worker's log, and a task that prints without an end fills no disk with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.logs.printed import MAX_BYTES
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

PRINTED = 100_000_000
CLASS = {"connector.class": "printing_source.PrintingSource", "tasks.max": "1"}


def test_what_a_task_prints_is_bounded(own_worker: WorkerProcess, unique: str) -> None:
    own_worker.start()
    own_worker.create(unique, **CLASS)
    own_worker.wait_for_tasks(unique)
    process = own_worker.task_process()
    wait_for(lambda: process.io_counters().write_chars > PRINTED, 60, lambda: str(process.io_counters()))
    dropped = f"WARNING [{unique}|task-0] printed: more than {MAX_BYTES} bytes in a minute: the rest is dropped"
    wait_for(lambda: dropped in own_worker.log, 10)
    assert f"INFO [{unique}|task-0] printed: printed by a task " in own_worker.log
    # The machine may be slow; what is logged of a line beside it is short.
    assert len(own_worker.log) < 10 * MAX_BYTES < PRINTED / 20
    assert own_worker.task_states(unique) == ["RUNNING"]
    own_worker.delete(unique)
    wait_for(lambda: f"INFO [{unique}|task-0] printed: " in own_worker.log and "bytes) were dropped" in own_worker.log)
    assert own_worker.stop() == 0


@pytest.mark.parametrize("isolation", ["none", "connector"])
def test_a_killed_task_has_printed_all(worker: WorkerProcess, tmp_path: Path, unique: str, isolation: str) -> None:
    once = tmp_path / "once"
    once.touch()
    worker.create(unique, **CLASS, **{"die.once": str(once), "spark.task.isolation": isolation})
    expected = [
        f"INFO [{unique}|task-0] printed: {line}"
        for line in ("one line", "by native code", "by a child", "without an end")
    ]

    def printed() -> list[str]:
        lines = [line.partition("] ")[2] for line in worker.log.splitlines()]
        return [line for line in lines if line.startswith(expected[0][: -len("one line")])]

    wait_for(lambda: len(printed()) >= len(expected), 60, lambda: worker.log[-3000:])
    assert printed() == expected
    assert not once.exists()
    worker.wait_for_tasks(unique)
