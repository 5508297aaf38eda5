# SPDX-License-Identifier: Apache-2.0
"""The common part of Kafka's sources for tests: tasks that differ by a number only, and a limit of their rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from headrace import KAFKA_VERSION
from headrace.api.source import ExactlyOnceSupport, SourceConnector, SourceTask
from headrace.connectors.common.interruptible_wait import InterruptibleWait

ID_CONFIG: Final = "id"
LONGEST_WAIT: Final = 1.0
"""Seconds that a `poll` waits at most: transactions of an interval end between two."""
_LONGEST_LAG: Final = 1.0


class NumberedTasksConnector(SourceConnector):
    """A source connector with as many tasks as allowed, each with an `id` of its own."""

    def version(self) -> str:
        return KAFKA_VERSION

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self._props, ID_CONFIG: str(task)} for task in range(max_tasks)]

    def stop(self) -> None:
        pass

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        return ExactlyOnceSupport.SUPPORTED


class NumberedTask(SourceTask):
    """A task of such a connector. `poll` waits by ``_wait``, at most `LONGEST_WAIT`."""

    def __init__(self) -> None:
        self._wait = InterruptibleWait()

    def version(self) -> str:
        return KAFKA_VERSION

    def wakeup(self) -> None:
        self._wait.interrupt()

    def stop(self) -> None:
        self._wait.wake()


class Throttle:
    """A schedule of records. Pure: the caller passes the time, in seconds of a monotonic clock.

    The n-th record is due n/rate after the start. A caller that lags may catch up with records that became due in the
    last second; older ones are dropped, so that no pause ends in a burst. A negative rate is no limit, 0 is never.
    """

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._start = now
        self._sent = 0

    def due(self, now: float, limit: int) -> int:
        """Return the number of records due now, at most `limit`. The first one is due at once."""
        if self._rate < 0:
            return limit
        if self._rate == 0:
            return 0
        if now - self._due_at() > _LONGEST_LAG:
            self._start, self._sent = now - _LONGEST_LAG, 0
        return max(0, min(limit, math.floor((now - self._start) * self._rate) + 1 - self._sent))

    def sent(self, count: int) -> None:
        """Note that ``count`` more records were sent."""
        self._sent += count

    def wait(self, now: float) -> float:
        """Return the seconds until the next record is due; infinity if never."""
        if self._rate < 0:
            return 0.0
        return max(0.0, self._due_at() - now) if self._rate else math.inf

    def _due_at(self) -> float:
        return self._start + self._sent / self._rate
