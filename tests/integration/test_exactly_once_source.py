# SPDX-License-Identifier: Apache-2.0
"""Transaction boundaries, several tasks, and at-least-once beside exactly-once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.kafka.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_contiguous, assert_exactly_once
from tests.support.polling import wait_for
from tests.support.topics import committed_offsets, read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess

NUMBERED = {"connector.class": "numbered_source.NumberedSourceConnector", "tasks.max": "1"}


@pytest.mark.parametrize("boundary", ["poll", "interval", "connector"])
def test_each_boundary(boundary: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    worker.create(
        unique,
        **NUMBERED,
        topic=unique,
        count="3000",
        **{"transaction.boundary": boundary, "transaction.boundary.interval.ms": "100"},
    )
    assert_exactly_once(broker.bootstrap_servers, unique, 3000, worker.properties["offset.storage.topic"], unique)
    worker.delete(unique)


def test_aborted_records_are_invisible_and_their_offsets_count(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    """Every second poll's second half is aborted: 49 of each 200 numbers are never seen, and never read again."""
    worker.create(
        unique,
        **NUMBERED,
        topic=unique,
        count="2000",
        **{"transaction.boundary": "connector", "abort.every": "2"},
    )
    offsets_topic = worker.properties["offset.storage.topic"]
    wait_for(
        lambda: committed_offsets(broker.bootstrap_servers, offsets_topic, unique) == {'{"id": "0"}': {"seqno": 1999}},
        60,
        "the last offset",
    )
    seen = [int(r.value or b"-1") for r in read_committed(broker.bootstrap_servers, unique)]
    assert seen == [n for n in range(2000) if n % 200 <= 150]
    worker.delete(unique)


def test_tasks_of_one_connector_beside_each_other(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    worker.create(
        unique,
        **{
            "connector.class": "VerifiableSource",
            "tasks.max": "3",
            "topic": unique,
            "throughput": "500",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "key.converter.schemas.enable": "false",
        },
    )
    worker.wait_for_tasks(unique, tasks=3)
    wait_for_values(broker.bootstrap_servers, unique, 1500)
    assert worker.rest.put(f"/connectors/{unique}/pause").status_code == 202
    worker.wait_for_tasks(unique, "PAUSED", tasks=3)
    by_task: dict[bytes | None, list[bytes | None]] = {}
    for record in read_committed(broker.bootstrap_servers, unique):
        by_task.setdefault(record.key, []).append(record.value)
    offsets = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique)
    assert sorted(by_task, key=str) == [b"0", b"1", b"2"]
    for key, seen in by_task.items():
        assert_contiguous(seen, len(seen))
        assert offsets[json.dumps({"id": int(key or b"-1")})] == {"seqno": len(seen) - 1}
    worker.delete(unique)


def test_at_least_once_loses_nothing(broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    properties = {"group.id": f"group-{unique}", "exactly.once.source.support": "disabled"}
    with WorkerProcess(tmp_path, broker.bootstrap_servers, **properties) as worker:
        worker.create(unique, **NUMBERED, topic=unique, count="4000", **{"pause.ms": "50"})
        wait_for_values(broker.bootstrap_servers, unique, 200, 90)
        worker.task_process().kill()
        seen: set[int] = set()

        def complete() -> bool:
            seen.update(int(r.value or b"-1") for r in read_committed(broker.bootstrap_servers, unique))
            return seen == set(range(4000))

        wait_for(complete, 90, lambda: f"all numbers; {len(seen)} are there")
        offsets_topic = worker.properties["offset.storage.topic"]
        wait_for(
            lambda: (
                committed_offsets(broker.bootstrap_servers, offsets_topic, unique) == {'{"id": "0"}': {"seqno": 3999}}
            ),
            30,
            "the last offset",
        )
