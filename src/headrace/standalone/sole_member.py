# SPDX-License-Identifier: Apache-2.0
"""A group of one: the fixed membership of a worker that is alone, the stores that it has, and their health."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.herder.core.herder_events import Assigned, HerderEvent
from headrace.herder.core.herder_state import HerderState
from headrace.herder.engine.herder_services import HerderServices
from headrace.model.assignment import Assignment
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.standalone.file_offset_backing_store import FileOffsetBackingStore
from headrace.standalone.kafka_cluster import KafkaCluster

GENERATION: Final = 0
"""There is no other member, so nothing is ever of an older generation."""


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
        """Do nothing: there is nobody to leave the work to."""

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
