# SPDX-License-Identifier: Apache-2.0
"""The groups of records that the store writes in one transaction."""

from __future__ import annotations

import pytest

from headrace.model.cluster_config_state import ClusterConfigState, OffsetsTopic
from headrace.model.state import TargetState
from headrace.storage.config_write_encoder import describe_write, encode_write
from headrace.storage.config_writes import (
    ConfigWrite,
    ConnectorRemoval,
    ConnectorWrite,
    OffsetsDeletedWrite,
    OffsetsTopicWrite,
    TargetStateWrite,
    TaskConfigsWrite,
    TaskCountWrite,
)

CONFIG = {"name": "c"}
TASKS = ClusterConfigState(connector_configs={"c": CONFIG}, task_counts={"c": 2}, task_count_records={"c": 3})


def keys(write: ConfigWrite, state: ClusterConfigState, *live: bytes) -> list[str]:
    return [key.decode() for key, _ in encode_write(write, state, lambda name: frozenset(live))]


def test_a_connector_comes_after_its_target_state() -> None:
    assert keys(ConnectorWrite("c", CONFIG), TASKS) == ["connector-c"]
    assert keys(ConnectorWrite("c", CONFIG, TargetState.PAUSED), TASKS) == ["target-state-c", "connector-c"]


def test_tasks_are_in_force_with_their_commit() -> None:
    assert keys(TaskConfigsWrite("c", [{}, {}]), TASKS) == ["task-c-0", "task-c-1", "commit-c"]
    assert keys(TaskConfigsWrite("c", []), TASKS) == ["commit-c"]


def test_a_stop_ends_the_tasks_first() -> None:
    stop = TargetStateWrite("c", TargetState.STOPPED)
    assert keys(stop, TASKS) == ["commit-c", "target-state-c"]
    assert keys(stop, ClusterConfigState(inconsistent=frozenset({"c"}))) == ["commit-c", "target-state-c"]
    assert keys(stop, ClusterConfigState()) == ["target-state-c"]
    assert keys(TargetStateWrite("c", TargetState.PAUSED), TASKS) == ["target-state-c"]


def test_a_task_count_is_written_for_both_readers() -> None:
    assert keys(TaskCountWrite("c", 2), TASKS) == ["tasks-count-c", "tasks-fencing-c"]


def test_a_removal_keeps_the_task_count() -> None:
    live = (b"task-c-0", b"connector-c", b"tasks-fencing-c", b"tasks-count-c", b"commit-c")
    group = encode_write(ConnectorRemoval("c"), TASKS, lambda name: frozenset(live))
    assert [key for key, _ in group] == [b"connector-c", b"target-state-c", b"commit-c", b"task-c-0"]
    assert {value for _, value in group} == {None}


def test_a_removal_notes_offsets_that_are_to_be_deleted() -> None:
    removal = ConnectorRemoval("c", with_offsets=True)
    *_, last = encode_write(removal, TASKS, lambda name: frozenset())
    assert last == (b"removed-offsets-c", b'{"properties":{"name":"c"},"producers":3}')
    assert keys(removal, ClusterConfigState()) == ["connector-c", "target-state-c"], "there is no such connector"
    assert encode_write(OffsetsDeletedWrite("c"), TASKS, lambda name: frozenset()) == ((b"removed-offsets-c", None),)


def test_a_known_offsets_topic_is_not_written_again() -> None:
    topic = OffsetsTopic("o", "A")
    assert keys(OffsetsTopicWrite(topic), ClusterConfigState()) == ["offsets-topic"]
    assert keys(OffsetsTopicWrite(topic), ClusterConfigState(offsets_topic=topic)) == []


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (ConnectorWrite("c", CONFIG), "the configuration of connector 'c'"),
        (TargetStateWrite("c", TargetState.STOPPED), "target state STOPPED of connector 'c'"),
    ],
)
def test_a_write_has_a_name_for_messages(write: ConfigWrite, text: str) -> None:
    assert describe_write(write) == text
