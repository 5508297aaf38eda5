# SPDX-License-Identifier: Apache-2.0
"""The records of each write of the config topic, which one transaction holds in this order (invariant 7). Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.storage import config_records as records
from headrace.storage.config_records import ConfigRecord, Record, encode
from headrace.storage.config_writes import (
    ConfigWrite,
    ConnectorRemoval,
    ConnectorWrite,
    LoggerLevelWrite,
    OffsetsDeletedWrite,
    OffsetsTopicWrite,
    RestartWrite,
    SessionKeyWrite,
    TargetStateWrite,
    TaskConfigsWrite,
    TaskCountWrite,
    TaskRestartWrite,
)

LiveKeys = Callable[[str], frozenset[bytes]]
"""The keys of all records about a connector that no tombstone has removed."""


def encode_write(write: ConfigWrite, state: ClusterConfigState, live_keys: LiveKeys) -> tuple[Record, ...]:
    """Return the records of a write over ``state``, the newest one; none if it would change nothing."""
    if isinstance(write, ConnectorRemoval):
        return _encode_removal(write, state, live_keys(write.name))
    return tuple(pair for record in _records(write, state) for pair in encode(record))


def describe_write(write: ConfigWrite) -> str:
    """Return the name of a write in messages: "the configuration of connector 'c'"."""
    match write:
        case ConnectorWrite(name=name):
            return f"the configuration of connector '{name}'"
        case ConnectorRemoval(name=name):
            return f"the removal of connector '{name}'"
        case OffsetsDeletedWrite(name=name):
            return f"the end of the offsets of connector '{name}'"
        case TaskConfigsWrite(name=name):
            return f"the task configurations of connector '{name}'"
        case TargetStateWrite(name=name, state=state):
            return f"target state {state.value} of connector '{name}'"
        case TaskCountWrite(name=name):
            return f"the task count of connector '{name}'"
        case SessionKeyWrite():
            return "a session key"
        case OffsetsTopicWrite():
            return "which topic the source offsets are in"
        case RestartWrite(name=name):
            return f"a request to restart connector '{name}'"
        case TaskRestartWrite(id=id):
            return f"a request to restart task '{id}'"
        case LoggerLevelWrite(logger=logger, level=level):
            return f"level {level} of logger '{logger}'"


@singledispatch
def _records(write: ConfigWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    raise TypeError(f"unknown write {write!r}")


@_records.register
def _(write: ConnectorWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    connector = records.ConnectorRecord(write.name, write.config)
    if write.target_state is None:
        return (connector,)
    return records.TargetStateRecord(write.name, write.target_state), connector


@_records.register
def _(write: OffsetsDeletedWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    return (records.RemovedOffsetsRecord(write.name, None),)


@_records.register
def _(write: TaskConfigsWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    """Task records and their commit in one transaction; Java's two steps cost a round after a crash."""
    tasks = [records.TaskRecord(ConnectorTaskId(write.name, n), config) for n, config in enumerate(write.configs)]
    return *tasks, records.CommitRecord(write.name, len(tasks))


@_records.register
def _(write: TargetStateWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    """A stop in one step: Java stops in two, and a crash between them leaves a connector that runs without tasks."""
    target = records.TargetStateRecord(write.name, write.state)
    has_tasks = state.task_counts.get(write.name, 0) > 0 or write.name in state.inconsistent
    if write.state is TargetState.STOPPED and has_tasks:
        return records.CommitRecord(write.name, 0), target
    return (target,)


@_records.register
def _(write: TaskCountWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    return (records.TaskCountRecord(write.name, write.tasks),)


@_records.register
def _(write: SessionKeyWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    return (records.SessionKeyRecord(write.key),)


@_records.register
def _(write: OffsetsTopicWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    return () if state.offsets_topic == write.topic else (records.OffsetsTopicRecord(write.topic),)


@_records.register
def _(write: RestartWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    return (records.RestartRecord(write.name, write.only_failed, write.include_tasks, write.count),)


@_records.register
def _(write: TaskRestartWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    return (records.TaskRestartRecord(write.id, write.count),)


@_records.register
def _(write: LoggerLevelWrite, state: ClusterConfigState) -> tuple[ConfigRecord, ...]:
    return (records.LoggerRecord(write.logger, write.level),)


def _encode_removal(
    write: ConnectorRemoval, state: ClusterConfigState, live_keys: frozenset[bytes]
) -> tuple[Record, ...]:
    """Tombstones for all keys but the task count records'.

    Task records that were left would come back with a connector of the same name (KAFKA-16838). The connector's own
    goes first, so that no worker reacts to the rest.

    A task of the removed connector can still be alive, frozen or cut off. A connector of the same name fences it,
    because the task count record says how many producers there are (invariant 2; KIP-618, *Fencing on deletion*).
    """
    name, config = write.name, state.connector_config(write.name)
    first = [f"{records.CONNECTOR}{name}".encode(), f"{records.TARGET_STATE}{name}".encode()]
    kept = {key for key, _ in encode(records.TaskCountRecord(name, 0))}
    rest = sorted(live_keys - kept - set(first))
    group = tuple(records.tombstone(key) for key in (*first, *rest))
    if not write.with_offsets or config is None:
        return group
    producers = state.task_count_records.get(name, 0)
    return group + encode(records.RemovedOffsetsRecord(name, config, producers))
