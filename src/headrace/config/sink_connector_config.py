# SPDX-License-Identifier: Apache-2.0
"""The properties of sink connectors that the runtime understands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type, Width
from headrace.api.errors import ConfigError
from headrace.api.validators import ValidList
from headrace.config.connector_config import DLQ_TOPIC, ConnectorConfig, with_dead_letter_queue

TOPICS: Final = "topics"
TOPICS_REGEX: Final = "topics.regex"


def _sink_def() -> ConfigDef:
    return with_dead_letter_queue(
        ConfigDef(ConnectorConfig.DEFINITION)
        .define(TOPICS, Type.LIST, "", importance=Importance.HIGH, validator=ValidList(), doc="Topics to read.",
                group="Common", order_in_group=4, width=Width.LONG, display_name="Topics")
        .define(TOPICS_REGEX, Type.STRING, "", importance=Importance.HIGH,
                doc="Pattern of the names of topics to read, in place of topics.",
                group="Common", order_in_group=4, width=Width.LONG, display_name="Topics regex")
    )  # fmt: skip


class SinkConnectorConfig(ConnectorConfig):
    """The configuration of a sink connector. Java: ``SinkConnectorConfig``."""

    DEFINITION = _sink_def()

    def __init__(self, props: Mapping[str, str | None]) -> None:
        super().__init__(props)
        if self.topics and self.topics_regex is not None:
            both = f"{TOPICS} and {TOPICS_REGEX} are mutually exclusive options, but both are set."
            raise ConfigError(both, TOPICS, also=(TOPICS_REGEX,))
        if not self.topics and self.topics_regex is None:
            raise ConfigError(f"Must configure one of {TOPICS} or {TOPICS_REGEX}", TOPICS, also=(TOPICS_REGEX,))
        queue = self.dead_letter_queue
        if queue is not None and self.reads(queue.topic):
            name = TOPICS if self.topics else TOPICS_REGEX
            reason = f"it has {queue.topic}, the {DLQ_TOPIC}, which the connector cannot read as well"
            raise ConfigError.invalid(name, self.raw.get(name), reason)

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(topic for topic in self.get(TOPICS) if topic)

    @property
    def topics_regex(self) -> re.Pattern[str] | None:
        pattern = str(self.get(TOPICS_REGEX))
        try:
            return re.compile(pattern) if pattern else None
        except re.error as error:
            raise ConfigError.invalid(TOPICS_REGEX, pattern, f"not a regular expression: {error}") from error

    def reads(self, topic: str) -> bool:
        """Return True if the connector reads a topic of that name."""
        regex = self.topics_regex
        return topic in self.topics or (regex is not None and regex.fullmatch(topic) is not None)
