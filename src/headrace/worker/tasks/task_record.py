# SPDX-License-Identifier: Apache-2.0
"""A worker's knowledge of the progress and the errors of one of its tasks, for its health."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

from headrace.api.lag import Lag
from headrace.metrics.client_metrics import FETCHES
from headrace.metrics.connect_metric import untagged
from headrace.model.deadline import Clock
from headrace.model.health import Progress, Stage, TaskError, TaskFacts
from headrace.model.step_counts import StepCounts

_WINDOW: Final = 60.0
"""Seconds that rates are averages of."""
_EPISODE: Final = 120.0
"""Seconds within which one error must follow another to be of the same trouble: twice the longest usual backoff."""
_MOST_RESTARTS: Final = 100
"""Of a minute, that are counted."""
_RECORDS: Final = ("source-record-write-total", "sink-record-send-total")
_RECORD_SIZE: Final = "record-size-avg"
"""Of sampled batches: see ``TaskMetrics.sample_size``."""
_ERRORS: Final = {
    "failures": "total-record-failures",
    "errors": "total-record-errors",
    "skipped": "total-records-skipped",
    "retries": "total-retries",
    "dead_letters": "deadletterqueue-produce-requests",
}
_KEPT: Final = (_RECORD_SIZE, *_ERRORS.values())


class TaskRecord:
    """Written by the threads that serve the task's attempts, one at a time; ``facts`` is for any thread.

    Times are those of this worker's clock at which a report arrived, less the ages in it. What is known of an attempt
    outlasts it.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        now = clock()
        self._attempt = now
        self._has_process = False
        self._stage = (Stage.STARTING, now)
        self._times: Mapping[str, float] = {}
        """The times of the newest poll, record and commit, of all attempts."""
        self._transaction: float | None = None
        self._interval: int | None = None
        self._source_lag: tuple[Lag | None, float | None] = (None, None)
        """A source's lag, and the time since when it does not shrink."""
        self._measured: float | None = None
        self._asked: float | None = None
        self._answered = threading.Event()
        self._error: tuple[TaskError, float, float] | None = None
        """The newest error, its time, and that of the first of the same trouble."""
        self._restart: tuple[int, str | None, float | None] = (0, None, None)
        self._restarted: deque[float] = deque(maxlen=_MOST_RESTARTS)
        """The times of the newest restarts."""
        self._values: Mapping[str, float] = {}
        """The figures that the facts have: records outlast their tasks, and most figures are of the task's clients."""
        self._lags: dict[str, int] | None = None
        self._steps: Sequence[StepCounts] = ()
        self._records = _Rate()

    # ---- reports

    def ask(self) -> bool:
        """Note that the process is asked for its progress; return False if there is none, or it has yet to answer."""
        if self._asked is not None or not self._has_process:
            return False
        self._answered.clear()
        self._asked = self._clock()
        return True

    def await_answer(self, seconds: float) -> bool:
        """Wait until the process has answered."""
        return self._asked is None or self._answered.wait(max(0.0, seconds))

    def measured(self, progress: Progress) -> None:
        now = self._clock()
        self._stage = (progress.stage, now - progress.stage_since / 1000)
        ages = {"poll": progress.last_poll, "record": progress.last_record, "commit": progress.last_commit}
        self._times = {**self._times, **{name: now - age / 1000 for name, age in ages.items() if age is not None}}
        opened = progress.transaction_open
        self._transaction = None if opened is None else now - opened / 1000
        self._interval = progress.transaction_interval
        lag_since = progress.lag_since
        self._source_lag = (progress.lag, None if lag_since is None else now - lag_since / 1000)
        self._measured = now

    def answered(self) -> None:
        """Note that the process has answered, with the progress that was ``measured``."""
        self._asked = None
        self._answered.set()

    @property
    def steps(self) -> Sequence[StepCounts]:
        """The counts that were ``reported`` last."""
        return self._steps

    def reported(self, values: Mapping[str, float], steps: Sequence[StepCounts] = ()) -> None:
        """Accept the figures of the running attempt and of its steps, which count from its start."""
        self._values = {name: values[name] for name in _KEPT if name in values}
        self._lags, self._steps = _lags(values), steps
        self._records.add(self._clock(), sum(values.get(name, 0.0) for name in _RECORDS), self._attempt)

    def met(self, error: TaskError) -> None:
        """Note an error; one that was noted already, as the end of its attempt shows it too, counts once."""
        now, last = self._clock(), self._error
        goes_on = (
            last is not None
            and (last[0].handling, last[0].stage) == (error.handling, error.stage)
            and now - last[1] <= _EPISODE
        )
        self._error = (error, now, last[2] if last is not None and goes_on else now)

    def launched(self) -> None:
        """Note that the task, which had ended, is started again. Counts begin anew."""
        self._begin(has_process=False)
        self._restart, self._values, self._lags, self._steps = (0, None, None), {}, None, ()

    def attempt_started(self, number: int) -> None:
        """Note a new process. Every attempt but the first of a launch replaces one that ended without failing."""
        if number > 0:
            count, reason, _ = self._restart
            self._restart = (count + 1, reason, self._clock())
            self._restarted.append(self._clock())
        self._begin(has_process=True)

    def ended(self, reason: str) -> None:
        """Note that an attempt has ended, for ``reason``, and another one follows."""
        self._restart = (self._restart[0], reason, self._clock())
        self._begin(has_process=False)

    def waiting(self) -> None:
        """Note that there is no core for a process; it means nothing for a task that has one."""
        if self._stage[0] is not Stage.WAITING_FOR_CORES and not self._has_process:
            self._stage = (Stage.WAITING_FOR_CORES, self._clock())

    def gone(self) -> None:
        """Note that no process is left: it answers nothing, and its transaction is aborted."""
        self._transaction = None
        self.answered()

    def _begin(self, *, has_process: bool) -> None:
        self.gone()
        self._attempt = now = self._clock()
        self._source_lag = (None, None)
        self._stage, self._measured, self._has_process = (Stage.STARTING, now), None, has_process

    # ---- for health

    @property
    def last_error(self) -> TaskError | None:
        return None if self._error is None else self._error[0]

    @property
    def stage(self) -> Stage:
        return self._stage[0]

    def facts(self) -> TaskFacts:
        now = self._clock()

        def age(at: float | None) -> int | None:
            return None if at is None else max(0, round((now - at) * 1000))

        stage, since = self._stage
        times, error, (restarts, reason, restarted) = self._times, self._error, self._restart
        poll, record, commit = (age(times.get(name)) for name in ("poll", "record", "commit"))
        lag, lag_since = self._source_lag
        transaction, interval = age(self._transaction), self._interval
        progress = Progress(stage, age(since) or 0, poll, record, commit, transaction, interval, lag, age(lag_since))
        met, at, began = error or (None, None, None)
        rate, size = self._records.rate(now), self._values.get(_RECORD_SIZE)
        return TaskFacts(
            progress,
            attempt=age(self._attempt) or 0,
            measured=age(self._measured),
            silent=age(self._asked),
            records_per_second=rate,
            bytes_per_second=None if rate is None or size is None else round(rate * size, 3),
            last_error=met,
            error_age=age(at),
            error_since=age(began),
            errors={name: int(self._values.get(metric, 0)) for name, metric in _ERRORS.items()},
            restarts=restarts,
            restarts_lately=sum(at > now - _WINDOW for at in tuple(self._restarted)),
            restart_reason=reason,
            restart_age=age(restarted),
            lag=self._lags,
            steps=self._steps,
        )


def _lags(values: Mapping[str, float]) -> dict[str, int] | None:
    lags = {}
    for name, lag in values.items():
        parts = untagged(name)
        if parts is not None and parts[:2] == (FETCHES, "records-lag"):
            lags[f"{parts[2]['topic']}-{parts[2]['partition']}"] = int(lag)
    return lags or None


class _Rate:
    """The rate of a total in the last minute. Totals that shrink are those of a new attempt."""

    def __init__(self) -> None:
        self._totals: deque[tuple[float, float]] = deque()

    def add(self, now: float, total: float, began: float) -> None:
        """Add a total that was 0 when it ``began``."""
        totals = self._totals
        if totals and total < totals[-1][1]:
            totals.clear()
        if not totals:
            totals.append((began, 0.0))
        totals.append((now, total))
        # One from before the window stays: the first difference within it counts from there.
        while len(totals) > 2 and totals[1][0] <= now - _WINDOW:
            totals.popleft()

    def rate(self, now: float) -> float | None:
        """Return the rate per second; None if no total was ever reported."""
        totals = list(self._totals)
        if not totals:
            return None
        within = [total for total in totals if total[0] > now - _WINDOW]
        if not within:
            return 0.0
        at, before = totals[max(0, len(totals) - len(within) - 1)]
        seconds = min(_WINDOW, max(1.0, now - at))
        return round((within[-1][1] - before) / seconds, 3)
