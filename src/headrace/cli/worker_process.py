# SPDX-License-Identifier: Apache-2.0
"""The process of a worker, distributed or standalone: from its properties to its orderly end."""

from __future__ import annotations

import logging
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from headrace import __version__
from headrace.api.errors import ConnectError
from headrace.config.worker_config import CONFIG_PROVIDERS, WorkerConfig
from headrace.herder.herder import Herder
from headrace.model.deadline import Deadline
from headrace.model.service_threads import THREAD_DEATHS
from headrace.model.set_back_clock import SetBackClock
from headrace.rest.server.rest_server import RestServer

log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.5
_KAFKA_SECONDS: Final = 60.0
_STOP_MARGIN_SECONDS: Final = 10.0
_REST_STOP_SECONDS: Final = 3.0
_EXIT_FORCED: Final = 130


def leave_no_core_dumps() -> None:
    """Disable core dumps of this process and its children: they would contain passwords. ``prlimit`` reverts it."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


@contextmanager
def resolved_properties(properties: Mapping[str, str]) -> Iterator[Mapping[str, str | None]]:
    """Yield the properties with config providers' values, which are hidden in errors raised meanwhile."""
    if CONFIG_PROVIDERS not in properties:
        yield properties
        return
    from headrace.plugins.config_transformer import resolve_worker_properties
    from headrace.plugins.discovery import plugins_of

    resolved = resolve_worker_properties(properties, plugins_of(properties))
    with resolved.hidden_errors():
        yield resolved.config


def _print_line(line: str) -> None:
    """Print the line; a worker whose standard output cannot be written, as on a full disk, goes on."""
    with suppress(OSError):
        print(line, flush=True)


class WorkerProcess:
    """A worker's process from its start to SIGTERM. `run` on the main thread, which alone receives signals."""

    def __init__(
        self,
        herder: Herder,
        server: RestServer,
        url: str,
        config: WorkerConfig,
        begin: Callable[[], Future[None]] | None = None,
    ) -> None:
        """``begin`` starts, once Kafka is reachable, initial work that must succeed before the worker is ready."""
        self._herder = herder
        self._server = server
        self._url = url
        self._brokers = config.bootstrap_servers
        self._stop_timeout = config.graceful_timeout + _STOP_MARGIN_SECONDS
        self._begin = begin
        self._asked_to_stop = threading.Event()
        self._wall_clock = SetBackClock()

    def run(self) -> int:
        """Return 0 after an orderly stop. Raise ConnectError if herder or REST server died, or Kafka is unreachable."""
        with THREAD_DEATHS.recording():
            return self._run()

    def _run(self) -> int:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        self._server.start()
        self._herder.start()
        log.info("headrace %s: the REST API listens at %s", __version__, self._url)
        try:
            if self._await_kafka(Deadline.after(_KAFKA_SECONDS)) and self._await_begun():
                _print_line(f"headrace worker ready: {self._url}")
            while not self._stop_requested():
                pass
        finally:
            self._stop()
        return 0

    def _await_kafka(self, deadline: Deadline) -> bool:
        """Return False if asked to stop first. Java as well gives up a start without brokers after a minute."""
        while self._herder.server_info().kafka_cluster_id is None:
            if deadline.expired:
                raise ConnectError(
                    f"Kafka cannot be reached at bootstrap.servers={self._brokers} for {_KAFKA_SECONDS:.0f} s; "
                    f"the worker is {self._herder.stage()}"
                )
            if self._stop_requested():
                return False
        return True

    def _await_begun(self) -> bool:
        """Return False if asked to stop first; raise the error of the initial work."""
        begun = self._begin() if self._begin is not None else None
        while begun is not None and not begun.done():
            if self._stop_requested():
                return False
        if begun is not None:
            begun.result()
        return True

    def _stop_requested(self) -> bool:
        """Wait a moment for a signal, and return True if one came. Raise ConnectError if the herder has died."""
        stops = self._asked_to_stop.wait(_POLL_SECONDS)
        self._wall_clock.exit_if_set_back("The worker")
        failure = self._herder.failure()
        if failure is None and self._server.has_died():
            failure = ConnectError("The thread of the REST server has died")
        if failure is None:
            return stops
        if isinstance(failure, ConnectError):
            raise failure
        raise ConnectError(f"The worker has failed: {failure!r}") from failure

    def _stop(self) -> None:
        deadline = Deadline.after(self._stop_timeout)
        log.info("Stopping, within %.0f s", self._stop_timeout)
        self._server.stop(min(_REST_STOP_SECONDS, deadline.remaining()))
        self._herder.stop(deadline.remaining())
        log.info("Stopped")

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asked_to_stop.is_set():
            # The group's and the tasks' state stays as after a crash, which is as harmless.
            os.write(2, b"Forced to end\n")
            os._exit(_EXIT_FORCED)
        self._asked_to_stop.set()
