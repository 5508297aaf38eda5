# SPDX-License-Identifier: Apache-2.0
"""Records of ours that Java does not have: restarts of single tasks, and connectors removed with their offsets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.api.errors import DataError
from headrace.model.auto_restart import RestartCount
from headrace.model.cluster_config_state import RemovedOffsets
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.storage import config_records as records
from headrace.storage.config_log import ConfigLog, RestartRequested, TaskRestartRequested

CONFIG = {"name": "a-b", "connector.class": "X"}


def apply(log: ConfigLog, *group: records.Record) -> list[object]:
    updates: list[object] = []
    for record in group:
        updates += log.apply(*record, log.state.offset + 1)
    return updates


def test_a_task_is_to_be_restarted() -> None:
    log = ConfigLog()
    assert apply(log, *records.encode(records.TaskRestartRecord(ConnectorTaskId("a-b", 3)))) == [
        TaskRestartRequested(ConnectorTaskId("a-b", 3))
    ]
    assert log.live_keys("a-b") == {b"restart-task-a-b-3"}


def test_removed_offsets_are_known_until_they_are_gone() -> None:
    log = ConfigLog()
    apply(log, *records.encode(records.ConnectorRecord("a-b", CONFIG)), records.tombstone("connector-a-b"))
    apply(log, *records.encode(records.RemovedOffsetsRecord("a-b", CONFIG, 2)))
    assert log.state.removed_offsets == {"a-b": RemovedOffsets(CONFIG, 2)}
    assert not log.state.contains("a-b")
    apply(log, records.tombstone("removed-offsets-a-b"))
    assert not log.state.removed_offsets and not log.live_keys("a-b") - {b"connector-a-b"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"restart-task-a", b"{}"),
        (b"restart-task-a-0", b"1"),
        (b"removed-offsets-a", b"{}"),
        (b"removed-offsets-a", b"7"),
        (b"session-key", b'{"key":"!!","algorithm":"HmacSHA256","creation-timestamp":1}'),
        (b"session-key", b'{"key":"","algorithm":"HmacSHA256","creation-timestamp":1}'),
        (b"task-a-9999999999", b'{"properties":{}}'),
    ],
)
def test_records_that_make_no_sense_are_passed_over(key: bytes, value: bytes) -> None:
    log = ConfigLog()
    assert log.apply(key, value, 0) == ()
    assert log.state == replace(ConfigLog().state, offset=1) and not log.live_keys("a")


@pytest.mark.parametrize("key", [b"commit-a-b", b"tasks-fencing-a-b", b"tasks-count-a-b"])
@pytest.mark.parametrize("count", [b"-1", b"2147483648", b"1e3", b'"1"', b"true", b"null", b"[1]"])
def test_a_count_that_is_none_is_an_error_and_changes_nothing(key: bytes, count: bytes) -> None:
    log = ConfigLog()
    apply(log, *records.encode(records.ConnectorRecord("a-b", CONFIG)))
    before = log.state
    with pytest.raises(DataError, match="where a count must be"):
        log.apply(key, b'{"tasks":%b,"task-count":%b}' % (count, count), 1)
    assert log.state == replace(before, offset=2)


TASK, COUNT = ConnectorTaskId("a-b", 0), RestartCount(3, 1795229818028)
BY_LEADER = (
    *records.encode(records.TaskRestartRecord(TASK, COUNT)),
    *records.encode(records.RestartRecord("a-b", only_failed=True, include_tasks=False, count=COUNT)),
)


def with_counts() -> ConfigLog:
    log = ConfigLog()
    apply(log, *records.encode(records.ConnectorRecord("a-b", CONFIG)))
    assert apply(log, *BY_LEADER) == [TaskRestartRequested(TASK, COUNT), RestartRequested("a-b", True, False, COUNT)]
    assert log.state.restart_counts == {TASK: COUNT, "a-b": COUNT}
    return log


def test_restarts_of_the_leaders_are_counted_in_their_records() -> None:
    with_counts()
    assert BY_LEADER == (
        (b"restart-task-a-b-0", b'{"restart":true,"attempt":3,"time":1795229818028}'),
        (
            b"restart-connector-a-b",
            b'{"include-tasks":false,"only-failed":true,"attempt":3,"time":1795229818028}',
        ),
    )


@pytest.mark.parametrize(
    ("record", "left"),
    [
        (records.TaskRestartRecord(TASK), {"a-b"}),
        (records.RestartRecord("a-b", only_failed=True, include_tasks=False), {TASK}),
        (records.RestartRecord("a-b", only_failed=True, include_tasks=True), set()),
        (records.ConnectorRecord("a-b", {**CONFIG, "x": "y"}), set()),
        (records.ConnectorRecord("a-b", None), set()),
        (records.TargetStateRecord("a-b", TargetState.PAUSED), set()),
        (records.TargetStateRecord("a-b", TargetState.STARTED), {TASK, "a-b"}),
        (records.ConnectorRecord("a", CONFIG), {TASK, "a-b"}),
    ],
)
def test_operators_reset_the_counts(record: records.ConfigRecord, left: set[object]) -> None:
    log = with_counts()
    apply(log, *records.encode(record))
    assert log.state.restart_counts.keys() == left


@pytest.mark.parametrize(
    "more", [b'"attempt":1', b'"attempt":0,"time":1', b'"attempt":1,"time":-1', b'"attempt":1.5,"time":1']
)
def test_a_count_that_makes_no_sense_is_an_operators_restart(more: bytes) -> None:
    log = with_counts()
    assert log.apply(b"restart-task-a-b-0", b'{"restart":true,%b}' % more, 9) == (TaskRestartRequested(TASK),)
    assert TASK not in log.state.restart_counts


def test_no_key_of_a_removed_connector_is_kept() -> None:
    log = ConfigLog()
    unused = {name: len(value) for name, value in vars(log).items() if isinstance(value, dict)}
    apply(
        log,
        *records.encode(records.ConnectorRecord("a", CONFIG)),
        *records.encode(records.TargetStateRecord("a", TargetState.STOPPED)),
    )
    assert log.live_keys("a")
    # In this order, as a removal is written: without the connector there is no state that would become STARTED.
    apply(log, *(records.tombstone(key.decode()) for key in sorted(log.live_keys("a"))))
    assert {name: len(value) for name, value in vars(log).items() if isinstance(value, dict)} == unused
