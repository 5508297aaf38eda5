# SPDX-License-Identifier: Apache-2.0
"""Dead letters of a source on their way into the batch that they were found in."""

from __future__ import annotations

from headrace.task.errors.dead_letters import DeadLetter
from headrace.task.record_converter import TopicBatch


def joined(first: TopicBatch | None, second: TopicBatch | None) -> TopicBatch | None:
    """What two calls of ``take`` have given."""
    if first is None or second is None:
        return first or second
    return TopicBatch(
        first.topic,
        values=[*first.values, *second.values],
        keys=[*(first.keys or ()), *(second.keys or ())],
        timestamps=[*(first.timestamps or ()), *(second.timestamps or ())],
        headers=[*(first.headers or ()), *(second.headers or ())],
    )


class SourceDeadLetters:
    """Task's thread only. Collects what is set aside until the batch is made, so that it is written with it."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._letters: list[DeadLetter] = []

    def add(self, letter: DeadLetter) -> None:
        self._letters.append(letter)

    def take(self) -> TopicBatch | None:
        """All since the last call, None if there are none."""
        if not self._letters:
            return None
        letters, self._letters = self._letters, []
        return TopicBatch(
            self.topic,
            values=[letter.value for letter in letters],
            keys=[letter.key for letter in letters],
            timestamps=[letter.timestamp for letter in letters],
            headers=[list(letter.headers) for letter in letters],
        )
