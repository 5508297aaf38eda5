# SPDX-License-Identifier: Apache-2.0
"""Every record that a real worker was seen to write, both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.model.cluster_config_state import SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TargetState, TaskStatus, TopicStatus
from headrace.storage import config_records, json_bytes, offset_codec, status_records


def _config_record(d: dict[str, Any]) -> config_records.ConfigRecord:
    """A config topic's record as its vector describes it."""
    name = d.get("connector", "")
    match d["kind"]:
        case "connector":
            return config_records.ConnectorRecord(name, d.get("config"))
        case "task":
            return config_records.TaskRecord(ConnectorTaskId(name, d["task"]), d["config"])
        case "commit":
            return config_records.CommitRecord(name, d["tasks"])
        case "target-state":
            state = None if d.get("tombstone") else TargetState(d["state"])
            return config_records.TargetStateRecord(name, state)
        case "tasks-fencing":
            return config_records.TaskCountRecord(name, d["taskCount"])
        case "session-key":
            key = SessionKey(d["key"], d["algorithm"], d["creationTimestamp"])
            return config_records.SessionKeyRecord(key)
        case "restart":
            return config_records.RestartRecord(name, d["onlyFailed"], d["includeTasks"])
        case "logger":
            return config_records.LoggerRecord(d["logger"], d["level"])
        case kind:
            raise AssertionError(kind)


def _status(d: dict[str, Any]) -> tuple[bytes, Any]:
    """A status topic's key, and the status, None for a tombstone."""
    if d["kind"] == "topic-status":
        key = status_records.topic_key(d["connector"], d["topic"])
        return key, None if d.get("tombstone") else TopicStatus(
            d["topic"], d["connector"], d["task"], d["discoverTimestamp"]
        )
    id = ConnectorTaskId(d["connector"], d["task"]) if d["kind"] == "task-status" else None
    key = status_records.task_key(id) if id else status_records.connector_key(d["connector"])
    if d.get("tombstone"):
        return key, None
    rest = (State(d["state"]), d["workerId"], d["generation"], d["trace"], d["version"])
    return key, TaskStatus(id, *rest) if id else ConnectorStatus(d["connector"], *rest)


def test_config_records(vectors: Callable[..., Any], log_bytes: Callable[..., Any]) -> None:
    seen = 0
    for vector in vectors("internal_formats", "internalRecord"):
        if vector["input"]["role"] != "config":
            continue
        seen += 1
        key, value = log_bytes(vector["output"]["key"]), log_bytes(vector["output"]["value"])
        record = _config_record(vector["input"]["decoded"])
        assert config_records.encode(record)[-1] == (key, value), vector["id"]
        parsed = json_bytes.loads(value) if value is not None else None
        assert config_records.decode(key.decode(), parsed) == record, vector["id"]
    assert seen > 50


def test_status_records(vectors: Callable[..., Any], log_bytes: Callable[..., Any]) -> None:
    seen = 0
    for vector in vectors("internal_formats", "internalRecord"):
        if vector["input"]["role"] != "status":
            continue
        seen += 1
        key, value = log_bytes(vector["output"]["key"]), log_bytes(vector["output"]["value"])
        our_key, status = _status(vector["input"]["decoded"])
        assert our_key == key, vector["id"]
        about = status_records.decode_key(key.decode())
        assert about is not None, vector["id"]
        if status is None:
            assert value is None, vector["id"]
            continue
        assert status_records.encode(status) == (key, value), vector["id"]
        assert status_records.decode_status(about, json_bytes.loads(value)) == status, vector["id"]
    assert seen > 40


def test_offset_records(vectors: Callable[..., Any], log_bytes: Callable[..., Any]) -> None:
    seen = 0
    for vector in vectors("internal_formats", "internalRecord"):
        if vector["input"]["role"] not in ("offsets", "own-offsets"):
            continue
        seen += 1
        key, value = log_bytes(vector["output"]["key"]), log_bytes(vector["output"]["value"])
        decoded = vector["input"]["decoded"]
        assert offset_codec.encode_key(decoded["connector"], decoded["partition"]) == key, vector["id"]
        assert offset_codec.encode_offset(decoded["offset"]) == value, vector["id"]
        assert offset_codec.decode_key(key) == (decoded["connector"], decoded["partition"]), vector["id"]
        assert offset_codec.decode_offset(value) == decoded["offset"], vector["id"]
    assert seen == 7


def test_task_counts_are_written_for_both_readers() -> None:
    assert config_records.encode(config_records.TaskCountRecord("c", 3)) == (
        (b"tasks-count-c", b'{"tasks":3}'),
        (b"tasks-fencing-c", b'{"task-count":3}'),
    )
    for key, value in config_records.encode(config_records.TaskCountRecord("c", 3)):
        assert config_records.decode(key.decode(), json_bytes.loads(value)) == config_records.TaskCountRecord("c", 3)
