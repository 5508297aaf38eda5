# SPDX-License-Identifier: Apache-2.0
"""The process of a worker: from its properties to its orderly end, whatever kind of worker it is."""

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
from headrace.rest.server import RestServer

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.5
_KAFKA_SECONDS: Final = 60.0
_STOP_MARGIN_SECONDS: Final = 10.0
_REST_STOP_SECONDS: Final = 3.0
_EXIT_FORCED: Final = 130


def leave_no_core_dumps() -> None:
    """A dump of this process, or of one below it, would have all passwords in it. ``prlimit`` takes it back."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


@contextmanager
def resolved_properties(properties: Mapping[str, str]) -> Iterator[Mapping[str, str | None]]:
    """The properties with values in place of references to config providers; what goes wrong does not show them."""
    if CONFIG_PROVIDERS not in properties:
        yield properties
        return
    from headrace.plugins.config_transformer import resolve_worker_properties
    from headrace.plugins.discovery import plugins_of

    resolved = resolve_worker_properties(properties, plugins_of(properties))
    with resolved.hidden_errors():
        yield resolved.config


def _say(line: str) -> None:
    """A worker whose standard output cannot be written, as on a full disk, works all the same."""
    with suppress(OSError):
        print(line, flush=True)


class WorkerProcess:
    """Its life between two signals. `run` on the main thread, which alone receives them."""

    def __init__(
        self,
        herder: Herder,
        server: RestServer,
        url: str,
        config: WorkerConfig,
        begin: Callable[[], Future[None]] | None = None,
    ) -> None:
        """``begin`` begins, once Kafka is there, what has to have ended well before the worker counts as ready."""
        self._herder = herder
        self._server = server
        self._url = url
        self._brokers = config.bootstrap_servers
        self._stop_timeout = config.graceful_timeout + _STOP_MARGIN_SECONDS
        self._begin = begin
        self._asked_to_stop = threading.Event()
        self._wall_clock = SetBackClock()

    def run(self) -> int:
        """0 after an orderly stop. ConnectError when the herder or the REST server died, or Kafka is not there."""
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
                _say(f"headrace worker ready: {self._url}")
            while not self._stops():
                pass
        finally:
            self._stop()
        return 0

    def _await_kafka(self, deadline: Deadline) -> bool:
        """False when asked to stop first. Java as well gives up a start without brokers after a minute."""
        while self._herder.server_info().kafka_cluster_id is None:
            if deadline.expired:
                raise ConnectError(
                    f"Kafka cannot be reached at bootstrap.servers={self._brokers} for {_KAFKA_SECONDS:.0f} s; "
                    f"the worker is {self._herder.stage()}"
                )
            if self._stops():
                return False
        return True

    def _await_begun(self) -> bool:
        """False when asked to stop first; raises what went wrong."""
        begun = self._begin() if self._begin is not None else None
        while begun is not None and not begun.done():
            if self._stops():
                return False
        if begun is not None:
            begun.result()
        return True

    def _stops(self) -> bool:
        """Whether a signal came; waits for one for a moment. ConnectError if the herder has died."""
        stops = self._asked_to_stop.wait(_LOOK_SECONDS)
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
            # What is left of the group's and the tasks' state is what a crash would leave, and as harmless.
            os.write(2, b"Forced to end\n")
            os._exit(_EXIT_FORCED)
        self._asked_to_stop.set()
