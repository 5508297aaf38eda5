# SPDX-License-Identifier: Apache-2.0
"""Reads a sink task's messages, and notes whether there is progress in reading none."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

from headrace.api.error_text import error_text
from headrace.api.errors import ConnectError
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.model.health import Stage
from headrace.task.errors.error_reports import ErrorReports
from headrace.task.task_progress import TaskProgress

_READING: Final = "reading"
"""The operation by which errors of reading from Kafka are reported."""
_ASK_EVERY_S: Final = 2.0
_ANSWER_S: Final = 0.5
"""Seconds that a question to the brokers takes at most: a stop waits for it."""


class ReadErrors:
    """The consumer's errors that may pass. Task's thread only.

    librdkafka reports once that brokers are lost, and neither that they still are nor that they are back. So an error
    lasts until messages arrive or the brokers answer a question, which they are asked only while it lasts.
    """

    def __init__(self, reports: ErrorReports, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` is in seconds."""
        self._reports = reports
        self._clock = clock
        self._error: ConnectError | None = None
        self._next = 0.0

    def met(self, error: ConnectError) -> None:
        """Report an error, which lasts from now on. The consumer's ``on_error``."""
        if self._error is None:
            self._next = self._clock()
        self._error = error
        self._report(error)

    def lasts(self, answered: Callable[[float], bool]) -> bool:
        """Return True while an error lasts.

        Then ``answered`` is called, at times: it asks the brokers, waits up to so many seconds, and returns True if
        they have answered.
        """
        if self._error is None:
            return False
        if self._clock() >= self._next:
            if answered(_ANSWER_S):
                self.over()
                return False
            self._next = self._clock() + _ASK_EVERY_S
            self._report(self._error, _ASK_EVERY_S)
        return True

    def over(self) -> None:
        """Note that messages have arrived, or the brokers have answered."""
        if self._error is not None:
            self._error = None
            self._reports.succeeded(_READING)

    def _report(self, error: ConnectError, delay: float | None = None) -> None:
        self._reports.retried(_READING, Stage.READING, error, f"{error_text(error)}; it is retried", delay=delay)


class ReadConsumer(Protocol):
    """The part used of ``SinkConsumer``, which documents each call."""

    def consume(self, limit: int, timeout: float) -> ConsumedMessages: ...

    def brokers_answer(self, timeout: float) -> bool: ...


class Topics(Protocol):
    """The part used of ``TopicSubscription``, which documents it."""

    @property
    def failing(self) -> bool: ...

    def refresh_if_due(self) -> None: ...


class SinkReading:
    """Reads the topics of one task. Task's thread only."""

    def __init__(self, consumer: ReadConsumer, topics: Topics, errors: ReadErrors, progress: TaskProgress) -> None:
        self._consumer = consumer
        self._topics = topics
        self._errors = errors
        self._progress = progress

    def read(self, limit: int, timeout: float) -> ConsumedMessages:
        """Look up topics if it is time, and return messages as ``SinkConsumer.consume``.

        To read none is no progress while topics cannot be looked up, or an error of the consumer lasts.
        """
        self._topics.refresh_if_due()
        messages = self._consumer.consume(limit, timeout)
        if messages:
            self._errors.over()
            self._progress.polled()
        elif not self._topics.failing and not self._errors.lasts(self._consumer.brokers_answer):
            self._progress.polled()
        return messages
