# SPDX-License-Identifier: Apache-2.0
"""The properties of source connectors that the runtime understands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type, Width
from headrace.api.errors import ConfigError
from headrace.api.source import TransactionBoundary
from headrace.api.validators import CaseInsensitiveValidString, LambdaValidator
from headrace.config.connector_config import ALIASES, DLQ_TOPIC, ConnectorConfig, with_dead_letter_queue
from headrace.config.topic_creation import GROUPS

OFFSETS_TOPIC: Final = "offsets.storage.topic"
BOUNDARY: Final = "transaction.boundary"
BOUNDARY_INTERVAL: Final = "transaction.boundary.interval.ms"
EXACTLY_ONCE_SUPPORT: Final = "exactly.once.support"
_EXACTLY_ONCE: Final = "Exactly Once Support"


def own_offsets_topic(config: Mapping[str, str | None]) -> str | None:
    """Return the offsets topic in a connector's configuration (KIP-618); None if it has none, or an empty one."""
    return (config.get(OFFSETS_TOPIC) or "").strip() or None


def _check_interval(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise ConfigError.invalid(name, value, "Value must be at least 1")


def _source_def() -> ConfigDef:
    boundaries = [boundary.value for boundary in TransactionBoundary]
    return with_dead_letter_queue(
        ConfigDef(ConnectorConfig.DEFINITION)
        .define(GROUPS, Type.LIST, "", importance=Importance.LOW, validator=ALIASES,
                doc="Names of groups of topics that are created with their own settings.",
                group="Topic Creation", order_in_group=1, width=Width.LONG, display_name="Topic Creation Groups")
        .define(EXACTLY_ONCE_SUPPORT, Type.STRING, "requested",
                validator=CaseInsensitiveValidString("requested", "required"),
                doc="required: refuse the connector unless it supports exactly-once.",
                group=_EXACTLY_ONCE, order_in_group=2, width=Width.SHORT, display_name="Exactly once support")
        .define(BOUNDARY, Type.STRING, "poll", validator=CaseInsensitiveValidString(*boundaries),
                doc="Where transactions end: after each poll, after an interval, or where the connector defines it.",
                group=_EXACTLY_ONCE, order_in_group=3, width=Width.SHORT, display_name="Transaction Boundary")
        .define(BOUNDARY_INTERVAL, Type.LONG, None, importance=Importance.LOW,
                validator=LambdaValidator(_check_interval, lambda: "null or [1,...]"),
                doc="The length of transactions with transaction.boundary=interval; else offset.flush.interval.ms.",
                group=_EXACTLY_ONCE, order_in_group=4, width=Width.SHORT,
                display_name="Transaction boundary interval")
        .define(OFFSETS_TOPIC, Type.STRING, None, importance=Importance.LOW,
                doc="The connector's own offsets topic, in addition to the worker's; empty: none.",
                group="offsets.topic", order_in_group=1, width=Width.LONG, display_name="Offsets topic")
    )  # fmt: skip


class SourceConnectorConfig(ConnectorConfig):
    """The configuration of a source connector. Java: ``SourceConnectorConfig``."""

    DEFINITION = _source_def()

    def __init__(self, props: Mapping[str, str | None]) -> None:
        super().__init__(props)
        queue = self.dead_letter_queue
        if queue is not None and queue.topic == self.offsets_topic:
            raise ConfigError.invalid(DLQ_TOPIC, queue.topic, f"it is the connector's {OFFSETS_TOPIC} already")

    @property
    def exactly_once_required(self) -> bool:
        return str(self.get(EXACTLY_ONCE_SUPPORT)).lower() == "required"

    @property
    def transaction_boundary(self) -> TransactionBoundary:
        return TransactionBoundary.from_property(self.get(BOUNDARY))

    @property
    def transaction_boundary_interval(self) -> float | None:
        """Seconds; None: use the worker's ``offset.flush.interval.ms``."""
        return None if self.get(BOUNDARY_INTERVAL) is None else self.seconds(BOUNDARY_INTERVAL)

    @property
    def offsets_topic(self) -> str | None:
        """The connector's own offsets topic."""
        return own_offsets_topic(self.raw)
