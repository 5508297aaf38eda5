# SPDX-License-Identifier: Apache-2.0
"""A source task whose poll waits is woken up to be paused, and waits again once it is resumed."""

from __future__ import annotations

from tests.support.worker_process import WorkerProcess


def test_a_poll_that_waits_is_paused_at_once(worker: WorkerProcess, unique: str) -> None:
    worker.create(unique, **{"connector.class": "waiting_source:WaitingSourceConnector", "tasks.max": "1"})
    worker.wait_for_tasks(unique)
    for _ in range(2):
        assert worker.rest.put(f"/connectors/{unique}/pause").status_code == 202
        worker.wait_for_tasks(unique, "PAUSED")
        assert worker.rest.put(f"/connectors/{unique}/resume").status_code == 202
        worker.wait_for_tasks(unique)
    worker.delete(unique)
