# SPDX-License-Identifier: Apache-2.0
"""The stage that a task is in, when it last made progress, and its lag, for its health."""

from __future__ import annotations

import time
from collections.abc import Callable

from headrace.api.lag import Lag
from headrace.model.health import Progress, Stage


class TaskProgress:
    """Written by the task's thread, per batch and never per record; ``measure`` is for any thread.

    ``committed`` and ``transaction_closed`` are for the thread of a commit beside a poll, too. Every call is a reading
    of the clock and one assignment. Nothing is sent: the worker asks when a client asks it, and
    is answered while the task's thread is blocked.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stage = (Stage.STARTING, clock())
        self._poll: float | None = None
        self._record: float | None = None
        self._commit: float | None = None
        self._transaction: float | None = None
        self.transaction_interval: float | None = None
        """Seconds for which a transaction may stay open; None if that depends on polls or on the task."""
        self._lag: Lag | None = None
        self._behind: tuple[int, float | None] = (0, None)
        """The sum of the lag, and the time since when it is above 0 and has not shrunk."""

    @property
    def stage(self) -> Stage:
        return self._stage[0]

    def enter(self, stage: Stage) -> None:
        """Begin a stage, also one that is the same as before."""
        self._stage = (stage, self._clock())

    def polled(self) -> None:
        """Note that a poll, or a sink's read, has returned."""
        self._poll = self._clock()

    def processed(self) -> None:
        """Note that a batch with records was given to the producer, or put."""
        self._record = self._clock()

    def committed(self) -> None:
        self._commit = self._clock()

    def transaction_opened(self) -> None:
        """Note that a transaction is open; one that is open already keeps its age."""
        if self._transaction is None:
            self._transaction = self._clock()

    def transaction_closed(self) -> None:
        self._transaction = None

    def lagged(self, lag: Lag | None) -> None:
        """Note a source's lag."""
        self._lag = lag
        self.behind(0 if lag is None else lag.total)

    def behind(self, total: int) -> None:
        """Note the sum of a lag. While the task is paused, the lag is intended and has no age."""
        former, since = self._behind
        if total == 0 or self.stage is Stage.PAUSED:
            since = None
        elif since is None or total < former:
            since = self._clock()
        self._behind = (total, since)

    def measure(self) -> Progress:
        stage, since = self._stage
        now = self._clock()

        def age(at: float | None) -> int | None:
            return None if at is None else max(0, round((now - at) * 1000))

        return Progress(
            stage,
            max(0, round((now - since) * 1000)),
            last_poll=age(self._poll),
            last_record=age(self._record),
            last_commit=age(self._commit),
            transaction_open=age(self._transaction),
            transaction_interval=None if self.transaction_interval is None else round(self.transaction_interval * 1000),
            lag=self._lag,
            lag_since=age(self._behind[1]),
        )
