# SPDX-License-Identifier: Apache-2.0
"""The steps of a quickstart: start, first row, copying, comparison."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from headrace.api.errors import ConnectError
from headrace.cli.ctl.statuses import Goal, failures, is_reached
from headrace.cli.quickstart.comparison import Comparison, ParquetRows, compare
from headrace.cli.quickstart.connector_pair import OFFSET_COLUMN, ConnectorPair
from headrace.cli.quickstart.observation import Observation, Observer
from headrace.cli.quickstart.services import Services
from headrace.cli.quickstart.view import View
from headrace.jvm.java_runtime import JavaRuntime, NoJavaError, find_java

T = TypeVar("T")
_REMEDY: Final = "This installs one into this environment: pip install 'headrace[jvm]'"
_PAUSE_S: Final = 0.1
_OBSERVE_S: Final = 0.5
_START_S: Final = 300.0
_SETTLE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The ends of the copying: seconds since the first row, or a number of rows. None is no limit."""

    seconds: float | None = None
    records: int | None = None


class Run:
    """A quickstart, step by step, each a method that blocks. For one thread."""

    def __init__(
        self,
        services: Services,
        pair: ConnectorPair,
        rows: ParquetRows,
        view: View,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._services = services
        self._pair = pair
        self._rows = rows
        self._view = view
        self._clock = clock
        self._begun = clock()
        self._observer = Observer(services, rows)

    def start(self) -> None:
        """Start broker and worker, and create the connectors. Raise ConnectError if something cannot be started."""
        view, services = self._view, self._services
        java = _java()
        self._done(f"Java {java.major} at {java.home}")
        view.wait("Kafka is prepared")
        services.prepare_broker(self._show_download())
        view.wait("the broker starts")
        services.start_broker()
        self._done(f"Kafka broker at {services.broker.bootstrap_servers}")
        view.wait("the worker starts")
        services.start_worker()
        self._await(lambda: services.ask("connectors") is not None, "the worker to answer", _START_S)
        self._done(f"worker with its REST API at {services.url}")
        services.configure(self._pair.configs)
        self._done(f"connectors {self._pair.source} and {self._pair.sink} created")
        view.wait("Spark starts, and the tasks on it")
        self._await(lambda: all(map(self._runs, self._pair.configs)), "the tasks to run", _START_S)
        self._done("tasks run on Spark")

    def copy(self, limits: Limits) -> None:
        """Show counts until a limit is reached; without limits until KeyboardInterrupt."""
        self._view.wait(f"waiting for the first record in topic {self._pair.topic}")
        first_record = first_row = None
        while True:
            seen, now = self._observer.observe(), self._clock()
            for name, health in seen.health.items():
                if health.verdict == "failed":
                    raise ConnectError(f"Connector {name} has failed: {health.why}")
            if first_record is None and seen.records:
                first_record = now
                self._done(f"first record in topic {self._pair.topic}")
                self._view.wait("waiting for the first row in Parquet")
            if first_row is None and seen.rows:
                first_row = now
                self._done(f"first row in Parquet after {now - self._begun:.0f} s")
            self._view.count(seen, now - self._begun)
            if first_row is not None and _is_reached(limits, seen, now - first_row):
                return
            time.sleep(_OBSERVE_S)

    def compare(self) -> Comparison:
        """Stop the source, wait until the sink has written all of its records, and compare topic and files."""
        self._view.wait("the source stops, and the sink writes what is left")
        self._services.stop_connector(self._pair.source)
        self._await(self._source_has_stopped, f"connector {self._pair.source} to stop", _SETTLE_S)
        offsets = self._services.records.offsets_to_end(_SETTLE_S)
        self._await(lambda: self._rows.count() >= offsets.size, "all rows in Parquet", _SETTLE_S)
        self._view.count(self._observer.observe(), self._seconds())
        return compare(offsets, self._rows.column(OFFSET_COLUMN))

    def _show_download(self) -> Callable[[str], None]:
        names: list[str] = []

        def show(name: str) -> None:
            if not names:
                self._done("downloading Kafka's jars into the user's cache, once")
            names.append(name)
            self._view.wait(f"downloading jar {len(names)}: {name}")

        return show

    def _status(self, name: str) -> Any:
        return self._services.ask("connectors", name, "status")

    def _runs(self, name: str) -> bool:
        status = self._status(name)
        self._raise_if_failed(name, status)
        return is_reached(Goal.RUNNING, status)

    def _source_has_stopped(self) -> bool:
        return is_reached(Goal.STOPPED, self._status(self._pair.source))

    def _raise_if_failed(self, name: str, status: Any) -> None:
        for failure in failures(status):
            raise ConnectError(f"Connector {name}: {failure}")

    def _await(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        deadline = self._clock() + seconds
        while not condition():
            self._services.check()
            if self._clock() > deadline:
                raise ConnectError(f"Waited {seconds:.0f} s for {what}")
            time.sleep(_PAUSE_S)

    def _done(self, what: str) -> None:
        self._view.done(what, self._seconds())

    def _seconds(self) -> float:
        return self._clock() - self._begun


def _java() -> JavaRuntime:
    try:
        return find_java()
    except NoJavaError as error:
        raise NoJavaError(error.reason, _REMEDY) from error


def _is_reached(limits: Limits, seen: Observation, seconds: float) -> bool:
    enough = limits.records is not None and seen.rows >= limits.records
    return enough or (limits.seconds is not None and seconds >= limits.seconds)
