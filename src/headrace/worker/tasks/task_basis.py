# SPDX-License-Identifier: Apache-2.0
"""The parts of a task's specification that are known before its connector has returned the task's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.config import client_configs
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.config.worker_config import WorkerConfig
from headrace.plugins.discovery import Plugins, connector_type
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.task.task_spec import TaskKind


@dataclass(frozen=True, slots=True)
class TaskBasis:
    """The basis of one task's specification, with references resolved; fields as those of ``TaskSpec``."""

    kind: TaskKind
    config: ResolvedConfig
    """The connector's configuration."""
    connector_config: Mapping[str, str]
    worker_config: Mapping[str, str]
    consumer: Mapping[str, str]
    exactly_once: bool


def task_basis(worker: WorkerConfig, plugins: Plugins, config: ResolvedConfig, task: int) -> TaskBasis:
    """Return the basis of a connector's task of that number; imports the connector's class.

    Raise ConfigError for a configuration that cannot be run.
    """
    with config.hidden_errors():
        cls = plugins.connector(config.config.get("connector.class") or "")
        is_source = connector_type(cls) == "source"
        connector = SourceConnectorConfig(config.config) if is_source else SinkConnectorConfig(config.config)
    return TaskBasis(
        kind=TaskKind.SOURCE if is_source else TaskKind.SINK,
        config=config,
        connector_config=dict(connector.raw),
        worker_config=worker.for_tasks(),
        consumer={} if is_source else client_configs.sink_task_consumer(worker, connector.raw, task),
        exactly_once=is_source and worker.exactly_once_source_enabled,
    )
