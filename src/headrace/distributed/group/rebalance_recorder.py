# SPDX-License-Identifier: Apache-2.0
"""Metrics of the group's rebalances: their number, and the time they take this worker.

Java: ``WorkerRebalanceMetricsGroup``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.distributed.group.worker_coordinator import WorkerCoordinator
from headrace.herder.core.herder_state import Membership
from headrace.metrics.figures import GroupFigures
from headrace.model.deadline import Clock
from headrace.telemetry.tracing import NO_TRACING, Attributes, Tracing


class RebalanceRecorder:
    """A ``kafka.group.group_membership.GroupListener`` in front of the coordinator; ``figures`` is for any thread.

    A rebalance lasts from this worker's first request to join until it has its assignment.
    """

    def __init__(self, coordinator: WorkerCoordinator, clock: Clock, tracing: Tracing = NO_TRACING) -> None:
        """``tracing`` gets a span of each rebalance."""
        self._coordinator = coordinator
        self._clock = clock
        self._tracing = tracing
        self._began: float | None = None
        self._ended: float | None = None
        self._completed = 0
        self._longest = 0.0
        self._total = 0.0

    def figures(self, membership: Membership | None) -> GroupFigures:
        """Return the metrics so far; ``membership`` is the herder's newest."""
        known, ended = self._completed > 0, self._ended
        return GroupFigures(
            leader_name=membership.leader_url if membership else None,
            protocol=self._coordinator.protocol.name.lower(),
            epoch=self._coordinator.generation,
            completed_rebalances=self._completed,
            rebalancing=self._began is not None,
            rebalance_max_ms=self._longest * 1000 if known else None,
            rebalance_avg_ms=self._total / self._completed * 1000 if known else None,
            since_last_rebalance_ms=None if ended is None else (self._clock() - ended) * 1000,
            assigned_connectors=len(membership.connectors) if membership else 0,
            assigned_tasks=len(membership.tasks) if membership else 0,
        )

    # ---- GroupListener

    def ready_to_join(self) -> bool:
        return self._coordinator.ready_to_join()

    def offered_protocols(self) -> Sequence[tuple[str, bytes]]:
        if self._began is None:
            self._began = self._clock()
        return self._coordinator.offered_protocols()

    def assign(self, leader_id: str, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return self._coordinator.assign(leader_id, protocol, members)

    def on_assigned(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        self._ended = self._clock()
        taken = 0.0 if self._began is None else self._ended - self._began
        self._began = None
        self._total, self._longest = self._total + taken, max(self._longest, taken)
        self._completed += 1
        self._coordinator.on_assigned(generation, member_id, protocol, assignment)
        about: Attributes = {"headrace.group.generation": generation, "headrace.group.protocol": protocol}
        self._tracing.begin("rebalance", about, ago=taken).end()

    def on_lost(self, reason: str) -> None:
        self._coordinator.on_lost(reason)
