# SPDX-License-Identifier: Apache-2.0
"""A task that prints without an end fills no disk."""

from __future__ import annotations

from pathlib import Path

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

MAX_BYTES = 100_000
MAX_FILES = 3
PRINTED = 10 * MAX_BYTES * MAX_FILES


def consoles(tmp: Path) -> list[Path]:
    return sorted(tmp.glob("headrace-*/spark-console.log*"))


def test_what_a_task_prints_is_bounded(broker: EmbeddedBroker, own_tmp: Path, tmp_path: Path, unique: str) -> None:
    limits = {"engine.console.max.bytes": str(MAX_BYTES), "engine.console.max.files": str(MAX_FILES)}
    with WorkerProcess(tmp_path, broker.bootstrap_servers, **{"group.id": f"g-{unique}"}, **limits) as worker:
        worker.create(unique, **{"connector.class": "printing_source.PrintingSource", "tasks.max": "1"})
        worker.wait_for_tasks(unique)
        process = worker.task_process()

        def printed() -> bool:
            assert sum(file.stat().st_size for file in consoles(own_tmp)) <= MAX_BYTES * MAX_FILES
            return process.io_counters().write_chars > PRINTED

        wait_for(printed, 30, lambda: str(process.io_counters()))
        assert any("printed by a task" in file.read_text() for file in consoles(own_tmp))
        dropped = "[headrace] more than 100000 bytes in a minute"
        wait_for(lambda: any(dropped in file.read_text() for file in consoles(own_tmp)), 10)
        wait_for(lambda: "prints more than engine.console.max.bytes=100000 in a minute" in worker.log, 10)
        assert worker.task_states(unique) == ["RUNNING"]
