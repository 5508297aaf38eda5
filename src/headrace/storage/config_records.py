# SPDX-License-Identifier: Apache-2.0
"""The records of the config topic, as Java Connect writes them. Java: ``KafkaConfigBackingStore``'s keys and schemas.

A record is a pair of key and value bytes. Task counts are written under KIP-618's key and under the released one.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from headrace.api.errors import DataError
from headrace.model.auto_restart import RestartCount
from headrace.model.cluster_config_state import Config, OffsetsTopic, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.storage import json_bytes

T = TypeVar("T")

Record = tuple[bytes, bytes | None]

CONNECTOR = "connector-"
TASK = "task-"
COMMIT = "commit-"
TARGET_STATE = "target-state-"
RESTART = "restart-connector-"
TASK_RESTART = "restart-task-"
REMOVED_OFFSETS = "removed-offsets-"
TASK_COUNT_RELEASED = "tasks-fencing-"
TASK_COUNT_KIP = "tasks-count-"
LOGGER = "logger-cluster-"
SESSION_KEY = "session-key"
OFFSETS_TOPIC = "offsets-topic"

_TASK_NUMBER = re.compile("[0-9]{1,10}")
_MAX_INT = 2**31 - 1
"""Java's greatest task number and count."""
_MAX_LONG = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ConnectorRecord:
    """A connector's configuration; None removes the connector."""

    connector: str
    config: Config | None


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task's configuration, in force with the next commit record; None is what a removal leaves."""

    id: ConnectorTaskId
    config: Config | None


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """The connector has ``tasks`` tasks, configured by the records before this one; None is what a removal leaves."""

    connector: str
    tasks: int | None


@dataclass(frozen=True, slots=True)
class TargetStateRecord:
    """The target state of a connector; None is the default."""

    connector: str
    state: TargetState | None


@dataclass(frozen=True, slots=True)
class TaskCountRecord:
    """The number of task producers that the next round of zombie fencing has to fence (KIP-618)."""

    connector: str
    tasks: int | None


@dataclass(frozen=True, slots=True)
class SessionKeyRecord:
    """The key that signs requests between workers (KIP-507)."""

    key: SessionKey


@dataclass(frozen=True, slots=True)
class RestartRecord:
    """A request to restart a connector and some of its tasks (KIP-745).

    ``count`` is an extension: the leader requests the restart itself, as one of a row. Java ignores it.
    """

    connector: str
    only_failed: bool
    include_tasks: bool
    count: RestartCount | None = None


@dataclass(frozen=True, slots=True)
class TaskRestartRecord:
    """A request to restart one task. An extension: Java sends it to the task's worker, and knows no such record."""

    id: ConnectorTaskId
    count: RestartCount | None = None


@dataclass(frozen=True, slots=True)
class RequestRemovedRecord:
    """A removal of the connector has removed a request to restart it or one of its tasks; nothing follows from it."""

    connector: str


@dataclass(frozen=True, slots=True)
class RemovedOffsetsRecord:
    """The offsets of a removed connector are to be deleted; without ``config`` they are deleted.

    An extension, as ``TaskRestartRecord``.
    """

    connector: str
    config: Config | None
    producers: int = 0


@dataclass(frozen=True, slots=True)
class LoggerRecord:
    """A logger's level for the whole cluster (KIP-976)."""

    logger: str
    level: str


@dataclass(frozen=True, slots=True)
class OffsetsTopicRecord:
    """The topic that the source offsets are in. An extension, as ``TaskRestartRecord``."""

    topic: OffsetsTopic


ConfigRecord = (
    ConnectorRecord
    | TaskRecord
    | CommitRecord
    | TargetStateRecord
    | TaskCountRecord
    | SessionKeyRecord
    | RestartRecord
    | TaskRestartRecord
    | RequestRemovedRecord
    | RemovedOffsetsRecord
    | LoggerRecord
    | OffsetsTopicRecord
)


# ---- writing


def encode(record: ConfigRecord) -> tuple[Record, ...]:
    """Return a record as key and value bytes; None as its content is a tombstone.

    A task count comes under both keys, the released one last; to be written in one transaction.
    """
    if isinstance(record, TaskCountRecord):
        return (
            _pair(TASK_COUNT_KIP + record.connector, record.tasks, lambda tasks: {"tasks": tasks}),
            _pair(TASK_COUNT_RELEASED + record.connector, record.tasks, lambda tasks: {"task-count": tasks}),
        )
    return (_encode_one(record),)


def _encode_one(record: ConfigRecord) -> Record:
    match record:
        case ConnectorRecord(name, config):
            return _pair(CONNECTOR + name, config, _properties)
        case TaskRecord(id, config):
            return _pair(f"{TASK}{id.connector}-{id.task}", config, _properties)
        case CommitRecord(name, tasks):
            return _pair(COMMIT + name, tasks, lambda tasks: {"tasks": tasks})
        case TargetStateRecord(name, state):
            return _pair(TARGET_STATE + name, state, _states)
        case SessionKeyRecord(key):
            fields = {"key": key.key, "algorithm": key.algorithm, "creation-timestamp": key.created_ms}
            return _record(SESSION_KEY, fields)
        case RestartRecord(name, only_failed, include_tasks, count):
            fields = {"include-tasks": include_tasks, "only-failed": only_failed, **_count(count)}
            return _record(RESTART + name, fields)
        case TaskRestartRecord(id, count):
            return _record(f"{TASK_RESTART}{id.connector}-{id.task}", {"restart": True, **_count(count)})
        case RemovedOffsetsRecord(name, config, producers):
            return _pair(REMOVED_OFFSETS + name, config, lambda config: {"properties": config, "producers": producers})
        case LoggerRecord(logger, level):
            return _record(LOGGER + logger, {"level": level})
        case OffsetsTopicRecord(topic):
            return _record(OFFSETS_TOPIC, {"topic": topic.name, "id": topic.id})
        case _:
            raise TypeError(f"a record that is only read: {record!r}")


def _properties(config: Config) -> dict[str, Any]:
    return {"properties": config}


def _count(count: RestartCount | None) -> dict[str, Any]:
    return {} if count is None else {"attempt": count.attempts, "time": count.last_ms}


def _states(state: TargetState) -> dict[str, Any]:
    """Return both spellings: readers from before KIP-875 do not know STOPPED and get PAUSED."""
    old = TargetState.PAUSED if state is TargetState.STOPPED else state
    return {"state": old.value, "state.v2": state.value}


def _pair(key: str, content: T | None, value: Callable[[T], Mapping[str, Any]]) -> Record:
    return tombstone(key) if content is None else _record(key, value(content))


def tombstone(key: str | bytes) -> Record:
    return (key.encode() if isinstance(key, str) else key), None


def _record(key: str, value: Mapping[str, Any]) -> Record:
    return key.encode(), json_bytes.dumps(value)


# ---- reading


def decode(key: str, value: Any) -> ConfigRecord | None:
    """Return the record of a key and its parsed value; None for an invalid value, as Java passes over such records.

    Raise DataError for an invalid count: the cluster's tasks are unknown then.
    """
    if key == SESSION_KEY:
        return _session_key(value)
    if key == OFFSETS_TOPIC:
        return _offsets_topic(value)
    for prefix, decoder in _DECODERS:
        if key.startswith(prefix):
            return decoder(key.removeprefix(prefix), value)
    return None


def _connector(name: str, value: Any) -> ConfigRecord | None:
    if value is None:
        return ConnectorRecord(name, None)
    config = _config(value)
    return ConnectorRecord(name, config) if config is not None else None


def _task(rest: str, value: Any) -> ConfigRecord | None:
    id = task_id(rest)
    if id is None:
        return None
    if value is None:
        return TaskRecord(id, None)
    config = _config(value)
    return TaskRecord(id, config) if config is not None else None


def task_id(text: str) -> ConnectorTaskId | None:
    """Return the task that ``connector-0`` names; None if it names none."""
    name, _, number = text.rpartition("-")
    if not name or _TASK_NUMBER.fullmatch(number) is None or int(number) > _MAX_INT:
        return None
    return ConnectorTaskId(name, int(number))


def _commit(name: str, value: Any) -> ConfigRecord | None:
    if value is None:
        return CommitRecord(name, None)
    return CommitRecord(name, _whole(value.get("tasks"), COMMIT + name)) if isinstance(value, dict) else None


def _target_state(name: str, value: Any) -> ConfigRecord | None:
    if value is None:
        return TargetStateRecord(name, None)
    newer, older = _member(value, "state.v2"), _member(value, "state")
    state = newer if isinstance(newer, str) else older
    known = isinstance(state, str) and state in TargetState.__members__
    return TargetStateRecord(name, TargetState(state)) if known else None


def _task_count(field: str, name: str, value: Any) -> ConfigRecord | None:
    if value is None:
        return TaskCountRecord(name, None)
    return TaskCountRecord(name, _whole(value.get(field), name)) if isinstance(value, dict) else None


def _session_key(value: Any) -> ConfigRecord | None:
    key, algorithm = _member(value, "key"), _member(value, "algorithm")
    created = _member(value, "creation-timestamp")
    if not (_is_base64(key) and isinstance(algorithm, str) and type(created) is int):
        return None
    return SessionKeyRecord(SessionKey(key, algorithm, created))


def _offsets_topic(value: Any) -> ConfigRecord | None:
    name, id = _member(value, "topic"), _member(value, "id")
    return OffsetsTopicRecord(OffsetsTopic(name, id)) if isinstance(name, str) and isinstance(id, str) else None


def _is_base64(key: Any) -> bool:
    try:
        return isinstance(key, str) and len(base64.b64decode(key, validate=True)) > 0
    except ValueError:
        return False


def _restart(name: str, value: Any) -> ConfigRecord | None:
    if value is None:
        return RequestRemovedRecord(name)
    if not isinstance(value, dict):
        return None
    only_failed, include_tasks = value.get("only-failed") is True, value.get("include-tasks") is True
    return RestartRecord(name, only_failed, include_tasks, _restart_count(value))


def _task_restart(rest: str, value: Any) -> ConfigRecord | None:
    id = task_id(rest)
    if id is None:
        return None
    if value is None:
        return RequestRemovedRecord(id.connector)
    return TaskRestartRecord(id, _restart_count(value)) if isinstance(value, dict) else None


def _restart_count(value: Mapping[str, Any]) -> RestartCount | None:
    """Return None for a restart that an operator has requested, and for numbers that make no sense."""
    attempt, time = value.get("attempt"), value.get("time")
    if type(attempt) is not int or type(time) is not int or not 0 < attempt <= _MAX_INT or not 0 <= time <= _MAX_LONG:
        return None
    return RestartCount(attempt, time)


def _removed_offsets(name: str, value: Any) -> ConfigRecord | None:
    if value is None:
        return RemovedOffsetsRecord(name, None)
    config = _config(value)
    if config is None:
        return None
    return RemovedOffsetsRecord(name, config, _whole(value.get("producers"), REMOVED_OFFSETS + name))


def _logger(name: str, value: Any) -> ConfigRecord | None:
    level = _member(value, "level")
    return LoggerRecord(name, level) if isinstance(level, str) else None


_DECODERS = (
    (TARGET_STATE, _target_state),
    (CONNECTOR, _connector),
    (TASK_COUNT_RELEASED, lambda name, value: _task_count("task-count", name, value)),
    (TASK_COUNT_KIP, lambda name, value: _task_count("tasks", name, value)),
    (TASK, _task),
    (COMMIT, _commit),
    (RESTART, _restart),
    (TASK_RESTART, _task_restart),
    (REMOVED_OFFSETS, _removed_offsets),
    (LOGGER, _logger),
)


def _config(value: Any) -> Config | None:
    """Return the ``properties`` as texts, numbers and booleans in JSON's spelling; None for anything else.

    Java keeps any value, and fails wherever it is used.
    """
    properties = _member(value, "properties")
    if not isinstance(properties, dict) or any(isinstance(text, dict | list) for text in properties.values()):
        return None
    return {
        name: text if text is None or isinstance(text, str) else json_bytes.dumps(text).decode()
        for name, text in properties.items()
    }


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _whole(value: Any, key: str) -> int:
    if type(value) is not int or not 0 <= value <= _MAX_INT:
        raise DataError(f"The config topic's record for '{key}' holds {value!r:.100} where a count must be")
    return value
