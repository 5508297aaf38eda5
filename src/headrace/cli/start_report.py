# SPDX-License-Identifier: Apache-2.0
"""The progress of a worker's start in its log: the steps that take longer than a second, and its end."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Final

import headrace

log = logging.getLogger(__name__)
_FIRST_S: Final = 1.0
"""Seconds after which a step is logged; one that takes less is not."""
_AGAIN_S: Final = 10.0
"""Seconds after which it is logged again, then after twice as many each time."""
_DETAILS: Final = re.compile(r" \(|;")


class StartReport:
    """Logs what a starting worker waits for, at growing intervals. For one thread."""

    def __init__(self, brokers: str, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` returns seconds; the start begins now."""
        self._brokers = brokers
        self._url = url
        self._clock = clock
        self._begun = self._since = clock()
        self._step = ""
        self._due = _FIRST_S
        self._over = False

    def begin(self) -> None:
        """Log the version and the addresses."""
        log.info("headrace %s: the REST API listens at %s", headrace.__version__, self._url)
        log.info("Connecting to Kafka at %s", self._brokers)

    def observe(self, stage: str, started: bool = False) -> None:
        """Log the ``stage``, as ``Herder.stage`` has it, if it is due, and once that the worker has ``started``."""
        now = self._clock()
        if self._over:
            return
        if started:
            self._over = True
            log.info("The worker is ready after %.1f s: %s", now - self._begun, self._url)
        else:
            self._observe_step(stage, _DETAILS.split(stage, maxsplit=1)[0], now)

    def _observe_step(self, stage: str, step: str, now: float) -> None:
        if step != self._step:
            self._step, self._since, self._due = step, now, _FIRST_S
        waited = now - self._since
        if waited < self._due:
            return
        since = f", since {waited:.0f} s" if self._due >= _AGAIN_S else ""
        log.info("The worker is %s%s", stage, since)
        self._due = max(_AGAIN_S, 2 * self._due)
