# SPDX-License-Identifier: Apache-2.0
"""The Kafka cluster that a standalone worker's connectors write to, of which the worker itself needs the id only."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from headrace.api.errors import RetriableError
from headrace.model.backoff import ExponentialBackoff
from headrace.worker.stages import Stages

log = logging.getLogger(__name__)

_BACKOFF: Final = ExponentialBackoff(0.25, 5.0)
"""Between attempts to reach the brokers."""


class KafkaCluster:
    """A lookup of the cluster's id, however long the brokers take to be there. Thread-safe."""

    def __init__(self, find_id: Callable[[], str], stages: Stages) -> None:
        """Create the lookup; ``find_id`` may block."""
        self._find_id = find_id
        self._stages = stages
        self._id: str | None = None
        self._trouble: str | None = None
        self._stopping = threading.Event()

    def start(self, failed: Callable[[BaseException], None]) -> None:
        """Start the lookup and return at once; ``failed`` gets a permanent error, on another thread."""
        looking = self._stages.run_in_background("answer of the Kafka brokers", self._look)
        looking.add_done_callback(lambda done: failed(error) if (error := done.exception()) else None)

    def stop(self) -> None:
        """End the lookup; returns at once."""
        self._stopping.set()

    def id(self) -> str | None:
        """Return the id; None while it is not known."""
        return self._id

    def trouble(self) -> str | None:
        """Return the brokers' last answer that was of no use, while there is no better one."""
        return self._trouble

    def _look(self) -> None:
        pauses = _BACKOFF.pauses()
        while self._id is None and not self._stopping.is_set():
            try:
                self._id, self._trouble = self._find_id(), None
            except RetriableError as error:
                if self._trouble is None:
                    log.warning("Kafka cannot be reached, will go on trying: %s", error)
                self._trouble = str(error)
                self._stopping.wait(next(pauses))
