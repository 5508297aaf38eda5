# SPDX-License-Identifier: Apache-2.0
"""The herder of a worker in a group: the requests of its workers to each other, and the health of a member."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace

from headrace.distributed.group.rebalance_recorder import RebalanceRecorder
from headrace.distributed.stores import TopicStores
from headrace.herder.core import config_lag
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import PutTaskConfigs
from headrace.herder.core.herder_state import HerderState, Phase
from headrace.herder.engine.herder_services import HerderServices, QueryServices
from headrace.herder.engine.worker_herder import READ_TIMEOUT, WorkerHerder
from headrace.herder.errors import NotLeaderError, RebalanceNeededError
from headrace.herder.worker_parts import Json
from headrace.kafka.group.group_membership import GroupMember
from headrace.metrics.figures import WorkerFigures
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.model.deadline import Clock
from headrace.model.futures import failed_future, map_future, recover_future
from headrace.storage.status_backing_store import KafkaStatusBackingStore

log = logging.getLogger(__name__)

_TOLERATED_ABSENCE = 10.0
"""Seconds without its group, or without a writable status topic, after which a worker is unhealthy."""
_SIGNED = "All workers of the group sign what they ask of each other now"
_UNSIGNED = (
    "A worker of the group has a connect.protocol without session keys: requests between workers are not signed, "
    "so whoever reaches a worker can change task configs. Use connect.protocol=sessioned everywhere (KIP-507)"
)


class GroupHealth:
    """Implements ``HerderHealth`` for a member of a group with its internal topics."""

    def __init__(
        self, services: HerderServices, member: GroupMember, stores: TopicStores, status_store: KafkaStatusBackingStore
    ) -> None:
        self._services = services
        self._member = member
        self._stores = stores
        self._status_store = status_store

    def has_started(self, state: HerderState) -> bool:
        return state.joined

    def failure(self, state: HerderState) -> BaseException | None:
        """Return the failure of a collaborator without which an active herder cannot work, None if there is none.

        An internal topic that is read no more counts: the herder would miss events, and show outdated statuses and
        offsets as current ones. So does a membership without a thread: other workers may have been given the work that
        runs here (invariant 10).
        """
        if state.phase is not Phase.ACTIVE:
            return None
        return self._stores.failure() or self._member.failure()

    def stage(self, state: HerderState) -> str:
        waiting = self._services.waiting()
        if state.phase is Phase.STARTING:
            trouble = self._stores.trouble()
            return f"waiting for Kafka to answer ({trouble})" if trouble else f"reading the internal topics; {waiting}"
        if state.membership is None:
            trouble = self._member.absence() or self._member.trouble() or _describe_lag(state)
            return f"joining the group{f' ({trouble})' if trouble else ''}; {waiting}"
        return waiting

    def problem(self) -> str | None:
        """Return a description of a worker that was long without its group, or cannot write statuses."""
        absence = self._member.absence(_TOLERATED_ABSENCE)
        if absence is not None:
            return f"It has been {absence}"
        return self._status_store.trouble(_TOLERATED_ABSENCE)

    def remark(self) -> str | None:
        return None


def _describe_lag(state: HerderState) -> str | None:
    if not config_lag.is_behind(state):
        return None
    return f"the config topic is read up to offset {state.config.offset}, the group is at {state.needed_offset}"


def _listed(*names: Iterable[object]) -> list[str]:
    return [", ".join(sorted(map(str, each))) or "none" for each in names]


class DistributedHerder(WorkerHerder):
    """Implements ``headrace.herder.herder.ClusterHerder`` as well. Java: ``DistributedHerder``."""

    def __init__(
        self,
        state: HerderState,
        services: HerderServices,
        stores: TopicStores,
        health: GroupHealth,
        query_services: QueryServices,
        rebalances: RebalanceRecorder,
        clock: Clock,
    ) -> None:
        super().__init__(state, services, stores, health, query_services, clock)
        self._rebalances = rebalances

    def figures(self) -> WorkerFigures:
        return replace(super().figures(), group=self._rebalances.figures(self._state.membership))

    def _publish(self, state: HerderState) -> None:
        if state.signed != self._state.signed:
            log.warning("%s", _SIGNED if state.signed else _UNSIGNED)
        joined, before = state.membership, self._state.membership
        if joined is not None and (before is None or before.generation != joined.generation):
            role = "its leader" if joined.is_leader else f"a follower of {joined.leader_url}"
            log.info(
                "Joined the group, generation %d, as %s: %d connectors and %d tasks are here",
                *(joined.generation, role, len(joined.connectors), len(joined.tasks)),
            )
            if log.isEnabledFor(logging.DEBUG):
                log.debug("Assignment: connectors %s, tasks %s", *_listed(joined.connectors, joined.tasks))
            if joined.revoked_connectors or joined.revoked_tasks:
                log.debug("Revoked: connectors %s, tasks %s", *_listed(joined.revoked_connectors, joined.revoked_tasks))
        super()._publish(state)

    # ---- requests of users

    def put_logger_level(self, logger: str, level: str) -> Future[None]:
        """Write a level for the whole group.

        A follower forwards it to the leader itself: the listener for this may be one that other workers cannot reach.
        """
        written = self.write_logger_level(logger, level)
        return recover_future(written, NotLeaderError, lambda: self._put_logger_level_at_leader(logger, level))

    def _put_logger_level_at_leader(self, logger: str, level: str) -> Future[None]:
        membership = self._state.membership
        if membership is None:
            return failed_future(RebalanceNeededError("The group has no leader at the moment; try again"))
        url, leader = membership.leader_url, self._services.leader
        assert leader is not None

        def put() -> None:
            # A group that has just formed has a key, which this worker may not have read yet.
            key = self._services.config_store.refresh(READ_TIMEOUT).session_key
            leader.put_logger_level(url, logger, level, key)

        return self._services.stages.run_in_background(
            f"write of the level of logger {logger} by the leader at {url}", put
        )

    # ---- requests of other workers

    def signed(self) -> bool:
        return self._state.signed

    def session_key(self) -> SessionKey | None:
        return self._services.config_store.snapshot().session_key

    def worker_health(self, connector: str | None) -> Future[Json]:
        return self._connector_health.here(connector, self._task_configs_errors)

    def worker_history(self, connector: str | None) -> Json:
        return self._connector_history.here(connector)

    def worker_report(self) -> Json:
        return self._workers.here()

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> Future[None]:
        return map_future(self._submit_write(lambda number: PutTaskConfigs(name, configs, number)), lambda _: None)

    def write_logger_level(self, logger: str, level: str) -> Future[None]:
        return super().put_logger_level(logger, level)

    def fence_zombies(self, name: str) -> Future[None]:
        return map_future(self._submit(lambda number: events.FencingRequested(number, name)), lambda _: None)
