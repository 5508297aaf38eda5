# SPDX-License-Identifier: Apache-2.0
"""One launch of a task: from configurations to the specification of its process."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.api.errors import ConfigError
from headrace.api.protected_files import protected
from headrace.config import client_configs
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.config.worker_config import WorkerConfig
from headrace.model.cluster_config_state import Config
from headrace.model.ids import ConnectorTaskId
from headrace.plugins.discovery import Plugins, connector_type
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.task.task_spec import TaskKind, TaskSpec
from headrace.worker.connectors.task_configs import TASK_CLASS
from headrace.worker.offsets.task_offsets import TaskOffsets


@dataclass(frozen=True, slots=True)
class TaskLaunch:
    """The specification, configuration and offsets of one launch of a task, references resolved."""

    spec: TaskSpec
    config: ResolvedConfig
    """The connector's configuration, with the values of the task's too."""
    offsets: TaskOffsets


def build_task_spec(
    worker: WorkerConfig, plugins: Plugins, id: ConnectorTaskId, connector_config: Config, task_config: Config
) -> TaskSpec:
    """Return the task's specification; imports the connector's class.

    Raise ConfigError for a configuration that cannot be run.
    """
    cls = plugins.connector(connector_config.get("connector.class") or "")
    task = {key: text for key, text in task_config.items() if text is not None}
    if TASK_CLASS not in task:
        raise ConfigError(f"The configuration of task {id} lacks {TASK_CLASS}", TASK_CLASS)
    is_source = connector_type(cls) == "source"
    source = SourceConnectorConfig(connector_config) if is_source else None
    connector = source or SinkConnectorConfig(connector_config)
    return TaskSpec(
        id=id,
        kind=TaskKind.SOURCE if is_source else TaskKind.SINK,
        task_class=plugins.task_target(task[TASK_CLASS], cls),
        task_config=task,
        connector_config=dict(connector.raw),
        worker_config=worker.for_tasks(),
        producer=_producer(worker, connector, id),
        consumer={} if is_source else client_configs.sink_task_consumer(worker, connector.raw, id.task),
        offsets_topic=_offsets_topic(worker, source) if source else "",
        exactly_once=is_source and worker.exactly_once_source_enabled,
        protected_paths=protected(),
    )


def _producer(
    worker: WorkerConfig, connector: SourceConnectorConfig | SinkConnectorConfig, id: ConnectorTaskId
) -> dict[str, str]:
    if isinstance(connector, SourceConnectorConfig):
        return client_configs.source_task_producer(worker, connector.raw, id.task)
    if connector.dead_letter_queue is None:
        return {}
    return client_configs.dead_letter_producer(worker, connector.raw, id.task)


def _offsets_topic(worker: WorkerConfig, source: SourceConnectorConfig) -> str:
    return source.offsets_topic or (worker.offset_topic.name if worker.offset_topic else "")
