# SPDX-License-Identifier: Apache-2.0
"""The collaborators of a herder. Interfaces are given for those that differ between a group's worker and one alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headrace.herder.cluster_workers import ClusterWorkers
from headrace.herder.connector_health import ConnectorHealth
from headrace.herder.connector_history import ConnectorHistory
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.core.herder_state import HerderState
from headrace.herder.engine.herder_inbox import HerderInbox
from headrace.herder.engine.statuses import StatusReporter, StatusStore
from headrace.herder.herder_queries import HerderQueries
from headrace.herder.worker_parts import Json
from headrace.model.cluster_config_state import Config, OffsetsTopic, SessionKey
from headrace.storage.config_backing_store import ConfigBackingStore
from headrace.worker.stages import Stages
from headrace.worker.worker import Worker

_SLOW_STAGE = 1.0
"""Seconds after which a pending stage is named in ``stage``."""


class Stores(Protocol):
    """The stores of configurations, statuses and offsets."""

    def start(self, done: Callable[[], None], failed: Callable[[BaseException], None]) -> None:
        """Start to read the stores, and return at once.

        ``done`` is called as soon as all are read, ``failed`` for an error that is not retriable; on any thread.
        """

    def stop(self) -> None:
        """Close the stores; blocks."""


class Member(Protocol):
    """This worker's membership, whose assignments and losses come as events. No method but ``leave`` blocks."""

    def start(self) -> None:
        """Begin to join."""

    def request_rejoin(self) -> None:
        """Request a rebalance; an assignment follows."""

    def leave_and_rejoin(self, reason: str, pause: float) -> None:
        """Leave the group, and rejoin after ``pause`` seconds or later."""

    def in_session(self) -> bool:
        """Return True while the work that was last assigned is still this member's."""

    def leave(self, timeout: float) -> None:
        """Leave the group for good, within ``timeout`` seconds."""


class HerderHealth(Protocol):
    """Views of what the herder depends on, for any thread. No call blocks."""

    def has_started(self, state: HerderState) -> bool:
        """Return True once the worker has been ready for requests."""

    def failure(self, state: HerderState) -> BaseException | None:
        """Return the failure of a collaborator without which the herder cannot continue, None if there is none."""

    def stage(self, state: HerderState) -> str:
        """Return a description of the step that the worker waits for."""

    def problem(self) -> str | None:
        """Return the reason why the worker is unhealthy, None if it is not."""

    def remark(self) -> str | None:
        """Return a defect of a worker that is healthy all the same, None if there is none."""


class LeaderRequests(Protocol):
    """A client of other workers, mostly of the leader. Each call blocks until the answer: not for the herder's thread.

    ``leader_url`` is that of the leader's REST API, ``key`` signs the requests, where there is one. Raise ConnectError
    with the leader's message, where it sent one.
    """

    def put_task_configs(
        self, leader_url: str, connector: str, configs: Sequence[Config], key: SessionKey | None
    ) -> None:
        """Have the leader write a connector's task configs."""

    def put_logger_level(self, leader_url: str, logger: str, level: str, key: SessionKey | None) -> None:
        """Have a level written for the whole cluster. Raise RetriableError as ``fence_zombies`` does."""

    def fence_zombies(self, leader_url: str, connector: str, key: SessionKey | None) -> None:
        """Have the leader fence the connector's former tasks.

        Raise RetriableError if another request may help: no answer, no leader any more, a round that is not over yet.
        """

    def worker_health(self, worker_url: str, connector: str | None, key: SessionKey | None) -> Json:
        """Return the part of any worker in the health, as ``WorkerRequests.worker_health``."""

    def worker_history(self, worker_url: str, connector: str | None, key: SessionKey | None) -> Json:
        """Return the part of any worker in the history, as ``HistoryRequests.worker_history``."""

    def worker_report(self, worker_url: str, key: SessionKey | None) -> Json:
        """Return any worker's report, as ``ReportRequests.worker_report``."""


@dataclass(frozen=True, slots=True)
class HerderServices:
    """The collaborators that perform the herder's actions."""

    worker: Worker
    config_store: ConfigBackingStore
    status_store: StatusStore
    statuses: StatusReporter
    member: Member
    inbox: HerderInbox
    stages: Stages
    leader: LeaderRequests | None = None
    """None if there is no other worker that could be the leader: then nothing is asked of it."""
    offsets_topic: Callable[[], OffsetsTopic | None] = lambda: None
    """Returns the workers' offsets topic as it was found at the start; None if offsets are in no topic."""

    def waiting(self) -> str:
        """Return a description of what the herder waits for: a stage of its own or of the worker's that takes long."""
        slow = self.worker.blocked() + self.stages.longer_than(_SLOW_STAGE)
        return f"waiting for the {slow[0]}" if slow else "waiting for the herder"


@dataclass(frozen=True, slots=True)
class QueryServices:
    """The collaborators that serve requests and queries without the herder's own thread."""

    queries: HerderQueries
    validator: ConnectorValidator
    health: ConnectorHealth
    history: ConnectorHistory
    workers: ClusterWorkers
