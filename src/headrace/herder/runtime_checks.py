# SPDX-License-Identifier: Apache-2.0
"""Checks of a connector's configuration against the worker and the connector, beyond single properties.

Each check adds to the findings. Java: ``DistributedHerder.validateSourceConnectorConfig`` and its neighbours.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from headrace.api.connector import Connector
from headrace.api.error_text import error_line
from headrace.api.source import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SourceConnector,
    TransactionBoundary,
)
from headrace.config.connector_config import NAME
from headrace.config.source_connector_config import BOUNDARY, EXACTLY_ONCE_SUPPORT
from headrace.config.worker_config import WorkerConfig
from headrace.herder.findings import Findings

log = logging.getLogger(__name__)

_GROUP_OVERRIDE: Final = "consumer.override.group.id"


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
            "The connector does not tell whether it can be exactly-once (exactly_once_support). Consult its "
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


def check_consumer_group(findings: Findings, worker: WorkerConfig, config: Mapping[str, str]) -> None:
    """Check that the connector's consumer group is not the workers': two kinds of members would fight over it."""
    group = config.get(_GROUP_OVERRIDE, f"connect-{config.get(NAME)}")
    if group == worker.group_id:
        property = _GROUP_OVERRIDE if _GROUP_OVERRIDE in config else NAME
        message = f"Consumer group {group} of this sink connector conflicts with Connect worker group {worker.group_id}"
        findings.add_message(property, message)


def _unexpected(connector: Connector, method: str, error: BaseException) -> str:
    message = f"{type(connector).__qualname__}.{method} failed: {error_line(error)}"
    log.error("%s", message, exc_info=error)
    return f"An unexpected error occurred during validation: {message}"
