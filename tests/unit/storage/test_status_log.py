# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TaskStatus
from headrace.storage import status_records
from headrace.storage.status_log import StatusLog

DELIBERATE: dict[tuple[str, str], dict[str, Any]] = {
    # The worker that ran the task stopped it in the same generation: Java goes on to show it as RUNNING.
    ("real-log-plain-42-after-stop-worker", "file-source-0"): {"state": "UNASSIGNED"},
    # In Java a connector's tombstone takes along what its tasks said, even since, from another partition.
    ("connector-tombstone-takes-its-tasks", "a-0"): {
        "state": "RUNNING",
        "trace": None,
        "workerId": "w:8083",
        "generation": 3,
        "version": "1.0",
    },
}


def _shown(status: ConnectorStatus | TaskStatus) -> dict[str, Any]:
    return {
        "state": status.state.value,
        "trace": status.trace,
        "workerId": status.worker_id,
        "generation": status.generation,
        "version": status.version,
    }


def test_fold_equals_java_for_every_vector(vectors: Callable[..., Any], log_bytes: Callable[..., Any]) -> None:
    for vector in vectors("internal_replay", "replayStatus"):
        log = StatusLog()
        for record in vector["input"]["records"]:
            raw = record["raw"].encode() if "raw" in record else log_bytes(record["value"])
            log.apply(record["key"].encode() if record["key"] is not None else None, raw)
        expected = vector["output"]
        assert {name: _shown(status) for name, status in log.connectors.items()} == expected["connectors"], vector["id"]
        tasks = {str(status.id): _shown(status) for found in log.tasks.values() for status in found.values()}
        for (suffix, task), shown in DELIBERATE.items():
            if vector["id"].endswith(f"/{suffix}"):
                expected["tasks"].setdefault(task, {}).update(shown)
        assert tasks == expected["tasks"], vector["id"]
        topics = {
            connector: [
                {"topic": s.topic, "connector": s.connector, "task": s.task, "discoverTimestamp": s.discovered_ms}
                for s in sorted(found.values(), key=lambda s: s.topic)
            ]
            for connector, found in log.topics.items()
        }
        expected_topics = {c: sorted(found, key=lambda s: s["topic"]) for c, found in expected["topics"].items()}
        assert topics == expected_topics, vector["id"]


@pytest.mark.parametrize("task", [None, 0])
def test_what_a_late_worker_of_an_older_generation_writes_is_ignored(task: int | None) -> None:
    def status(state: State, generation: int, worker: str = "w:1") -> tuple[bytes, bytes | None]:
        if task is None:
            return status_records.encode(ConnectorStatus("c", state, worker, generation))
        return status_records.encode(TaskStatus(ConnectorTaskId("c", task), state, worker, generation))

    def present() -> State:
        return log.connectors["c"].state if task is None else log.tasks["c"][task].state

    log = StatusLog()
    log.apply(*status(State.RUNNING, 5))
    log.apply(*status(State.UNASSIGNED, 4))
    assert present() is State.RUNNING
    log.apply(*status(State.UNASSIGNED, 5, worker="late:1"))
    assert present() is State.RUNNING
    log.apply(*status(State.UNASSIGNED, 5))
    assert present() is State.UNASSIGNED
    log.apply(*status(State.FAILED, 2))
    assert present() is State.FAILED
    log.apply(*status(State.RUNNING, 7))
    log.apply(*status(State.FAILED, 6, worker="late:1"))
    assert present() is State.RUNNING, "a worker that was frozen, and has read nothing of its successor yet"
    log.apply(*status(State.FAILED, 7, worker="other:1"))
    assert present() is State.FAILED
