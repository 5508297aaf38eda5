# SPDX-License-Identifier: Apache-2.0
"""Which topics a sink task reads: those it names as soon as they exist, or all that match, as they come and go.

The pattern is matched here, not by the client or the broker: their regular expressions are not Connect's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set
from typing import Final, Protocol

from headrace.api.errors import RetriableError
from headrace.config.sink_connector_config import TOPICS_REGEX, SinkConnectorConfig
from headrace.model.ids import ConnectorTaskId

_log = logging.getLogger(__name__)
_SOON: Final = 1.0


class Topics(Protocol):
    """What is needed of a consumer."""

    def existing(self, topics: Sequence[str] | None) -> set[str]: ...


class TopicSubscription:
    """Task's thread only. ``interval``: seconds between looks for new topics that match (``metadata.max.age.ms``).

    ``subscribe`` is told of all topics whenever they change; nothing is read of topics that do not exist, which are
    looked for every second.
    """

    def __init__(
        self,
        id: ConnectorTaskId,
        config: SinkConnectorConfig,
        consumer: Topics,
        subscribe: Callable[[Sequence[str]], None],
        interval: float,
        clock: Callable[[], float],
    ) -> None:
        self._id = id
        self._config = config
        self._pattern = config.topics_regex
        self._consumer = consumer
        self._subscribe = subscribe
        self._interval = interval
        self._clock = clock
        self._next = 0.0
        self._topics: Set[str] = frozenset()
        self._said = ""

    def refresh_if_due(self) -> None:
        """AuthorizationError for a topic that may not be read."""
        now = self._clock()
        if now < self._next:
            return
        try:
            found = self._found()
        except RetriableError as error:
            self._next = now + _SOON
            self._say(f"cannot find out which topics there are: {error}")
            return
        self._next = now + self._until_next(found)
        if found != self._topics:
            _log.info("Task %s reads %s", self._id, ", ".join(sorted(found)) or "no topic")
            self._topics = found
            self._subscribe(sorted(found))
        self._say(self._lack(found))

    def _found(self) -> Set[str]:
        if self._pattern is None:
            return self._consumer.existing(self._config.topics)
        return {topic for topic in self._consumer.existing(None) if self._pattern.fullmatch(topic)}

    def _until_next(self, found: Set[str]) -> float:
        if self._lack(found):
            return _SOON
        # A topic that is deleted later, and made again, is the client's business.
        return self._interval if self._pattern is not None else float("inf")

    def _lack(self, found: Set[str]) -> str:
        if self._pattern is not None:
            return "" if found else f"waits for a topic that matches {TOPICS_REGEX}={self._pattern.pattern}"
        missing = [topic for topic in self._config.topics if topic not in found]
        return f"waits for topics that do not exist (yet): {', '.join(missing)}" if missing else ""

    def _say(self, what: str) -> None:
        if what and what != self._said:
            _log.warning("Task %s %s", self._id, what)
        self._said = what
