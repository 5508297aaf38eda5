# SPDX-License-Identifier: Apache-2.0
"""The model's values in Kafka Connect's JSON shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorOffset,
    ConnectorState,
    ConnectorStateInfo,
    PluginInfo,
    ServerInfo,
    SparkAttempt,
    TaskInfo,
    TaskState,
)
from headrace.model.offsets import OffsetsChanged

Json = dict[str, Any]


def server_info(info: ServerInfo) -> Json:
    return asdict(info)


def connector_info(info: ConnectorInfo) -> Json:
    return {
        "name": info.name,
        "config": dict(info.config),
        "tasks": [_task_id(task) for task in info.tasks],
        "type": info.type,
    }


def connector_status(info: ConnectorStateInfo, spark: Mapping[int, SparkAttempt] | None = None) -> Json:
    """With ``spark``, give each task a block of its Spark attempt, null if it has none on this worker."""
    return {
        "name": info.name,
        "connector": _state(info.connector),
        "tasks": [task_state(task) if spark is None else _with_spark(task, spark) for task in info.tasks],
        "type": info.type,
    }


def task_infos(infos: Iterable[TaskInfo]) -> list[Json]:
    return [{"id": _task_id(info.id), "config": dict(info.config)} for info in infos]


def connector_offsets(offsets: Iterable[ConnectorOffset]) -> Json:
    return {"offsets": [{"partition": entry.partition, "offset": entry.offset} for entry in offsets]}


def offsets_changed(changed: OffsetsChanged, *, dry_run: bool) -> Json:
    """Return Kafka's message; for a dry run the differences too."""
    if not dry_run:
        return {"message": changed.message}
    return {"message": changed.message, "changes": [asdict(difference) for difference in changed.differences]}


def active_topics(name: str, topics: Iterable[str]) -> Json:
    return {name: {"topics": list(topics)}}


def task_state(state: TaskState) -> Json:
    return {"id": state.id, **_state(state)}


def _with_spark(state: TaskState, spark: Mapping[int, SparkAttempt]) -> Json:
    attempt = spark.get(state.id)
    return {**task_state(state), "spark": None if attempt is None else asdict(attempt)}


def plugin_info(info: PluginInfo) -> Json:
    shown = {"class": info.class_name, "type": info.type, "version": info.version, "error": info.error}
    return {key: value for key, value in shown.items() if value is not None}


def config_infos(infos: ConfigInfos) -> Json:
    return asdict(infos)


def config_key_info(info: ConfigKeyInfo) -> Json:
    return asdict(info)


def _task_id(task: ConnectorTaskId) -> Json:
    return {"connector": task.connector, "task": task.task}


def _state(state: ConnectorState | TaskState) -> Json:
    """Leave out trace and version where there is none."""
    shown = {"state": state.state, "worker_id": state.worker_id}
    more = {"trace": state.trace, "version": state.version}
    return {**shown, **{key: value for key, value in more.items() if value is not None}}
