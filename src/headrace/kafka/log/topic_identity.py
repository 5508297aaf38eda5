# SPDX-License-Identifier: Apache-2.0
"""Whether a topic is still the one that it was: topics that are deleted and made again keep their name only (KIP-516).

Pure: the clock is handed in, and others ask the brokers.
"""

from __future__ import annotations

from typing import Final

from headrace.kafka.admin.topic_admin import TopicDescription
from headrace.kafka.errors import KafkaClientError
from headrace.model.deadline import Clock

_PATIENCE: Final = 10.0
"""Seconds for which brokers may say that a topic does not exist: one that has just started may not know of it yet."""


class TopicLostError(KafkaClientError):
    """The topic was deleted, whether there is another one of its name by now or not."""


class TopicIdentity:
    """Any thread may ask for doubts; the rest is for one thread."""

    def __init__(self, topic: str, clock: Clock) -> None:
        self._topic = topic
        self._clock = clock
        self._gone_since: float | None = None
        self._doubted = False
        self.id = ""
        """The topic's, empty before the first look, and with brokers that know of no ids."""

    def settle(self, found: TopicDescription) -> None:
        """From now on this is the topic."""
        self.id, self._gone_since, self._doubted = found.id, None, False

    def is_another(self, found: TopicDescription | None) -> bool:
        """Whether the topic is not what it was, or not there, as far as one look tells. Notes the doubt."""
        another = found is None or bool(self.id and found.id and found.id != self.id)
        self._doubted = self._doubted or another
        return another

    def doubt(self) -> None:
        """Something suggests that the topic is another one."""
        self._doubted = True

    def take_doubt(self) -> bool:
        """Whether there was a doubt since the last call; then it is time for a look."""
        doubted, self._doubted = self._doubted, False
        return doubted

    def loss(self, found: TopicDescription | None) -> str | None:
        """What has become of the topic if it is lost; None if it is there, or nobody can be sure yet."""
        if found is None:
            if self._gone_since is None:
                self._gone_since = self._clock()
            gone = self._clock() - self._gone_since >= _PATIENCE
            return f"topic '{self._topic}' was deleted" if gone else None
        self._gone_since = None
        if self.id and found.id and found.id != self.id:
            return f"topic '{self._topic}' was deleted and made again: its id was {self.id}, and is {found.id} now"
        return None
