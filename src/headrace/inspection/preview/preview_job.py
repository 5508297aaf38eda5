# SPDX-License-Identifier: Apache-2.0
"""A preview in its sandbox: a source and its task are started, polled and stopped; a sink's records are read.

Items are ``{"stage": …}`` before each call of the connector or task, ``{"task": …}``, ``{"record": …}``, ``{"plan":
…}``, ``{"note": …}`` and ``{"dryRun": …}``, and at last ``{"end": …}``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from headrace.api.connector import Connector
from headrace.api.errors import ConfigError
from headrace.api.protected_files import protect
from headrace.api.sink import SinkConnector
from headrace.api.source import SourceConnector
from headrace.config.connector_config import ConnectorConfig
from headrace.inspection.job_process import Emit
from headrace.inspection.preview.hidden_values import HiddenValues
from headrace.inspection.preview.preview_progress import FailedError, Progress
from headrace.inspection.preview.previewed_frames import OfferedFrames, ReadingFrames
from headrace.inspection.preview.previewed_task import PreviewedTask, PreviewLink, connector_context
from headrace.model.ids import ConnectorTaskId
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins, plugins_of
from headrace.task.task_spec import TaskKind, TaskSpec
from headrace.task.worker_link import TaskControl
from headrace.worker.connectors.task_configs import TASK_CLASS, task_configs

Json = dict[str, Any]


def preview(spec: Mapping[str, Any], emit: Emit) -> None:
    """Run a preview; a ``Job``. ``spec`` is that of ``previews``. Raise ConfigError for a task that there is not."""
    progress = Progress(emit, HiddenValues(spec["secrets"]))
    protect(spec["protected"])
    plugins = plugins_of(spec["worker"])
    config = ConnectorConfig(spec["config"])
    control = TaskControl()
    frames = OfferedFrames(spec["frames"])
    link = PreviewLink(config.name, spec["offsets"], ReadingFrames(frames, lambda text: progress.emit("note", text)))
    connector = plugins.connector(config.connector_class)()
    try:
        if isinstance(connector, SinkConnector):
            task = _spec(connector, config, plugins, spec)
            _preview_sink(connector, PreviewedTask(task, link, control, frames), spec, progress)
            return
        connector.initialize(connector_context(connector, link))
        try:
            task = _task(connector, config, plugins, spec, progress)
            _run_task(PreviewedTask(task, link, control, frames), spec, progress)
        finally:
            with progress.calling("Connector.stop"):
                connector.stop()
    except FailedError:
        return


def _task(
    connector: Connector, config: ConnectorConfig, plugins: Plugins, spec: Mapping[str, Any], progress: Progress
) -> TaskSpec:
    with progress.calling("Connector.start"):
        connector.start(dict(config.raw))
    with progress.calling("Connector.task_configs"):
        name = plugins.class_name(PluginKind.TASK, connector.task_class())
        configs = task_configs(connector, config, name)
    number = spec["task"]
    progress.emit("task", {"number": number, "of": len(configs)})
    if number >= len(configs):
        raise ConfigError(f"There is no task {number}: the connector makes {len(configs)}, numbered from 0")
    return _spec(connector, config, plugins, spec, configs[number])


def _spec(
    connector: Connector,
    config: ConnectorConfig,
    plugins: Plugins,
    spec: Mapping[str, Any],
    task_config: Mapping[str, str] = MappingProxyType({}),
) -> TaskSpec:
    return TaskSpec(
        id=ConnectorTaskId(config.name, spec["task"]),
        kind=TaskKind.SOURCE if isinstance(connector, SourceConnector) else TaskKind.SINK,
        task_class=plugins.task_target(task_config[TASK_CLASS], type(connector)) if task_config else "",
        task_config=task_config,
        connector_config=dict(config.raw),
        worker_config=spec["worker"],
        producer={},
        consumer=spec["consumer"],
        offsets_topic="",
        exactly_once=spec["exactly_once"],
    )


def _preview_sink(
    connector: SinkConnector, previewed: PreviewedTask, spec: Mapping[str, Any], progress: Progress
) -> None:
    from headrace.inspection.preview.sink_preview import preview_sink

    preview_sink(connector, previewed, spec, progress)


def _run_task(previewed: PreviewedTask, spec: Mapping[str, Any], progress: Progress) -> None:
    # It imports converters, transformations and Arrow: a connector that fails in its start needs none of them.
    from headrace.inspection.preview.source_preview import preview_source

    stop_at(spec["until"], previewed.control.stop)
    preview_source(previewed, spec, progress)


def stop_at(until: float, stop: Callable[[], None]) -> None:
    """Call ``stop`` on a thread of its own when the clock ``time.monotonic`` has reached ``until``."""
    timer = threading.Timer(max(0.0, until - time.monotonic()), stop)
    timer.daemon = True
    timer.start()
