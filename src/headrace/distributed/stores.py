# SPDX-License-Identifier: Apache-2.0
"""The life cycle of the three internal topics, the id of the Kafka cluster that holds them, and checks for lost topics.

A topic can be lost while no worker of the group is running: a deleted one is created again at the next start, or by
brokers that create topics by themselves, and an empty topic does not show that it held records before. The records of
the other internal topics do.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import wait
from typing import Final, Protocol

from headrace.api.errors import ConnectError, RetriableError
from headrace.config.distributed_config import RECREATED
from headrace.kafka.log.topic_identity import TopicLostError
from headrace.model.backoff import ExponentialBackoff
from headrace.model.cluster_config_state import ClusterConfigState, OffsetsTopic
from headrace.worker.stages import Stages

log = logging.getLogger(__name__)

_ANSWER_TIMEOUT = 3.0
"""Seconds without an answer of the brokers after which a warning is logged."""
_BACKOFF: Final = ExponentialBackoff(0.25, 5.0)
"""Between attempts to reach the brokers."""
_NAMES_SHOWN = 5
"""Connectors that a message names."""


class Store(Protocol):
    """A store over an internal topic; ``start`` creates the topic if need be and reads it to its end, blocking."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def failure(self) -> BaseException | None: ...


class TopicStores:
    """Implements ``Stores``: all are started at once; and a start waits without limit for brokers that are down."""

    def __init__(
        self,
        stores: Sequence[tuple[str, Store]],
        find_cluster_id: Callable[[], str],
        brokers: str,
        stages: Stages,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """``stores`` come with their topics' names; ``find_cluster_id`` may block; ``brokers`` is for messages.

        ``check`` raises if what the topics hold, all of them read, does not fit together.
        """
        self._stores = tuple(stores)
        self._find_cluster_id = find_cluster_id
        self._cluster_id: str | None = None
        self._brokers = brokers
        self._check = check
        self._stages = stages
        self._stopping = threading.Event()
        self._trouble: str | None = None

    def start(self, done: Callable[[], None], failed: Callable[[BaseException], None]) -> None:
        """Start all stores. Returns at once.

        ``done`` is called on another thread, or ``failed`` for an error that is not retriable.
        """

        def start_all() -> None:
            try:
                starts = [
                    self._stages.run_in_background(f"start of topic {topic}", self._starter(store))
                    for topic, store in self._stores
                ]
                if wait(starts, _ANSWER_TIMEOUT).not_done and not self._stopping.is_set():
                    self._report_trouble(f"no answer for {_ANSWER_TIMEOUT:g} s")
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

        threading.Thread(target=start_all, name="start of the internal topics", daemon=True).start()

    def cluster_id(self) -> str | None:
        """Return the Kafka cluster's id, None while it is not known."""
        return self._cluster_id

    def trouble(self) -> str | None:
        """Return the reason why the brokers cannot be reached, None if they can."""
        return self._trouble

    def failure(self) -> BaseException | None:
        """Return the reason why one of the topics is read no more, None if all are."""
        return next((failure for _, store in self._stores if (failure := store.failure()) is not None), None)

    def stop(self) -> None:
        """Stop all stores. Blocks until the topics' threads have ended."""
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
        """Log one line when trouble begins, not one per attempt."""
        if self._trouble is None:
            log.warning("Kafka cannot be reached at bootstrap.servers=%s, will keep trying: %s", self._brokers, trouble)
        self._trouble = f"bootstrap.servers={self._brokers}: {trouble}"


def check_offsets_topic(config: ClusterConfigState, found: OffsetsTopic) -> None:
    """Raise TopicLostError if the offsets topic was created again since a leader last noted its id in ``config``."""
    noted = config.offsets_topic
    if noted is None or not noted.id or not found.id or noted.name != found.name or noted.id == found.id:
        return
    raise TopicLostError(
        f"Topic '{found.name}' (offset.storage.topic) was deleted and made again since the group last used it: its id "
        f"was {noted.id}, and is {found.id} now. Source connectors would begin from what is in it and write records "
        f"again. Restore its records from a backup if they are not there, then start a worker with {RECREATED}=accept"
    )


def check_config_topic(config: ClusterConfigState, topic: str, connectors: Collection[str]) -> None:
    """Raise TopicLostError if the config topic is empty though there are statuses of ``connectors``."""
    if config.offset >= 0 or not connectors:
        return
    names = ", ".join(sorted(connectors)[:_NAMES_SHOWN])
    more = f" and {len(connectors) - _NAMES_SHOWN} more" if len(connectors) > _NAMES_SHOWN else ""
    raise TopicLostError(
        f"Topic '{topic}' (config.storage.topic) is empty, but the status topic knows of connectors: {names}{more}. "
        f"Their configurations are lost. Restore the topic's records from a backup; or, to begin with no connectors, "
        f"start a worker with {RECREATED}=accept"
    )
