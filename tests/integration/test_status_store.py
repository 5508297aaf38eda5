# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from headrace.herder.engine.statuses import StatusReporter
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TaskStatus, TopicStatus
from headrace.storage import status_records
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.status_backing_store import KafkaStatusBackingStore

TASK = ConnectorTaskId("c", 0)


@pytest.fixture
def store(broker: Any) -> Iterator[Callable[[], KafkaStatusBackingStore]]:
    topic, stores = f"status-{uuid.uuid4().hex[:8]}", []

    def make() -> KafkaStatusBackingStore:
        props = {"bootstrap.servers": broker.bootstrap_servers}
        made = KafkaStatusBackingStore(compacted_topic(topic, "status.storage", 5, 1), LogClients(props, props, props))
        stores.append(made)
        made.start()
        return made

    yield make
    for made in stores:
        made.stop()


def _seen(*stores: KafkaStatusBackingStore) -> None:
    """All that was put is written, and read by everybody."""
    for store in stores:
        store.flush(10)
    for store in stores:
        store.refresh(10)


def test_all_workers_read_all_statuses(store: Callable[[], KafkaStatusBackingStore]) -> None:
    one, two = store(), store()
    running = ConnectorStatus("c", State.RUNNING, "w1:8083", 3, None, "1.0")
    failed = TaskStatus(TASK, State.FAILED, "w2:8083", 4, "boom\n\tat x", None)
    one.put(running)
    two.put(failed)
    two.put(TaskStatus(ConnectorTaskId("c", 11), State.RUNNING, "w2:8083", 4))
    one.put_topic(TopicStatus("t", "c", 0, 1700000000000))
    _seen(one, two)
    for each in (one, two, store()):
        assert each.connector("c") == running
        assert each.task(TASK) == failed
        assert [status.id.task for status in each.tasks("c")] == [0, 11]
        assert set(each.keys()) == {"c", TASK, ConnectorTaskId("c", 11), ("c", "t")}
        assert each.topics("c") == (TopicStatus("t", "c", 0, 1700000000000),)
        assert (each.connector("x"), each.task(ConnectorTaskId("x", 0)), each.tasks("x")) == (None, None, ())


def test_a_safe_put_gives_way_to_newer_generations(store: Callable[[], KafkaStatusBackingStore]) -> None:
    one, two = store(), store()
    one.put(TaskStatus(TASK, State.RUNNING, "w1", 5))
    _seen(one, two)
    two.put_safe(TaskStatus(TASK, State.FAILED, "w2", 4))
    _seen(one, two)
    assert one.task(TASK).state is State.RUNNING  # type: ignore[union-attr]
    one.put_safe(TaskStatus(TASK, State.FAILED, "w1", 4))
    two.put_safe(ConnectorStatus("c", State.RUNNING, "w2", 4))
    _seen(one, two)
    assert one.task(TASK).state is State.FAILED  # type: ignore[union-attr]
    assert one.connector("c") is not None


def test_stale_unassigned_does_not_hide_a_running_task(store: Callable[[], KafkaStatusBackingStore]) -> None:
    """KAFKA-12525: the worker that lost the task speaks last."""
    one, two = store(), store()
    one.put(TaskStatus(TASK, State.RUNNING, "w1", 5))
    _seen(one, two)
    two.put(TaskStatus(TASK, State.UNASSIGNED, "w2", 4))
    _seen(one, two)
    for each in (one, two, store()):
        status = each.task(TASK)
        assert status is not None
        assert status.state is State.RUNNING


def test_deletion_and_destroyed_remove(store: Callable[[], KafkaStatusBackingStore]) -> None:
    one = store()
    for name in ("c", "d"):
        one.put(ConnectorStatus(name, State.RUNNING, "w", 1))
        one.put(TaskStatus(ConnectorTaskId(name, 0), State.RUNNING, "w", 1))
        one.put_topic(TopicStatus("t", name, 0, 1))
        one.put_topic(TopicStatus("u", name, 0, 1))
    _seen(one)
    for key in ("c", TASK, ("c", "t"), ("c", "u"), ("d", "u")):
        one.delete(key)
    one.put(ConnectorStatus("d", State.DESTROYED, "w", 2))
    _seen(one)
    for each in (one, store()):
        assert set(each.keys()) == {ConnectorTaskId("d", 0), ("d", "t")}
        assert (each.connector("d"), each.contains("c"), each.contains(("d", "t"))) == (None, False, True)
        assert (each.tasks("c"), each.topics("c")) == ((), ())
        assert len(each.tasks("d")) == 1
        assert [status.topic for status in each.topics("d")] == ["t"]


def test_nothing_is_kept_of_what_is_removed(store: Callable[[], KafkaStatusBackingStore]) -> None:
    """By the worker that has written it, or by another one."""
    one, two = store(), store()
    unwritten = kept(one)
    for name in ("mine", "anothers"):
        one.put(ConnectorStatus(name, State.RUNNING, "w", 1))
        one.put(ConnectorStatus(name, State.UNASSIGNED, "w", 1))
    _seen(one, two)
    assert kept(one) != unwritten
    one.delete("mine")
    two.delete("anothers")
    _seen(two, one)
    _seen(one, two)
    assert kept(one) == kept(two) == unwritten


def kept(store: KafkaStatusBackingStore) -> dict[str, int]:
    """Return the sizes of all that the store keeps by key."""
    return {name: len(value) for name, value in vars(store).items() if isinstance(value, (dict, set))}


@pytest.mark.parametrize("lost", [TASK, "c"])
@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize("ran", [True, False])
def test_a_worker_that_lost_a_task_does_not_overwrite_its_new_owners_status(
    store: Callable[[], KafkaStatusBackingStore], lost: ConnectorTaskId | str, expected: bool, ran: bool
) -> None:
    """It is in the group again, in a newer generation than its successor's, when what it had lost has ended.

    That may not even have begun to run.
    """
    one, two, generation = store(), store(), [3]
    away = StatusReporter(one, "w1:8083", lambda: generation[0])
    successor = StatusReporter(two, "w2:8083", lambda: 4)
    (away.on_startup if ran else away.hold)(lost)
    _seen(one, two)
    successor.on_startup(lost)
    _seen(two, *([one] if expected else []))
    generation[0] = 5
    away.on_shutdown(lost)
    _seen(one, two)
    for each in (one, two, store()):
        status = each.task(TASK) if lost == TASK else each.connector("c")
        assert status is not None and (status.state, status.worker_id) == (State.RUNNING, "w2:8083")
    successor.on_shutdown(lost)
    _seen(two, one)
    assert (one.task(TASK) or one.connector("c") or pytest.fail()).state is State.UNASSIGNED


def test_what_is_written_is_reported_but_not_what_was_there_before(broker: Any) -> None:
    topic, reported = f"status-{uuid.uuid4().hex[:8]}", list[object]()
    props = {"bootstrap.servers": broker.bootstrap_servers}
    spec, clients = compacted_topic(topic, "status.storage", 1, 1), LogClients(props, props, props)
    before = KafkaStatusBackingStore(spec, clients)
    before.start()
    before.put(TaskStatus(TASK, State.RUNNING, "w", 1))
    _seen(before)
    after = KafkaStatusBackingStore(spec, clients, reported.extend)
    after.start()
    assert not reported and after.contains(TASK)
    before.delete(TASK)
    before.put_topic(TopicStatus("t", "c", 0, 1))
    _seen(before, after)
    assert reported == [TASK, ("c", "t")] and not after.contains(TASK)
    before.stop()
    after.stop()


@pytest.mark.parametrize("minutes", [-50, 50])
def test_the_age_of_a_status_does_not_depend_on_the_clock_of_its_worker(broker: Any, minutes: int) -> None:
    """What is read as it is written is of now; what was there before is no younger than now."""
    topic, now = f"status-{uuid.uuid4().hex[:8]}", int(time.time() * 1000)
    props = {"bootstrap.servers": broker.bootstrap_servers}
    spec, clients = compacted_topic(topic, "status.storage", 1, 1), LogClients(props, props, props)
    during, after = KafkaStatusBackingStore(spec, clients), KafkaStatusBackingStore(spec, clients)
    during.start()
    producer, written = Producer(props), now + minutes * 60_000
    key, value = status_records.encode(TaskStatus(TASK, State.FAILED, "w", 1, "broken"))
    producer.produce(topic, key=key, value=value, timestamp=written)
    assert not producer.flush(10)
    during.refresh(10)
    after.start()
    seen, known = during.task(TASK), after.task(TASK)
    during.stop()
    after.stop()
    assert seen is not None and seen.written_ms is not None and now <= seen.written_ms < now + 60_000
    assert known is not None and known.written_ms is not None
    assert known.written_ms == written if minutes < 0 else now <= known.written_ms < now + 60_000
