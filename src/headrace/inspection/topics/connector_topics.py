# SPDX-License-Identifier: Apache-2.0
"""The topics that a connector uses, from its configuration and its active topics (KIP-558)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from headrace.config.connector_config import DLQ_TOPIC
from headrace.config.sink_connector_config import TOPICS, TOPICS_REGEX
from headrace.model.cluster_config_state import Config
from headrace.plugins.discovery import comma_separated


class Direction(Enum):
    """The use that a connector makes of a topic."""

    READS = "reads"
    WRITES = "writes"
    DEAD_LETTERS = "dead letters"


@dataclass(frozen=True, slots=True)
class ConnectorTopics:
    """A connector's topics by name, and the pattern of further ones that a sink would read."""

    directions: dict[str, Direction]
    pattern: re.Pattern[str] | None = None

    @classmethod
    def of(cls, config: Config, active: Iterable[str], *, is_sink: bool) -> ConnectorTopics:
        """Return the topics of a connector with this resolved configuration; ``active`` are those that it has used."""
        directions = dict.fromkeys(active, Direction.READS if is_sink else Direction.WRITES)
        pattern = None
        if is_sink:
            directions |= dict.fromkeys(comma_separated(config.get(TOPICS)), Direction.READS)
            with suppress(re.error):  # its tasks do not start with it
                pattern = re.compile(config.get(TOPICS_REGEX) or "") if config.get(TOPICS_REGEX) else None
        if dead_letters := (config.get(DLQ_TOPIC) or "").strip():
            directions[dead_letters] = Direction.DEAD_LETTERS
        return cls(directions, pattern)

    def includes(self, topic: str) -> bool:
        """Return True if the connector uses the topic, or would read it if it existed."""
        return topic in self.directions or (self.pattern is not None and self.pattern.fullmatch(topic) is not None)
