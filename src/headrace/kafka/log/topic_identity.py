# SPDX-License-Identifier: Apache-2.0
"""Detection of a topic that was deleted, or deleted and made again under its name (KIP-516).

Pure: the clock is a parameter, and callers describe the topic.
"""

from __future__ import annotations

from typing import Final

from headrace.kafka.admin.topic_admin import TopicDescription
from headrace.kafka.errors import KafkaClientError
from headrace.model.deadline import Clock

_DELETION_GRACE: Final = 10.0
"""Seconds for which brokers may say that a topic does not exist: one that has just started may not know of it yet."""


class TopicLostError(KafkaClientError):
    """The topic was deleted; there may be another one of its name by now."""


class TopicIdentity:
    """The id of a topic that is read. ``doubt`` and ``is_another`` are for any thread, the rest for one thread."""

    def __init__(self, topic: str, clock: Clock) -> None:
        self._topic = topic
        self._clock = clock
        self._gone_since: float | None = None
        self._doubted = False
        self.id = ""
        """The topic's id; empty before the first description, and with brokers that know of no ids."""

    def accept(self, found: TopicDescription) -> None:
        """Take ``found`` as the topic from now on."""
        self.id, self._gone_since, self._doubted = found.id, None, False

    def is_another(self, found: TopicDescription | None) -> bool:
        """Return True if ``found`` is another topic, or none, and note the doubt."""
        another = found is None or bool(self.id and found.id and found.id != self.id)
        self._doubted = self._doubted or another
        return another

    def doubt(self) -> None:
        """Note that the topic may be another one."""
        self._doubted = True

    def take_doubt(self) -> bool:
        """Return True if there was a doubt since the last call: then describe the topic."""
        doubted, self._doubted = self._doubted, False
        return doubted

    def loss(self, found: TopicDescription | None) -> str | None:
        """Return the message for a topic that is lost; None if it is there, or may be."""
        if found is None:
            if self._gone_since is None:
                self._gone_since = self._clock()
            gone = self._clock() - self._gone_since >= _DELETION_GRACE
            return f"topic '{self._topic}' was deleted" if gone else None
        self._gone_since = None
        if self.id and found.id and found.id != self.id:
            return f"topic '{self._topic}' was deleted and made again: its id was {self.id}, and is {found.id} now"
        return None
