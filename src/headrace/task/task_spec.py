# SPDX-License-Identifier: Apache-2.0
"""The specification of a task, with everything that its process needs to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState


class TaskKind(str, Enum):
    """Source or sink."""

    SOURCE = "source"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """The specification of one task; picklable, sent over the task channel so that nothing of it shows in Spark's UI.

    ``task_class`` is an importable ``module:Class``. ``task_config`` is the configuration that the connector
    returned for this task, ``connector_config`` the connector's, ``worker_config`` the worker's (defaults of
    converters, flush intervals).
    ``producer`` and ``consumer`` are complete Java-style client properties of the task's clients (``transactional.id``,
    ``client.id`` and the connector's overrides included); a sink's producer, if there is one, is for dead letters.
    ``protected_paths`` are the worker's own files, which tasks may not write to.
    ``offsets_topic`` is empty where the worker keeps offsets elsewhere, and so writes them on request.
    """

    id: ConnectorTaskId
    kind: TaskKind
    task_class: str
    task_config: Mapping[str, str]
    connector_config: Mapping[str, str]
    worker_config: Mapping[str, str]
    producer: Mapping[str, str]
    consumer: Mapping[str, str]
    offsets_topic: str
    exactly_once: bool
    target_state: TargetState = TargetState.STARTED
    protected_paths: frozenset[str] = frozenset()
