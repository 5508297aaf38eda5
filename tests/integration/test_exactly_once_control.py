# SPDX-License-Identifier: Apache-2.0
"""The control path of exactly-once on a broker with an authorizer: leaders, rounds of fencing, upgrades and downgrades.

What Kafka Connect's own ``ExactlyOnceSourceIntegrationTest`` shows of it, and what KIP-618 says beyond that. The engine
is left out (tests/support/group_of_workers.py); ``tests/faults`` has the same with real task processes.
"""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.errors import ProducerFencedError
from headrace.model.ids import ConnectorTaskId
from headrace.storage.offset_codec import encode_key, encode_offset
from tests.support.acls import all_but, rules_in_force
from tests.support.group_of_workers import Workers
from tests.support.idle_tasks import IdleTask
from tests.support.polling import wait_for
from tests.support.sinks import make_topic
from tests.support.topics import read_committed
from tests.support.worker_process import once_settled


def is_fenced(task: IdleTask, topic: str) -> bool:
    """Return True if the task's producer can write no more; it is of no use afterwards."""
    assert task.producer is not None
    try:
        task.producer.begin()
        task.producer.records.send(topic, None, b"never visible")
        task.producer.commit(20)
    except ProducerFencedError:
        return True
    finally:
        task.producer.close()
    return False


@pytest.fixture
def workers(guarded: EmbeddedBroker) -> Iterator[Workers]:
    made = Workers(guarded.bootstrap_servers)
    yield made
    made.close()


def config_records(workers: Workers, name: str, prefix: str) -> list[object]:
    records = read_committed(workers.bootstrap, f"{workers.group}-configs")
    return [json.loads(record.value or b"null") for record in records if record.key == f"{prefix}{name}".encode()]


def no_producer_may_write_as(bootstrap: str, transactional_id: str) -> AbstractContextManager[None]:
    what = (ResourceType.TRANSACTIONAL_ID, transactional_id, ResourcePatternType.PREFIXED, "User:ANONYMOUS", "*")
    return rules_in_force(bootstrap, (*what, AclOperation.WRITE, AclPermissionType.DENY))


def no_producer_may_write_to(bootstrap: str, topic: str) -> AbstractContextManager[None]:
    what = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:ANONYMOUS", "*")
    return rules_in_force(bootstrap, *((*what, *end) for end in all_but(AclOperation.WRITE)))


# ---- the leader


def test_a_fenced_leader_recovers(workers: Workers) -> None:
    """As if another leader had been there meanwhile: the next write claims the topic again, and is done."""
    leader = workers.start()
    workers.put("c", 1)
    workers.wait_for_tasks("c", 1)
    other = TransactionalProducer(
        {"bootstrap.servers": workers.bootstrap, "transactional.id": f"connect-cluster-{workers.group}"}
    )
    other.init_transactions(20)
    workers.put("c", 3)
    workers.wait_for_tasks("c", 3)
    other.begin()
    other.records.send(f"{workers.group}-configs", b"connector-x", b"{}")
    with pytest.raises(ProducerFencedError):
        other.commit(20)
    other.close()
    assert leader.http.get("/connectors").json() == ["c"]


def test_a_write_without_permission_is_answered_with_the_error(workers: Workers) -> None:
    leader = workers.start()
    workers.put("c", 1)
    with no_producer_may_write_as(workers.bootstrap, f"connect-cluster-{workers.group}"):
        answer = leader.http.put("/connectors/c/pause")
        assert answer.status_code == 500 and "transactional" in answer.json()["message"].lower(), answer.text
    wait_for(lambda: leader.http.put("/connectors/c/pause").status_code == 202, 30, "the claim")
    workers.wait_for_tasks("c", 1, "PAUSED")


def test_a_worker_that_has_stopped_leaves_no_clients(workers: Workers) -> None:
    """Each that its errors and threads kept would go on with its connections as long as the process lives."""
    workers.start()
    workers.start()
    workers.put("c", 2)
    workers.wait_for_tasks("c", 2)
    take_writes_away(workers)
    workers.put("c", 3)
    workers.wait_for_tasks("c", 3)
    with no_producer_may_write_as(workers.bootstrap, f"connect-cluster-{workers.group}"):
        assert workers.leader.http.put("/connectors/c/pause").status_code == 500
    herders = [weakref.ref(node.herder) for node in workers.nodes]
    workers.close()
    wait_for(lambda: gc.collect() >= 0 and not any(herder() for herder in herders), 30, "the end of all herders")


def take_writes_away(workers: Workers) -> None:
    """As another leader would."""
    props = {"bootstrap.servers": workers.bootstrap, "transactional.id": f"connect-cluster-{workers.group}"}
    other = TransactionalProducer(props)
    other.init_transactions(20)
    other.close()


# ---- rounds of fencing


def test_reconfiguration_fences_all_former_producers(workers: Workers) -> None:
    """3, 5, 1, 5 and 3 tasks on two workers: former producers can write no more, however many come after."""
    workers.start()
    workers.start()
    topic = f"{workers.group}-out"
    make_topic(workers.bootstrap, topic)
    former: set[int] = set()
    for count in (3, 5, 1, 5, 3):
        workers.put("c", count)
        workers.wait_for_tasks("c", count)
        launched = workers.launched("c")
        current = {id(task) for task in launched if not task.await_stopped(0)}
        assert len(current) == count
        for task in launched:
            if id(task) not in current and id(task) not in former:
                assert is_fenced(task, topic), f"task {task.spec.id} of a former generation can still write"
        former.update(id(task) for task in launched if id(task) not in current)
    assert not read_committed(workers.bootstrap, topic)
    for prefix, field in (("tasks-count-", "tasks"), ("tasks-fencing-", "task-count")):
        assert config_records(workers, "c", prefix) == [{field: count} for count in (3, 5, 1, 5, 3)]


def test_a_connector_created_again_fences_the_deleted_ones_tasks(workers: Workers) -> None:
    """KIP-618, *Fencing on deletion*: a deletion fences no producer, so its task count record has to outlive it.

    Task 0 of the deleted connector is fenced by its successor of the same transactional id, the others by the round.
    """
    workers.start()
    workers.start()
    topic = f"{workers.group}-out"
    make_topic(workers.bootstrap, topic)
    workers.put("c", 3)
    workers.wait_for_tasks("c", 3)
    former = workers.launched("c")
    assert workers.leader.http.delete("/connectors/c").status_code == 204
    wait_for(lambda: all(task.await_stopped(0) for task in former), 30, "its tasks' end")
    workers.put("c", 1)
    workers.wait_for_tasks("c", 1)
    assert len(former) == 3
    for task in former:
        assert is_fenced(task, topic), f"task {task.spec.id} of the deleted connector can still write"
    assert not read_committed(workers.bootstrap, topic)
    for prefix, field in (("tasks-count-", "tasks"), ("tasks-fencing-", "task-count")):
        assert config_records(workers, "c", prefix) == [{field: 3}, {field: 1}], "no tombstone between them"


def test_offsets_changed_through_an_enabled_follower_of_a_preparing_leader(workers: Workers) -> None:
    """KIP-875: former tasks are fenced before, whichever worker is asked, and whatever the leader's own setting is."""
    leader = workers.start("preparing")
    follower = workers.start("enabled")
    assert leader.leads
    topic = f"{workers.group}-out"
    make_topic(workers.bootstrap, topic)
    workers.put("c", 4)
    workers.wait_for_tasks("c", 4)
    assert follower.http.put("/connectors/c/stop").status_code == 204
    wait_for(lambda: not workers.tasks("c"), 30, "the end of its tasks")
    former = [task for task in workers.launched("c") if task.producer is not None]
    assert former, "no task of the enabled worker was transactional"
    wait_for(lambda: follower.http.delete("/connectors/c/offsets").status_code == 204, 30, "the change")
    for task in former:
        assert is_fenced(task, topic), f"task {task.spec.id} can still commit offsets"


def test_a_start_that_is_refused_is_logged_with_its_reason(workers: Workers, caplog: pytest.LogCaptureFixture) -> None:
    """KIP-618, *Source task startup*: of a task that is not to start the worker says why."""
    leader = workers.start()
    workers.put("c", 2)
    workers.wait_for_tasks("c", 2)
    assert leader.herder.owns_task_generation(ConnectorTaskId("c", 1))
    workers.put("c", 1)
    workers.wait_for_tasks("c", 1)
    assert not leader.herder.owns_task_generation(ConnectorTaskId("c", 1))
    assert "Task c-1 may not continue here: it is not assigned to this worker any more" in caplog.messages


def test_inability_to_fence(workers: Workers) -> None:
    """FAILED with the trace on the leader and on the follower alike; granted, and restarted, they run."""
    nodes = {workers.start().address, workers.start().address}
    workers.put("c", 2)
    assert {task["worker_id"] for task in workers.wait_for_tasks("c", 2)} == nodes
    before = len(workers.launched("c"))
    with no_producer_may_write_as(workers.bootstrap, f"{workers.group}-c-"):
        workers.put("c", 2, throughput="1")
        failed = workers.wait_for_tasks("c", 2, "FAILED")
        assert {task["worker_id"] for task in failed} == nodes
        for task in failed:
            assert "Traceback" in task["trace"] and "AuthorizationError" in task["trace"], task["trace"]
            assert f"transactional.id '{workers.group}-c-" in task["trace"]
        assert len(workers.launched("c")) == before, "no task was started without its round of fencing"
        assert len(config_records(workers, "c", "tasks-count-")) == 1
    for task in range(2):
        assert workers.leader.http.post(f"/connectors/c/tasks/{task}/restart").status_code == 204
    workers.wait_for_tasks("c", 2)
    assert len(config_records(workers, "c", "tasks-count-")) == 2


def test_former_tasks_have_their_time_before_they_are_fenced(workers: Workers) -> None:
    """Those that do not end are killed; the rebalance and the round do not wait for ever."""
    for _ in range(2):
        workers.start().launcher.blocked = True
    workers.put("c", 2)
    workers.wait_for_tasks("c", 2)
    stubborn = workers.launched("c")
    for node in workers.nodes:
        node.launcher.blocked = False
    workers.put("c", 3)
    workers.wait_for_tasks("c", 3)
    assert len(stubborn) == 2 and all(task.killed for task in stubborn)
    assert all(is_fenced(task, f"{workers.group}-out") for task in stubborn)


# ---- changes of offsets


def test_a_reset_that_ends_halfway_brings_no_old_offsets_back(workers: Workers) -> None:
    """The workers' topic, whose copy is old, is first to lose its offsets (KAFKA-15018): here it cannot be written."""
    leader, own, common = workers.start(), f"{workers.group}-own", f"{workers.group}-offsets"
    key = encode_key("c", {"id": 0})
    stale = Producer({"bootstrap.servers": workers.bootstrap})
    stale.produce(common, encode_offset({"seqno": 1}), key)
    assert stale.flush(20) == 0
    workers.put("c", 1, **{"offsets.storage.topic": own})
    workers.wait_for_tasks("c", 1)
    task = workers.launched("c")[0].producer
    assert task is not None
    task.begin()
    task.records.send(own, key, encode_offset({"seqno": 5}))
    task.commit(20)
    assert leader.http.put("/connectors/c/stop").status_code == 204
    wait_for(lambda: workers.tasks("c") == [], 30, "its stop")
    current = [{"partition": {"id": 0}, "offset": {"seqno": 5}}]
    with no_producer_may_write_to(workers.bootstrap, common):
        refused = once_settled(lambda: leader.http.delete("/connectors/c/offsets"))
        assert refused.status_code == 500 and common in refused.json()["message"], refused.text
        assert leader.http.get("/connectors/c/offsets").json()["offsets"] == current
    wait_for(lambda: leader.http.delete("/connectors/c/offsets").status_code in (200, 204), 30, "the reset")
    assert leader.http.get("/connectors/c/offsets").json()["offsets"] == []


# ---- upgrades and downgrades


@pytest.mark.parametrize("protocol", ["sessioned", "eager"])
def test_rolling_upgrade_and_soft_downgrade(workers: Workers, protocol: str) -> None:
    """disabled → preparing → enabled worker by worker, and back, under both kinds of rebalance."""
    props = {"connect.protocol": protocol}
    first, second = (workers.start("preparing", **props) for _ in range(2))
    workers.put("c", 2)
    workers.wait_for_tasks("c", 2)
    assert not any(task.spec.exactly_once for task in workers.launched("c"))
    assert config_records(workers, "c", "tasks-count-") == []

    follower = second if first.leads else first
    workers.stop(follower)
    enabled = workers.start("enabled", **props)
    assert not enabled.leads, "the leader of the group is still preparing"
    workers.wait_for_tasks("c", 2)
    assert [task.confirmed.result(10) for task in enabled.launcher.launched if task.spec.exactly_once] == [True]
    assert config_records(workers, "c", "tasks-count-") == [{"tasks": 2}], "the preparing leader was asked for it"

    workers.stop(next(node for node in workers.nodes if node is not enabled))
    workers.start("enabled", **props)
    workers.wait_for_tasks("c", 2)
    running = [task for task in workers.launched("c") if not task.await_stopped(0)]
    assert len(running) == 2 and all(task.spec.exactly_once for task in running)

    for node in tuple(workers.nodes):
        workers.stop(node)
        workers.start("disabled", **props)
        workers.wait_for_tasks("c", 2)
    assert not any(task.spec.exactly_once for task in workers.launched("c"))
    workers.put("c", 3)
    workers.wait_for_tasks("c", 3)
    assert config_records(workers, "c", "tasks-count-") == [{"tasks": 2}], "those of the downgraded need no fencing"

    for node in tuple(workers.nodes):
        workers.stop(node)
    workers.start("enabled", **props)
    workers.wait_for_tasks("c", 3)
    assert config_records(workers, "c", "tasks-count-") == [{"tasks": 2}, {"tasks": 3}]
