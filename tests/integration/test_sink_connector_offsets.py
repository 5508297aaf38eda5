# SPDX-License-Identifier: Apache-2.0
"""Reading, altering and resetting a sink's offsets (KIP-875), with the tasks that they are for."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from confluent_kafka.admin import AdminClient

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for, within
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

LONG_SESSION = {"consumer.override.session.timeout.ms": "240000"}
"""Four minutes until the group notices by itself that a member is gone."""
EXPELLED_S = 60.0
"""Until a former attempt's successor has its partitions; starts of processes are most of it."""


def offsets(topic: str, offset: int | None, partition: int = 0) -> dict[str, Any]:
    where = {"kafka_topic": topic, "kafka_partition": partition}
    return {"partition": where, "offset": None if offset is None else {"kafka_offset": offset}}


def change(worker: WorkerProcess, method: str, name: str, *wanted: dict[str, Any]) -> httpx2.Response:
    body = {"json": {"offsets": list(wanted)}} if wanted else {}
    return once_settled(lambda: worker.rest.request(method, f"/connectors/{name}/offsets", **body))


def groups(bootstrap: str) -> set[str]:
    """Of consumers, whether they have members or not."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    listed = admin.list_consumer_groups(request_timeout=30).result(30)
    assert not listed.errors
    return {group.group_id for group in listed.valid or ()}


@pytest.mark.parametrize("named", [False, True], ids=["connect-name", "consumer.override.group.id"])
def test_altered_and_reset(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, named: bool
) -> None:
    """A reset deletes the group itself, and not only its offsets (KIP-875)."""
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    group = f"group-{unique}" if named else f"connect-{unique}"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 10))
    create_sink(worker, unique, unique, file, **({"consumer.override.group.id": group} if named else {}))
    wait_for_lines(file, 10)
    wait_for(lambda: reported(worker, unique) == [offsets(unique, 10)], 60, lambda: f"10: {reported(worker, unique)}")
    refused = change(worker, "PATCH", unique, offsets(unique, 7))
    assert (refused.status_code, "STOPPED" in refused.text or "stopped" in refused.text) == (400, True)

    worker.stop_connector(unique)
    assert change(worker, "PATCH", unique, offsets(unique, 7)).status_code in (200, 204)
    assert reported(worker, unique) == [offsets(unique, 7)]
    worker.rest.put(f"/connectors/{unique}/resume")
    assert wait_for_lines(file, 13)[10:] == ["7", "8", "9"]

    worker.stop_connector(unique)
    assert group in groups(bootstrap)
    assert change(worker, "DELETE", unique).status_code in (200, 204)
    assert group not in groups(bootstrap)
    assert reported(worker, unique) == []
    worker.rest.put(f"/connectors/{unique}/resume")
    assert wait_for_lines(file, 23)[13:] == [str(n) for n in range(10)]
    assert groups(bootstrap) & {f"group-{unique}", f"connect-{unique}"} == {group}
    worker.delete(unique)


def reported(worker: WorkerProcess, name: str) -> Any:
    return worker.rest.get(f"/connectors/{name}/offsets").json()["offsets"]


def test_a_hung_task_is_replaced(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    bootstrap, journal = broker.bootstrap_servers, Journal(tmp_path / "journal.jsonl")
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 10))
    create_journal_sink(worker, unique, unique, journal, **LONG_SESSION)
    journal.wait_for_values([str(n) for n in range(10)])
    wait_for_committed(bootstrap, unique, unique, {0: 10})
    os.kill(journal.events("put")[0]["pid"], signal.SIGSTOP)
    assert worker.rest.post(f"/connectors/{unique}/tasks/0/restart").status_code == 204
    send(bootstrap, unique, numbers(10, 10))
    values = [str(n) for n in range(20)]
    within(EXPELLED_S, lambda: len(journal.values()) >= 20, lambda: f"its successor's records: {journal.events()[-3:]}")
    assert journal.values() == values
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
    create_journal_sink(worker, unique, unique, journal, die="yes", once=str(once), **LONG_SESSION)
    wait_for(lambda: not once.exists(), 60, "its death")
    within(
        EXPELLED_S, lambda: len({event["pid"] for event in journal.events("put")}) == 2, lambda: str(journal.events())
    )
    wait_for_committed(bootstrap, unique, unique, {0: 10})
    worker.delete(unique)
