# SPDX-License-Identifier: Apache-2.0
"""Reading, altering and resetting a sink's offsets (KIP-875), with the tasks that they are for."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx2

from headrace.kafka.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import (
    Journal,
    create_journal_sink,
    create_sink,
    make_topic,
    numbers,
    send,
    wait_for_committed,
    wait_for_lines,
)
from tests.support.worker_process import WorkerProcess, once_settled


def offsets(topic: str, offset: int | None, partition: int = 0) -> dict[str, Any]:
    where = {"kafka_topic": topic, "kafka_partition": partition}
    return {"partition": where, "offset": None if offset is None else {"kafka_offset": offset}}


def stop(worker: WorkerProcess, name: str) -> None:
    assert worker.rest.put(f"/connectors/{name}/stop").status_code == 204
    wait_for(lambda: worker.status(name)["connector"]["state"] == "STOPPED", 30, "STOPPED")
    wait_for(lambda: worker.status(name)["tasks"] == [], 30, "no tasks")


def change(worker: WorkerProcess, method: str, name: str, *wanted: dict[str, Any]) -> httpx2.Response:
    body = {"json": {"offsets": list(wanted)}} if wanted else {}
    return once_settled(lambda: worker.rest.request(method, f"/connectors/{name}/offsets", **body))


def test_altered_and_reset(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 10))
    create_sink(worker, unique, unique, file)
    wait_for_lines(file, 10)
    wait_for_committed(bootstrap, unique, unique, {0: 10})
    assert worker.rest.get(f"/connectors/{unique}/offsets").json() == {"offsets": [offsets(unique, 10)]}
    refused = change(worker, "PATCH", unique, offsets(unique, 7))
    assert (refused.status_code, "STOPPED" in refused.text or "stopped" in refused.text) == (400, True)

    stop(worker, unique)
    assert change(worker, "PATCH", unique, offsets(unique, 7)).status_code in (200, 204)
    worker.rest.put(f"/connectors/{unique}/resume")
    assert wait_for_lines(file, 13)[10:] == ["7", "8", "9"]

    stop(worker, unique)
    assert change(worker, "DELETE", unique).status_code in (200, 204)
    assert worker.rest.get(f"/connectors/{unique}/offsets").json() == {"offsets": []}
    worker.rest.put(f"/connectors/{unique}/resume")
    assert wait_for_lines(file, 23)[13:] == [str(n) for n in range(10)]
    worker.delete(unique)


def test_a_hung_task_is_replaced(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    bootstrap, journal = broker.bootstrap_servers, Journal(tmp_path / "journal.jsonl")
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 10))
    create_journal_sink(worker, unique, unique, journal)
    journal.wait_for_values([str(n) for n in range(10)])
    wait_for_committed(bootstrap, unique, unique, {0: 10})
    os.kill(journal.events("put")[0]["pid"], signal.SIGSTOP)
    assert worker.rest.post(f"/connectors/{unique}/tasks/0/restart").status_code == 204
    send(bootstrap, unique, numbers(10, 10))
    # Far sooner than the group's session.timeout.ms of 45 s.
    journal.wait_for_values([str(n) for n in range(20)], 30)
    assert journal.values() == [str(n) for n in range(20)]
    worker.delete(unique)


def test_a_killed_task_is_replaced_at_once(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Its successor does not wait until the group notices its death."""
    bootstrap, journal = broker.bootstrap_servers, Journal(tmp_path / "journal.jsonl")
    once = tmp_path / "once"
    once.touch()
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 10))
    create_journal_sink(worker, unique, unique, journal, die="yes", once=str(once))
    wait_for(lambda: not once.exists(), 60, "its death")
    wait_for(lambda: len({event["pid"] for event in journal.events("put")}) == 2, 20, lambda: str(journal.events()))
    wait_for_committed(bootstrap, unique, unique, {0: 10})
    worker.delete(unique)
