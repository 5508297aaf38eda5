# SPDX-License-Identifier: Apache-2.0
"""The dead letter topic of a sink task. Java: ``DeadLetterQueueReporter`` with its producer."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Final

from headrace.kafka.data.record_sender import RecordSender
from headrace.task.errors.dead_letters import DeadLetter

_MOST_UNDER_WAY: Final = 1000


class SinkDeadLetters:
    """Task's thread only. Offsets are committed after ``await_all`` alone, so nothing is skipped that is not here."""

    def __init__(self, topic: str, producer: Mapping[str, str]) -> None:
        self._sender = RecordSender(topic, producer)
        self._under_way: list[Future[None]] = []
        self.latest: Future[None] | None = None

    def send(self, letter: DeadLetter) -> None:
        """Put it on its way; blocks while many are."""
        if len(self._under_way) >= _MOST_UNDER_WAY:
            self.await_all()
        self.latest = self._sender.send(letter.key, letter.value, letter.headers, letter.timestamp)
        self._under_way.append(self.latest)

    def await_all(self) -> None:
        """Wait until all have arrived. The error of one that did not: RetriableError, or what will fail again."""
        under_way, self._under_way = self._under_way, []
        for future in under_way:
            future.result()

    def close(self) -> None:
        self._sender.close()
