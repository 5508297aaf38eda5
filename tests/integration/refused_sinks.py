# SPDX-License-Identifier: Apache-2.0
"""SparkSinks whose configuration is refused."""

from __future__ import annotations

from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess


def refusal(worker: WorkerProcess, name: str, topics: str, **config: str) -> str:
    """Return the error that a user gets in place of a connector."""
    wait_for(lambda: "is up, UI at" in worker.log, 60, "Spark's start: before, it is not asked")
    wanted = {"connector.class": "SparkSink", "topics": topics, **config}
    for _ in range(3):
        answer = worker.rest.post("/connectors", json={"name": name, "config": wanted})
        if answer.status_code == 400:
            return str(answer.json()["message"])
        # A machine that has too much to do.
        assert "Spark did not say within" in worker.log, answer.text
        worker.delete(name)
    raise AssertionError(f"{config} was not refused")
