# SPDX-License-Identifier: Apache-2.0
"""The records of the status topic, as Java Connect writes them. Java: ``KafkaStatusBackingStore``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TaskStatus, TopicStatus
from headrace.storage import json_bytes
from headrace.storage.config_records import task_id

CONNECTOR = "status-connector-"
TASK = "status-task-"
TOPIC = "status-topic-"
_TOPIC_CONNECTOR = ":connector-"

TopicKey = tuple[str, str]
"""A connector and a topic that it uses."""
StatusKey = str | ConnectorTaskId | TopicKey
"""The subject of a status record: a connector by its name, a task, or a connector's topic."""
Status = ConnectorStatus | TaskStatus | TopicStatus
OnStatusUpdate = Callable[[tuple[StatusKey, ...]], None]
"""A listener for the keys of statuses that were written or removed."""


def connector_key(connector: str) -> bytes:
    return f"{CONNECTOR}{connector}".encode()


def task_key(id: ConnectorTaskId) -> bytes:
    return f"{TASK}{id.connector}-{id.task}".encode()


def topic_key(connector: str, topic: str) -> bytes:
    return f"{TOPIC}{topic}{_TOPIC_CONNECTOR}{connector}".encode()


def key_bytes(key: StatusKey) -> bytes:
    """Return the key of the records about a connector, a task or a connector's topic."""
    if isinstance(key, str):
        return connector_key(key)
    return task_key(key) if isinstance(key, ConnectorTaskId) else topic_key(*key)


def encode(status: Status) -> tuple[bytes, bytes | None]:
    """Return a status as key and value; DESTROYED is a tombstone."""
    if isinstance(status, TopicStatus):
        topic = {
            "name": status.topic,
            "connector": status.connector,
            "task": status.task,
            "discoverTimestamp": status.discovered_ms,
        }
        return topic_key(status.connector, status.topic), json_bytes.dumps({"topic": topic})
    key = connector_key(status.connector) if isinstance(status, ConnectorStatus) else task_key(status.id)
    return key, None if status.state is State.DESTROYED else _encode_state(status)


def _encode_state(status: ConnectorStatus | TaskStatus) -> bytes:
    return json_bytes.dumps(
        {
            "state": status.state.value,
            "trace": status.trace,
            "worker_id": status.worker_id,
            "generation": status.generation,
            "version": status.version,
        }
    )


def decode_key(key: str) -> StatusKey | None:
    """Return the subject of a record; None for keys of another format."""
    if key.startswith(CONNECTOR):
        return key.removeprefix(CONNECTOR) or None
    if key.startswith(TASK):
        return task_id(key.removeprefix(TASK))
    if key.startswith(TOPIC):
        # A topic's name cannot hold a colon, a connector's can.
        topic, separator, connector = key.removeprefix(TOPIC).partition(_TOPIC_CONNECTOR)
        return (connector, topic) if separator and topic and connector else None
    return None


def is_topic_key(key: StatusKey) -> TypeGuard[TopicKey]:
    """Return true if ``key`` is that of a topic that a connector uses."""
    return isinstance(key, tuple) and not isinstance(key, ConnectorTaskId)


def decode_status(key: StatusKey, value: Any) -> Status | None:
    """Return the status of a key and its parsed value; None for an invalid value."""
    if not isinstance(value, dict):
        return None
    if isinstance(key, tuple) and not isinstance(key, ConnectorTaskId):
        return _decode_topic(value.get("topic"))
    state, generation = value.get("state"), value.get("generation")
    worker, trace, version = value.get("worker_id"), value.get("trace"), value.get("version")
    if not isinstance(state, str) or state not in State.__members__ or type(generation) is not int:
        return None
    if not all(text is None or isinstance(text, str) for text in (worker, trace, version)):
        return None
    if isinstance(key, ConnectorTaskId):
        return TaskStatus(key, State(state), worker, generation, trace, version)
    return ConnectorStatus(key, State(state), worker, generation, trace, version)


def _decode_topic(value: Any) -> TopicStatus | None:
    match value:
        case {"name": str() as topic, "connector": str() as name, "task": task, "discoverTimestamp": at}:
            return TopicStatus(topic, name, task, at) if type(task) is type(at) is int else None
    return None
