# SPDX-License-Identifier: Apache-2.0
"""The stores of a worker that is alone."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.model.auto_restart import RestartCount
from headrace.model.cluster_config_state import SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TargetState, TaskStatus, TopicStatus
from headrace.storage import config_log as updates
from headrace.storage import config_writes as writes
from headrace.storage.config_backing_store import ConfigBackingStore
from headrace.storage.memory_config_backing_store import MemoryConfigBackingStore
from headrace.storage.memory_status_backing_store import MemoryStatusBackingStore

T0, T1 = ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)
CONFIG = {"name": "c", "connector.class": "X"}


def test_a_connectors_life() -> None:
    seen: list[Any] = []
    store = MemoryConfigBackingStore(lambda state, changes: seen.append((state.offset, *changes)))
    as_store: ConfigBackingStore = store
    as_store.claim_write_privileges()
    store.write(writes.ConnectorWrite("c", CONFIG, TargetState.PAUSED))
    store.write(writes.TaskConfigsWrite("c", [{"n": "0"}, {"n": "1"}]))
    state = store.snapshot()
    assert state.tasks("c") == (T0, T1) and state.generation("c") == state.offset - 1
    store.write(writes.TargetStateWrite("c", TargetState.STOPPED))
    stopped = store.refresh(0)
    assert (
        stopped.tasks("c") == () and stopped.task_config(T0) is None and stopped.generation("c") == stopped.offset - 1
    )
    store.write(writes.ConnectorRemoval("c", with_offsets=True))
    store.write(writes.TaskConfigsWrite("c", [{}]))
    gone = store.snapshot()
    assert not gone.contains("c") and gone.task_configs == {} and gone.removed_offsets["c"].config == CONFIG
    store.write(writes.OffsetsDeletedWrite("c"))
    assert store.snapshot().removed_offsets == {}
    assert seen == [
        (0, updates.ConnectorUpdated("c")),
        (1, updates.TasksUpdated("c")),
        (2, updates.TasksUpdated("c"), updates.TargetStateChanged("c")),
        (3, updates.ConnectorRemoved("c")),
        (4,),
        (5,),
    ]


def test_requests_are_no_part_of_the_state() -> None:
    seen: list[Any] = []
    store = MemoryConfigBackingStore(lambda state, changes: seen.extend(changes))
    store.write(writes.RestartWrite("c", only_failed=True, include_tasks=False))
    store.write(writes.TaskRestartWrite(T1))
    store.write(writes.LoggerLevelWrite("headrace", "INFO"))
    assert seen == [
        updates.RestartRequested("c", only_failed=True, include_tasks=False),
        updates.TaskRestartRequested(T1),
        updates.LoggerLevelChanged("headrace", "INFO"),
    ]
    with pytest.raises(AssertionError, match="there are none"):
        store.write(writes.SessionKeyWrite(SessionKey("", "", 0)))


def test_statuses_by_their_keys() -> None:
    seen: list[Any] = []
    store = MemoryStatusBackingStore(seen.extend)
    store.put(ConnectorStatus("c", State.RUNNING, "here", 0))
    store.put(TaskStatus(T1, State.RUNNING, "here", 0))
    store.put_safe(TaskStatus(T0, State.FAILED, "here", 0))
    store.put_topic(TopicStatus("t", "c", 1, 0))
    assert [status.id for status in store.tasks("c")] == [T0, T1]
    assert [status.topic for status in store.topics("c")] == ["t"]
    assert set(store.keys()) == {"c", T0, T1, ("c", "t")} == set(seen)
    before = store.keys()
    for key in before:
        store.delete(key)
        assert not store.contains(key)
    assert store.keys() == ()
    assert store.connector("c") is None and store.task(T0) is None


def test_automatic_restarts_are_counted_until_an_operator_resets_them() -> None:
    store, count = MemoryConfigBackingStore(lambda state, changes: None), RestartCount(2, 1)
    store.write(writes.ConnectorWrite("c", CONFIG))

    def counted() -> None:
        store.write(writes.TaskRestartWrite(T0, count))
        store.write(writes.RestartWrite("c", only_failed=True, include_tasks=False, count=count))
        assert store.snapshot().restart_counts == {T0: count, "c": count}

    for reset in (
        writes.RestartWrite("c", only_failed=False, include_tasks=True),
        writes.ConnectorWrite("c", CONFIG),
        writes.TargetStateWrite("c", TargetState.PAUSED),
        writes.ConnectorRemoval("c"),
    ):
        counted()
        store.write(reset)
        assert not store.snapshot().restart_counts, reset
