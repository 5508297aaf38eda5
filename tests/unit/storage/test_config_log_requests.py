# SPDX-License-Identifier: Apache-2.0
"""Records of ours that Java does not have: restarts of single tasks, and connectors removed with their offsets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.api.errors import DataError
from headrace.model.cluster_config_state import RemovedOffsets
from headrace.model.ids import ConnectorTaskId
from headrace.storage import config_records as records
from headrace.storage.config_log import ConfigLog, TaskRestartRequested

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
