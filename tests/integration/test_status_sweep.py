# SPDX-License-Identifier: Apache-2.0
"""A worker that deletes a connector or takes tasks from it leaves no status behind, in any order of the writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.clients import client_config
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TaskStatus, TopicStatus
from headrace.storage import status_records
from headrace.storage.status_records import Status
from tests.support.group_of_workers import Workers
from tests.support.polling import wait_for
from tests.support.topics import read_committed


@pytest.fixture
def workers(broker: EmbeddedBroker) -> Iterator[Workers]:
    made = Workers(broker.bootstrap_servers)
    yield made
    made.close()


def left(workers: Workers) -> set[str]:
    """Return the keys in the status topic that have a value."""
    last = {
        (record.key or b"").decode(): record.value
        for record in read_committed(workers.bootstrap, f"{workers.group}-status")
    }
    return {key for key, value in last.items() if value is not None}


def write(workers: Workers, *statuses: Status) -> None:
    """Write as a worker that has nothing heard of what happened since."""
    producer = client_config.producer({"bootstrap.servers": workers.bootstrap, "linger.ms": "0"})
    for status in statuses:
        key, value = status_records.encode(status)
        producer.produce(f"{workers.group}-status", value, key)
    assert producer.flush(10) == 0


def expected(name: str, tasks: int) -> set[str]:
    return {f"status-connector-{name}", *(f"status-task-{name}-{task}" for task in range(tasks))}


def test_statuses_that_come_late_are_removed(workers: Workers) -> None:
    """In any order, of tasks and topics of connectors that are gone, and of tasks that their connector lost."""
    for _ in range(2):
        workers.start()
    workers.put("kept", 2)
    workers.wait_for_tasks("kept", 2)
    late = (
        ConnectorStatus("gone", State.UNASSIGNED, "w:1", 1),
        TaskStatus(ConnectorTaskId("gone", 0), State.UNASSIGNED, "w:1", 1),
        TaskStatus(ConnectorTaskId("kept", 2), State.UNASSIGNED, "w:1", 1),
        TopicStatus("t", "gone", 0, 1),
    )
    for statuses in itertools.islice(itertools.permutations(late), 0, None, 5):
        write(workers, *statuses)
        wait_for(lambda: left(workers) == expected("kept", 2), 30, "the sweep")


def test_the_next_leader_removes_what_the_last_one_has_not(workers: Workers) -> None:
    first = workers.start()
    workers.put("kept", 1)
    workers.wait_for_tasks("kept", 1)
    workers.stop(first)
    write(workers, TaskStatus(ConnectorTaskId("gone", 3), State.UNASSIGNED, "w:1", 1))
    workers.start()
    workers.wait_for_tasks("kept", 1)
    wait_for(lambda: left(workers) == expected("kept", 1), 30, "the sweep")


def test_a_task_that_stops_late_on_another_worker(workers: Workers) -> None:
    """The leader has swept when the follower's task is killed at last and says UNASSIGNED."""
    workers.start()
    workers.start()
    for node in workers.nodes:
        node.launcher.blocked = not node.leads
    workers.put("shrinks", 4)
    workers.put("deleted", 2)
    workers.wait_for_tasks("shrinks", 4)
    workers.wait_for_tasks("deleted", 2)
    assert left(workers) == expected("shrinks", 4) | expected("deleted", 2)
    assert workers.leader.http.delete("/connectors/deleted").status_code == 204
    workers.put("shrinks", 1)
    workers.wait_for_tasks("shrinks", 1)
    wait_for(lambda: left(workers) == expected("shrinks", 1), 30, "the sweep")
    assert any(task.killed for task in workers.launched("shrinks") + workers.launched("deleted"))


def test_after_many_reconfigurations_only_current_statuses_remain(workers: Workers) -> None:
    for _ in range(3):
        workers.start()
    for tasks in (5, 1, 4, 2, 6, 1, 3):
        workers.put("c", tasks)
        workers.put("d", 7 - tasks)
    assert workers.leader.http.delete("/connectors/d").status_code == 204
    workers.wait_for_tasks("c", 3)
    wait_for(lambda: left(workers) == expected("c", 3), 30, "the sweep")
    assert {task["id"] for task in workers.tasks("c")} == {0, 1, 2}


def test_a_connector_created_at_once_keeps_its_statuses(workers: Workers) -> None:
    """Its first statuses come while those of its former self may still be removed."""
    for _ in range(2):
        workers.start()
    for _ in range(5):
        workers.put("c", 2)
        workers.wait_for_tasks("c", 2)
        assert workers.leader.http.delete("/connectors/c").status_code == 204
    workers.put("c", 2)
    workers.wait_for_tasks("c", 2)
    wait_for(lambda: left(workers) == expected("c", 2), 30, "the statuses")
