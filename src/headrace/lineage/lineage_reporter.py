# SPDX-License-Identifier: Apache-2.0
"""The lineage of a worker: a thread that reports the runs of its connectors, which nothing in the worker waits for."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from headrace.api.datasets import Dataset
from headrace.api.error_text import error_line
from headrace.api.errors import ConfigError
from headrace.config.telemetry_config import LINEAGE
from headrace.config.worker_config import WorkerConfig
from headrace.lineage.lineage_runs import RunEvent, Runs, SeenConnector, step

log = logging.getLogger(__name__)
_TICK: Final = 1.0
_STOP_TIMEOUT: Final = 3.0
"""Seconds that a worker's end waits for the last events."""
_CLIENTS_LOGGERS: Final = ("openlineage", "urllib3.connectionpool")
"""They log each attempt and each failed event, at any level."""
_NAMESPACE: Final = "headrace"


class Events(Protocol):
    """A sender of events; blocks."""

    def send(self, event: RunEvent) -> None: ...

    def send_schemas(self, datasets: Iterable[Dataset]) -> None: ...


class View(Protocol):
    """A reader of a worker's connectors; ``LineageView`` documents it."""

    def connectors(self) -> dict[str, SeenConnector]: ...

    def topics_of_other_workers(self) -> Iterable[Dataset]: ...


class LineageReporter:
    """Looks at the connectors once a second, and sends what has changed. ``begin`` and ``close`` once each."""

    def __init__(self, events: Events, clock: Callable[[], float] = time.monotonic) -> None:
        self._events = events
        self._clock = clock
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._runs: Runs = {}
        self._schemas: frozenset[Dataset] = frozenset()
        self._failing = False

    def begin(self, view: View) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, args=(view,), name="lineage", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Report the ends of all runs, and end; waits some seconds at most, and not for a backend that is failing."""
        self._stopping.set()
        if self._thread is not None and not self._failing:
            self._thread.join(_STOP_TIMEOUT)

    def _run(self, view: View) -> None:
        while not self._stopping.wait(_TICK):
            try:
                self._tick(view)
            except Exception:
                log.exception("Lineage could not be determined")
        self._report({})

    def _tick(self, view: View) -> None:
        self._report(view.connectors())
        schemas = frozenset(view.topics_of_other_workers())
        if schemas - self._schemas:
            self._send(lambda: self._events.send_schemas(schemas - self._schemas))
        self._schemas = schemas

    def _report(self, seen: dict[str, SeenConnector]) -> None:
        self._runs, events = step(self._runs, seen, self._clock(), lambda: str(uuid.uuid4()))
        for event in events:
            self._send(lambda event=event: self._events.send(event))  # type: ignore[misc]

    def _send(self, send: Callable[[], None]) -> None:
        try:
            send()
        except Exception as error:
            if not self._failing:
                log.warning("Lineage events cannot be sent, and are dropped until they can: %s", error_line(error))
            self._failing = True
        else:
            if self._failing:
                log.info("Lineage events are sent again")
            self._failing = False


def create_lineage(config: WorkerConfig) -> LineageReporter | None:
    """Return the reporter, not started; None if lineage is not enabled.

    Jobs have the namespace of the worker's group. Raise ConfigError if packages are missing, or OpenLineage's own
    configuration is not valid.
    """
    if not config.get(LINEAGE):
        return None
    try:
        from headrace.lineage.openlineage_events import OpenLineageEvents
    except ImportError as error:
        reason = f"needs OpenLineage: install headrace with the extra 'lineage' ({error})"
        raise ConfigError.invalid(LINEAGE, "true", reason) from error
    for name in _CLIENTS_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return LineageReporter(OpenLineageEvents(config.group_id or _NAMESPACE))
    except Exception as error:
        raise ConfigError.invalid(
            LINEAGE, "true", f"the configuration of OpenLineage cannot be used: {error}"
        ) from error
