# SPDX-License-Identifier: Apache-2.0
"""What the runtime understands of a source connector's configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type, Width
from headrace.api.errors import ConfigError
from headrace.api.source import TransactionBoundary
from headrace.api.validators import CaseInsensitiveValidString, LambdaValidator, NonEmptyString
from headrace.config.connector_config import ALIASES, DLQ_TOPIC, ConnectorConfig, with_dead_letter_queue

OFFSETS_TOPIC: Final = "offsets.storage.topic"
BOUNDARY: Final = "transaction.boundary"
BOUNDARY_INTERVAL: Final = "transaction.boundary.interval.ms"
EXACTLY_ONCE_SUPPORT: Final = "exactly.once.support"
TOPIC_CREATION: Final = "topic.creation."
GROUPS: Final = "topic.creation.groups"
DEFAULT_GROUP: Final = "default"
_EXACTLY_ONCE: Final = "Exactly Once Support"


def _check_interval(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise ConfigError.invalid(name, value, "Value must be at least 1")


def _check_count(name: str, value: int) -> None:
    if value != -1 and value < 1:
        raise ConfigError.invalid(name, value, "Value must be at least 1, or -1 for the broker's default")


def _check_patterns(name: str, value: list[str]) -> None:
    for pattern in value:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError.invalid(name, pattern, f"not a regular expression: {error}") from error


def _source_def() -> ConfigDef:
    boundaries = [boundary.value for boundary in TransactionBoundary]
    return with_dead_letter_queue(
        ConfigDef(ConnectorConfig.DEFINITION)
        .define(GROUPS, Type.LIST, "", importance=Importance.LOW, validator=ALIASES,
                doc="Names of groups of topics that are created with settings of their own.",
                group="Topic Creation", order_in_group=1, width=Width.LONG, display_name="Topic Creation Groups")
        .define(EXACTLY_ONCE_SUPPORT, Type.STRING, "requested",
                validator=CaseInsensitiveValidString("requested", "required"),
                doc="required: refuse the connector unless it says that it can be exactly-once.",
                group=_EXACTLY_ONCE, order_in_group=2, width=Width.SHORT, display_name="Exactly once support")
        .define(BOUNDARY, Type.STRING, "poll", validator=CaseInsensitiveValidString(*boundaries),
                doc="Where transactions end: after each poll, after an interval, or where the connector says.",
                group=_EXACTLY_ONCE, order_in_group=3, width=Width.SHORT, display_name="Transaction Boundary")
        .define(BOUNDARY_INTERVAL, Type.LONG, None, importance=Importance.LOW,
                validator=LambdaValidator(_check_interval, lambda: "null or [1,...]"),
                doc="The length of transactions with transaction.boundary=interval; else offset.flush.interval.ms.",
                group=_EXACTLY_ONCE, order_in_group=4, width=Width.SHORT,
                display_name="Transaction boundary interval")
        .define(OFFSETS_TOPIC, Type.STRING, None, importance=Importance.LOW, validator=NonEmptyString(),
                doc="An offsets topic of the connector's own, beside the worker's.",
                group="offsets.topic", order_in_group=1, width=Width.LONG, display_name="Offsets topic")
    )  # fmt: skip


def _group_def(group: str, has_default: bool) -> ConfigDef:
    count = LambdaValidator(_check_count, lambda: "-1 or [1,...]")
    prefix = f"{TOPIC_CREATION}{group}."
    definition = ConfigDef()
    for name, type in (("replication.factor", Type.SHORT), ("partitions", Type.INT)):
        if has_default:
            definition.define(prefix + name, type, -1, validator=count)
        else:
            definition.define(prefix + name, type, validator=count)
    if group == DEFAULT_GROUP:
        return definition
    patterns = LambdaValidator(_check_patterns, lambda: "regular expressions")
    return definition.define(prefix + "include", Type.LIST, validator=patterns).define(
        prefix + "exclude", Type.LIST, "", validator=patterns
    )


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """How topics that match are created (KIP-158). -1 is the broker's default."""

    name: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    partitions: int
    replication_factor: int
    config: Mapping[str, str]

    def matches(self, topic: str) -> bool:
        return not _matches_any(self.exclude, topic) and _matches_any(self.include, topic)


def _matches_any(patterns: tuple[str, ...], topic: str) -> bool:
    return any(re.fullmatch(pattern, topic) for pattern in patterns)


class SourceConnectorConfig(ConnectorConfig):
    """Java: ``SourceConnectorConfig``."""

    DEFINITION = _source_def()

    def __init__(self, props: Mapping[str, str | None]) -> None:
        super().__init__(props)
        self.topic_groups: tuple[TopicGroup, ...] = self._topic_groups()
        """In the order in which they are tried, the default group last; empty if the connector defines none."""
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
        """Seconds; None: as the worker's ``offset.flush.interval.ms``."""
        return None if self.get(BOUNDARY_INTERVAL) is None else self.seconds(BOUNDARY_INTERVAL)

    @property
    def offsets_topic(self) -> str | None:
        """The connector's own offsets topic."""
        topic = self.get(OFFSETS_TOPIC)
        return None if topic is None else str(topic)

    def _topic_groups(self) -> tuple[TopicGroup, ...]:
        if not any(key.startswith(TOPIC_CREATION) for key in self.raw):
            return ()
        named = [group for group in self.get(GROUPS) if group != DEFAULT_GROUP]
        default = self._topic_group(DEFAULT_GROUP, None)
        return (*(self._topic_group(group, default) for group in named), default)

    def _topic_group(self, group: str, default: TopicGroup | None) -> TopicGroup:
        """As in Java the default group must say partitions and replication factor, the others have them from it."""
        parsed = _group_def(group, has_default=default is not None).parse(self.raw)
        prefix = f"{TOPIC_CREATION}{group}."
        partitions, factor = parsed[prefix + "partitions"], parsed[prefix + "replication.factor"]
        own = {"partitions", "replication.factor", "include", "exclude"}
        settings = {key: text for key, text in self.with_prefix(prefix).items() if key not in own}
        if default is not None:
            partitions = partitions if prefix + "partitions" in self.raw else default.partitions
            factor = factor if prefix + "replication.factor" in self.raw else default.replication_factor
            settings = {**default.config, **settings}
        include = tuple(parsed.get(prefix + "include", (".*",)))
        return TopicGroup(group, include, tuple(parsed.get(prefix + "exclude", ())), partitions, factor, settings)
