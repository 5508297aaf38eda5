# SPDX-License-Identifier: Apache-2.0
"""The topics that a sink task reads: those it names as soon as they exist, or all that match its pattern.

The pattern is matched here, not by the client or the broker: their regular expressions are not Connect's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set
from typing import Final, Protocol

from headrace.api.errors import RetriableError
from headrace.config.sink_connector_config import TOPICS_REGEX, SinkConnectorConfig
from headrace.model.health import Stage
from headrace.model.ids import ConnectorTaskId
from headrace.task.errors.error_reports import ErrorReports

log = logging.getLogger(__name__)
_RETRY_INTERVAL: Final = 1.0
_LOOK_UP: Final = "a search for topics"


class TopicLister(Protocol):
    """The part used of a consumer."""

    def existing(self, topics: Sequence[str] | None) -> set[str]: ...


class TopicSubscription:
    """Subscribes to the topics that exist, and again whenever they change. Task's thread only.

    Nothing is read of topics that do not exist, which are looked up every second.
    """

    def __init__(
        self,
        id: ConnectorTaskId,
        config: SinkConnectorConfig,
        reports: ErrorReports,
        consumer: TopicLister,
        subscribe: Callable[[Sequence[str]], None],
        interval: float,
        clock: Callable[[], float],
    ) -> None:
        """``subscribe`` is called with all topics whenever they change.

        ``interval`` is the time in seconds between searches for new topics that match (``metadata.max.age.ms``).
        """
        self._id = id
        self._config = config
        self._pattern = config.topics_regex
        self._reports = reports
        self._consumer = consumer
        self._subscribe = subscribe
        self._interval = interval
        self._clock = clock
        self._next = 0.0
        self._subscribed: Set[str] = frozenset()
        self._last_warning = ""
        self.failing = False
        """True while topics cannot be looked up."""

    def refresh_if_due(self) -> None:
        """Look up topics if it is time, and subscribe. AuthorizationError for a topic that may not be read."""
        now = self._clock()
        if now < self._next:
            return
        try:
            found = self._found()
        except RetriableError as error:
            self.failing, self._next = True, now + _RETRY_INTERVAL
            self._reports.retried(
                _LOOK_UP, Stage.READING, error, f"topics cannot be looked up: {error}", delay=_RETRY_INTERVAL
            )
            return
        self._reports.succeeded(_LOOK_UP)
        self.failing, self._next = False, now + self._until_next(found)
        if found != self._subscribed:
            log.info("Task %s reads %s", self._id, ", ".join(sorted(found)) or "no topic")
            self._subscribed = found
            self._subscribe(sorted(found))
        self._warn_once(self._lack(found))

    def _found(self) -> Set[str]:
        if self._pattern is None:
            return self._consumer.existing(self._config.topics)
        return {topic for topic in self._consumer.existing(None) if self._pattern.fullmatch(topic)}

    def _until_next(self, found: Set[str]) -> float:
        if self._lack(found):
            return _RETRY_INTERVAL
        # The client handles a topic that is deleted later and created again.
        return self._interval if self._pattern is not None else float("inf")

    def _lack(self, found: Set[str]) -> str:
        if self._pattern is not None:
            return "" if found else f"waits for a topic that matches {TOPICS_REGEX}={self._pattern.pattern}"
        missing = [topic for topic in self._config.topics if topic not in found]
        return f"waits for topics that do not exist (yet): {', '.join(missing)}" if missing else ""

    def _warn_once(self, warning: str) -> None:
        if warning and warning != self._last_warning:
            log.warning("Task %s %s", self._id, warning)
        self._last_warning = warning
