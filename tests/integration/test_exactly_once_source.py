# SPDX-License-Identifier: Apache-2.0
"""Transaction boundaries, several tasks, and at-least-once beside exactly-once."""

from __future__ import annotations

import json
import time

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from tests.support.exactly_once import assert_contiguous, assert_exactly_once, create_numbered
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
        lambda: f"the last offset: {worker.status(unique)}\n{worker.log[-3000:]}",
    )
    seen = [int(r.value or b"-1") for r in read_committed(broker.bootstrap_servers, unique)]
    assert seen == [n for n in range(2000) if n % 200 <= 150]
    written = offset_records(broker, offsets_topic, unique)
    assert {record["seqno"] % 100 for record in written} == {50, 99}, "offsets stand where transactions end"
    assert len(written) == 40
    worker.delete(unique)


FILTER = {
    "transforms": "none",
    "transforms.none.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.none.predicate": "any",
    "predicates": "any",
    "predicates.any.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
    "predicates.any.pattern": ".*",
}
"""Leaves nothing of any batch."""


def test_the_offsets_of_batches_that_are_dropped_whole(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    """KIP-618: each is committed in a transaction of offsets alone, and the next task continues behind it."""
    servers, offsets_topic = broker.bootstrap_servers, worker.properties["offset.storage.topic"]
    topics = TopicAdmin({"bootstrap.servers": servers})
    topics.create_topics([TopicSpec(unique, 1, 1)])
    create_numbered(worker, unique, 300, **FILTER)
    last = {'{"id": "0"}': {"seqno": 299}}
    wait_for(lambda: committed_offsets(servers, offsets_topic, unique) == last, 60, "the last offset")
    assert [record["seqno"] for record in offset_records(broker, offsets_topic, unique)] == [99, 199, 299]
    committed = [r for r in read_committed(servers, offsets_topic) if f'"{unique}"'.encode() in (r.key or b"")]
    [partition] = {record.partition for record in committed}
    # A marker follows each of them: they were written in transactions. The topic of the records was in none.
    assert topics.end_offsets(offsets_topic)[partition] > committed[-1].offset + 1
    assert topics.end_offsets(unique) == {0: 0}

    killed = worker.task_process()
    killed.kill()
    wait_for(lambda: worker.task_process().pid != killed.pid, 60, "the next attempt")
    worker.wait_for_tasks(unique)
    config = {
        **worker.rest.get(f"/connectors/{unique}/config").json(),
        "count": "500",
        "predicates.any.pattern": "none",
    }
    assert worker.rest.put(f"/connectors/{unique}/config", json=config).status_code == 200
    assert wait_for_values(servers, unique, 200) == [b"%d" % n for n in range(300, 500)]
    last = {'{"id": "0"}': {"seqno": 499}}
    assert committed_offsets(servers, offsets_topic, unique) == last
    worker.delete(unique)


def offset_records(broker: EmbeddedBroker, offsets_topic: str, connector: str) -> list[dict[str, int]]:
    """All that the connector has committed, in order."""
    records = [r for r in read_committed(broker.bootstrap_servers, offsets_topic) if f'"{connector}"'.encode() in r.key]
    return [json.loads(record.value) for record in records]


def test_a_task_that_produces_to_its_offsets_topic_fails(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    """Java: testPotentialDeadlockWhenProducingToOffsetsTopic. It could wait for its own transaction to end."""
    offsets_topic = f"{unique}-offsets"
    worker.create(
        unique,
        **NUMBERED,
        topic=offsets_topic,
        **{"transaction.boundary": "interval", "offsets.storage.topic": offsets_topic},
    )
    worker.wait_for_tasks(unique, "FAILED")
    [task] = worker.status(unique)["tasks"]
    assert f"a record is to be written to topic {offsets_topic}, which the task's own offsets are in" in task["trace"]
    assert read_committed(broker.bootstrap_servers, offsets_topic) == []
    worker.delete(unique)


def test_a_separate_offsets_topic(
    own_worker: WorkerProcess, broker: EmbeddedBroker, elsewhere: EmbeddedBroker, unique: str
) -> None:
    """Java: testSeparateOffsetsTopic. Records and offsets on another cluster, a backup here, and a soft downgrade."""
    own_topic, common_topic = f"{unique}-own", own_worker.properties["offset.storage.topic"]
    config = {
        **NUMBERED,
        "topic": unique,
        "batch": "50",
        "pause.ms": "20",
        "offsets.storage.topic": own_topic,
        "producer.override.bootstrap.servers": elsewhere.bootstrap_servers,
        "exactly.once.support": "required",
    }
    own_worker.properties["connector.client.config.override.policy"] = "All"
    own_worker.start()
    own_worker.create(unique, **config, count="2000")
    assert_exactly_once(elsewhere.bootstrap_servers, unique, 2000, own_topic, unique)
    last = {'{"id": "0"}': {"seqno": 1999}}
    wait_for(
        lambda: committed_offsets(broker.bootstrap_servers, common_topic, unique) == last,
        30,
        "the backup",
    )
    own_worker.stop()

    own_worker.properties["exactly.once.source.support"] = "disabled"
    own_worker.start()
    changed = own_worker.rest.put(
        f"/connectors/{unique}/config", json={**config, "exactly.once.support": "requested", "count": "3000"}
    )
    assert changed.status_code == 200, changed.text
    # Stopped and started in order, the connector repeats nothing. Its offsets come after the records, as at least once.
    assert_contiguous(wait_for_values(elsewhere.bootstrap_servers, unique, 3000, 90), 3000)
    last = {'{"id": "0"}': {"seqno": 2999}}
    wait_for(lambda: committed_offsets(elsewhere.bootstrap_servers, own_topic, unique) == last, 30, "its offsets")
    wait_for(lambda: committed_offsets(broker.bootstrap_servers, common_topic, unique) == last, 30, "the backup")
    assert_contiguous(wait_for_values(elsewhere.bootstrap_servers, unique, 3000, 90), 3000)


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


EMPTIED = {
    "connector.class": "listed_source.ListedSourceConnector",
    "tasks.max": "1",
    "kind": "text",
    "polls": '[["a"], ["b"], ["keep"], ["c"]]',
    "timestamp": str(time.time_ns() // 1_000_000),
    "transforms": "q",
    "transforms.q.type": "SparkSql",
    "transforms.q.query": "SELECT * FROM records WHERE value = 'keep'",
}
"""A query leaves nothing of most of its polls."""


def test_at_least_once_loses_nothing(at_least_once_worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    worker = at_least_once_worker
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
        lambda: committed_offsets(broker.bootstrap_servers, offsets_topic, unique) == {'{"id": "0"}': {"seqno": 3999}},
        30,
        "the last offset",
    )
    emptied = f"{unique}-emptied"
    worker.create(emptied, topic=emptied, **EMPTIED)
    wait_for(
        lambda: committed_offsets(broker.bootstrap_servers, offsets_topic, emptied) == {'{"list": 1}': {"polls": 4}},
        60,
        "the offset of what a query has dropped",
    )
    assert wait_for_values(broker.bootstrap_servers, emptied, 1) == [b"keep"]
