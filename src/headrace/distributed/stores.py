# SPDX-License-Identifier: Apache-2.0
"""The three internal topics, and the Kafka cluster that they are in, as one thing that starts and stops."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from typing import Final, Protocol

from headrace.api.errors import ConnectError, RetriableError
from headrace.model.backoff import ExponentialBackoff
from headrace.worker.stages import Stages

log = logging.getLogger(__name__)

_PATIENCE = 3.0
"""Seconds after which brokers that have not answered are complained about."""
_BACKOFF: Final = ExponentialBackoff(0.25, 5.0)
"""Between attempts to reach the brokers."""


class Store(Protocol):
    """A store over an internal topic; ``start`` makes the topic if need be and reads it to its end, blocking."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def failure(self) -> BaseException | None: ...


class Stores:
    """Starts all stores at once, and waits for brokers that are down for as long as it takes."""

    def __init__(
        self,
        stores: Sequence[tuple[str, Store]],
        find_cluster_id: Callable[[], str],
        brokers: str,
        stages: Stages,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """``stores`` come with their topics' names; ``find_cluster_id`` may block; ``brokers`` is for messages;
        ``check`` raises if what the topics hold, all of them read, does not fit together."""
        self._stores = tuple(stores)
        self._find_cluster_id = find_cluster_id
        self._cluster_id: str | None = None
        self._brokers = brokers
        self._check = check
        self._stages = stages
        self._stopping = threading.Event()
        self._trouble: str | None = None

    def start(self, done: Callable[[], None], failed: Callable[[BaseException], None]) -> None:
        """Returns at once; ``done`` or ``failed``, for what waiting cannot heal, is called on another thread."""

        def run() -> None:
            try:
                starts = [
                    self._stages.run_in_background(f"start of topic {topic}", self._starter(store))
                    for topic, store in self._stores
                ]
                if wait(starts, _PATIENCE).not_done and not self._stopping.is_set():
                    self._report_trouble(f"no answer for {_PATIENCE:g} s")
                for start in starts:
                    start.result()
                self._trouble = None
                if not self._stopping.is_set():
                    self._check()
            except BaseException as error:
                failed(error)
                return
            if not self._stopping.is_set():
                done()
                self._look_up_cluster_id()

        threading.Thread(target=run, name="start of the internal topics", daemon=True).start()

    def cluster_id(self) -> str | None:
        """The Kafka cluster's id, None while it is not known."""
        return self._cluster_id

    def trouble(self) -> str | None:
        """What the brokers' last answer was while there was none of use."""
        return self._trouble

    def failure(self) -> BaseException | None:
        """Why one of the topics is read no more, if so."""
        return next((failure for _, store in self._stores if (failure := store.failure()) is not None), None)

    def stop(self) -> None:
        """Blocks until the topics' threads have ended."""
        self._stopping.set()
        for _, store in self._stores:
            store.stop()

    def _look_up_cluster_id(self) -> None:
        while self._cluster_id is None and not self._stopping.is_set():
            try:
                self._cluster_id = self._find_cluster_id()
            except RetriableError:
                self._stopping.wait(_BACKOFF.first)
            except ConnectError as error:
                log.warning("The Kafka cluster's id is not known: %s", error)
                return

    def _starter(self, store: Store) -> Callable[[], None]:
        def start() -> None:
            pauses = _BACKOFF.pauses()
            while not self._stopping.is_set():
                try:
                    store.start()
                except RetriableError as error:
                    self._report_trouble(str(error))
                    self._stopping.wait(next(pauses))
                else:
                    return

        return start

    def _report_trouble(self, trouble: str) -> None:
        """One line when trouble begins, not one per attempt."""
        if self._trouble is None:
            log.warning(
                "Kafka cannot be reached at bootstrap.servers=%s, will go on trying: %s", self._brokers, trouble
            )
        self._trouble = f"bootstrap.servers={self._brokers}: {trouble}"
