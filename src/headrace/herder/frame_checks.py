# SPDX-License-Identifier: Apache-2.0
"""The checks of a connector's configuration that run as Spark jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from headrace.api.connector import Connector
from headrace.api.errors import ConfigError
from headrace.api.frame_transform import FrameTransformation
from headrace.api.frames import FrameJob
from headrace.api.record_frames import OFFSETS
from headrace.api.source import SourceConnector
from headrace.config.connector_config import CONNECTOR_CLASS, PluginStage
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.herder.findings import Findings
from headrace.plugins.discovery import Plugins
from headrace.task.frames.frame_chain import configure_frame_step

Analyse = Callable[[FrameJob], ConfigError | None]
"""Returns the error Spark finds with a job; None if there is none, or it cannot decide now. Blocks for seconds."""
_QUERY: Final = "query"


def check_frame_steps(
    findings: Findings, connector: Connector, config: Mapping[str, str], plugins: Plugins, analyse: Analyse
) -> None:
    """Check a configuration whose single properties, and so the names of its transformations, are valid."""
    of_source = isinstance(connector, SourceConnector)
    settings = {} if of_source else {OFFSETS: "true"}
    for stage in (SourceConnectorConfig if of_source else SinkConnectorConfig)(config).transforms:
        name = f"transforms.{stage.alias}.type"
        if issubclass(plugins.transformation(stage.type, name), FrameTransformation):
            _check(findings, stage, plugins, lambda job: analyse(replace(job, settings={**job.settings, **settings})))


def _check(findings: Findings, stage: PluginStage, plugins: Plugins, analyse: Analyse) -> None:
    try:
        job = configure_frame_step(stage, plugins).check()
    except ConfigError as error:
        findings.add_error(error)
        return
    found = None if job is None else analyse(job)
    if found is not None:
        property = _QUERY if _QUERY in stage.config else "type"
        name = f"transforms.{stage.alias}.{property}"
        findings.add_message(name, str(ConfigError.invalid(name, stage.config.get(property, stage.type), str(found))))


def check_by_frames(findings: Findings, connector: Connector, config: Mapping[str, str], analyse: Analyse) -> None:
    """Run the job of ``Connector.frame_check`` on a configuration that is valid otherwise; its errors propagate."""
    job = connector.frame_check(config)
    error = None if job is None else analyse(job)
    if error is not None:
        findings.add_message(error.name or CONNECTOR_CLASS, str(error))
