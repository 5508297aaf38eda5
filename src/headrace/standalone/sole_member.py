# SPDX-License-Identifier: Apache-2.0
"""A group of one: the fixed membership of a worker that is alone, the stores that it has, and their health."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from headrace.api.errors import RetriableError
from headrace.herder.core.herder_events import Assigned, HerderEvent
from headrace.herder.core.herder_state import HerderState
from headrace.herder.engine.herder_services import HerderServices
from headrace.model.assignment import Assignment
from headrace.model.backoff import ExponentialBackoff
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.standalone.file_offset_backing_store import FileOffsetBackingStore
from headrace.worker.stages import Stages

log = logging.getLogger(__name__)

_BACKOFF: Final = ExponentialBackoff(0.25, 5.0)
"""Between attempts to reach the brokers."""
GENERATION: Final = 0
"""There is no other member, so nothing is ever of an older generation."""


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
                    log.warning("Kafka cannot be reached, will keep trying: %s", error)
                self._trouble = str(error)
                self._stopping.wait(next(pauses))


class SoleMember:
    """Implements ``Member``: each join is answered at once by an assignment of all connectors and tasks there are."""

    def __init__(self, url: str, config: Callable[[], ClusterConfigState], post: Callable[[HerderEvent], None]) -> None:
        """``url`` is that of this worker's REST API; ``post`` takes the assignments."""
        self._url = url
        self._config = config
        self._post = post

    def start(self) -> None:
        self._assign()

    def request_rejoin(self) -> None:
        self._assign()

    def leave_and_rejoin(self, reason: str, pause: float) -> None:
        self._assign()

    def in_session(self) -> bool:
        return True

    def leave(self, timeout: float) -> None:
        """Do nothing: there is no other worker to leave the work to."""

    def _assign(self) -> None:
        state = self._config()
        names = state.connectors()
        tasks = tuple(id for name in names for id in state.tasks(name))
        self._post(Assigned(GENERATION, self._url, Assignment(self._url, self._url, state.offset, names, tasks)))


class LocalStores:
    """Implements ``Stores``: the offsets file, which was read at its start, and configurations and statuses in memory.

    The Kafka cluster, of which the worker needs the id only, is looked for in the background.
    """

    def __init__(self, offsets: FileOffsetBackingStore, cluster: KafkaCluster) -> None:
        self._offsets = offsets
        self._cluster = cluster

    def start(self, done: Callable[[], None], failed: Callable[[BaseException], None]) -> None:
        done()
        self._cluster.start(failed)

    def stop(self) -> None:
        self._cluster.stop()
        self._offsets.stop()


class LocalHealth:
    """Implements ``HerderHealth`` for a worker that is alone."""

    def __init__(self, services: HerderServices, offsets: FileOffsetBackingStore, cluster: KafkaCluster) -> None:
        self._services = services
        self._offsets = offsets
        self._cluster = cluster

    def has_started(self, state: HerderState) -> bool:
        return self._cluster.id() is not None

    def failure(self, state: HerderState) -> BaseException | None:
        return None

    def stage(self, state: HerderState) -> str:
        trouble = self._cluster.trouble()
        return f"waiting for Kafka to answer ({trouble})" if trouble else self._services.waiting()

    def problem(self) -> str | None:
        return None

    def remark(self) -> str | None:
        trouble = self._offsets.trouble()
        return trouble and f"{trouble}; free space there, or what is sent meanwhile is sent again after the next start."
