# SPDX-License-Identifier: Apache-2.0
"""Checks of a connector's configuration against the worker and the connector, beyond single properties.

Each check adds to the findings. Java: ``DistributedHerder.validateSourceConnectorConfig`` and its neighbours.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from headrace.api.config_def import HIDDEN
from headrace.api.connector import Connector
from headrace.api.error_text import error_line
from headrace.api.errors import ConfigError
from headrace.api.frame_transform import FrameTransformation
from headrace.api.frames import FrameJob
from headrace.api.record_frames import OFFSETS
from headrace.api.source import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SourceConnector,
    TransactionBoundary,
)
from headrace.api.validators import TopicName
from headrace.config.connector_config import CONNECTOR_CLASS, NAME, PluginStage
from headrace.config.secret_properties import is_secret_name
from headrace.config.sink_connector_config import TOPICS, SinkConnectorConfig
from headrace.config.source_connector_config import BOUNDARY, EXACTLY_ONCE_SUPPORT, SourceConnectorConfig
from headrace.config.worker_config import WorkerConfig
from headrace.herder.findings import Findings
from headrace.plugins.command_access import command_access
from headrace.plugins.discovery import Plugins
from headrace.task.frames.frame_chain import configure_frame_step

log = logging.getLogger(__name__)

_GROUP_OVERRIDE: Final = "consumer.override.group.id"
_URL: Final = re.compile(r"ur[il]$", re.IGNORECASE)
"""Matches properties whose values may contain a password."""
Analyse = Callable[[FrameJob], ConfigError | None]
"""Returns the error Spark finds with a job; None if there is none, or it cannot decide now. Blocks for seconds."""
_QUERY: Final = "query"


def check_exactly_once(
    findings: Findings, worker: WorkerConfig, connector: SourceConnector, config: Mapping[str, str]
) -> None:
    """Check the connector's consent where the user insists on exactly-once (KIP-618)."""
    if str(findings.value(EXACTLY_ONCE_SUPPORT)).lower() != "required":
        return
    if not worker.exactly_once_source_enabled:
        findings.add_message(EXACTLY_ONCE_SUPPORT, "This worker does not have exactly-once source support enabled.")
    try:
        answer = connector.exactly_once_support(dict(config))
    except BaseException as error:
        findings.add_message(EXACTLY_ONCE_SUPPORT, _unexpected(connector, "exactly_once_support", error))
        return
    if answer is None:
        findings.add_message(
            EXACTLY_ONCE_SUPPORT,
            "The connector does not state whether it can be exactly-once (exactly_once_support). Consult its "
            f"documentation, and set {EXACTLY_ONCE_SUPPORT}=requested to accept it without this check",
        )
    elif answer is not ExactlyOnceSupport.SUPPORTED:
        message = "The connector does not support exactly-once semantics with the provided configuration."
        findings.add_message(EXACTLY_ONCE_SUPPORT, message)


def check_boundaries(findings: Findings, connector: SourceConnector, config: Mapping[str, str]) -> None:
    """Check the connector's consent where it is to define the ends of transactions (KIP-618)."""
    boundary = findings.value(BOUNDARY)
    if boundary is None or TransactionBoundary.from_property(boundary) is not TransactionBoundary.CONNECTOR:
        return
    try:
        answer = connector.can_define_transaction_boundaries(dict(config))
    except BaseException as error:
        findings.add_message(BOUNDARY, _unexpected(connector, "can_define_transaction_boundaries", error))
        return
    if answer is not ConnectorTransactionBoundaries.SUPPORTED:
        message = (
            "The connector does not support connector-defined transaction boundaries with the given configuration. "
            f"Choose another {BOUNDARY} than connector"
        )
        findings.add_message(BOUNDARY, message)


def check_topics(findings: Findings, config: Mapping[str, str]) -> None:
    """Check the names of a sink's topics: it would wait without limit for a topic that Kafka cannot have."""
    for topic in findings.value(TOPICS) or ():
        try:
            TopicName().ensure_valid(TOPICS, topic)
        except ConfigError as error:
            findings.add_error(error)


def check_consumer_group(findings: Findings, worker: WorkerConfig, config: Mapping[str, str]) -> None:
    """Check that the connector's consumer group is not the workers': two kinds of members would fight over it."""
    group = config.get(_GROUP_OVERRIDE, f"connect-{config.get(NAME)}")
    if group == worker.group_id:
        property = _GROUP_OVERRIDE if _GROUP_OVERRIDE in config else NAME
        message = f"Consumer group {group} of this sink connector conflicts with Connect worker group {worker.group_id}"
        findings.add_message(property, message)


def check_command(findings: Findings, worker: WorkerConfig, config: Mapping[str, str]) -> None:
    """Check that the worker may start the program that the configuration names."""
    try:
        command_access(worker.raw).check(config.get(NAME), config)
    except ConfigError as error:
        findings.add_error(error)


def _unexpected(connector: Connector, method: str, error: BaseException) -> str:
    message = f"{type(connector).__qualname__}.{method} failed: {error_line(error)}"
    log.error("%s", message, exc_info=error)
    return f"An unexpected error occurred during validation: {message}"


def check_masks(findings: Findings, config: Mapping[str, str]) -> None:
    """Refuse the mask that answers show in place of secrets: the configuration was read by a user who may not see them.

    Only where an answer can have it: other properties, such as a replacement in records, may have that text.
    """
    for name, text in config.items():
        if text.strip() == HIDDEN and (findings.is_password(name) or is_secret_name(name) or _URL.search(name)):
            reason = "this stands for a secret that was not shown; give the secret itself, or a reference to it"
            findings.add_message(name, str(ConfigError.invalid(name, HIDDEN, reason)))


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
