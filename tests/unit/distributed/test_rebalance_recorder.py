# SPDX-License-Identifier: Apache-2.0
"""How often a worker has rebalanced, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.distributed.group.connect_protocol import ConnectProtocol
from headrace.distributed.group.rebalance_recorder import RebalanceRecorder
from headrace.herder.core.herder_state import Membership
from headrace.metrics.figures import GroupFigures
from headrace.model.ids import ConnectorTaskId


class Coordinator:
    """Remembers what it is asked."""

    def __init__(self) -> None:
        self.generation = -1
        self.protocol = ConnectProtocol.SESSIONED
        self.asked: list[str] = []

    def ready_to_join(self) -> bool:
        self.asked.append("ready")
        return True

    def offered_protocols(self) -> Sequence[tuple[str, bytes]]:
        self.asked.append("offered")
        return (("sessioned", b"m"),)

    def assign(self, leader_id: str, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        self.asked.append("assign")
        return members

    def on_assigned(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        self.asked.append("assigned")
        self.generation = generation

    def on_lost(self, reason: str) -> None:
        self.asked.append(reason)


def test_rebalances() -> None:
    now, coordinator = [100.0], Coordinator()
    recorder = RebalanceRecorder(coordinator, lambda: now[0])  # type: ignore[arg-type]
    assert recorder.figures(None) == GroupFigures(None, "sessioned", -1, 0, False)
    assert recorder.ready_to_join() and recorder.offered_protocols() == (("sessioned", b"m"),)
    now[0] += 1
    recorder.offered_protocols()
    assert recorder.figures(None).rebalancing
    now[0] += 1
    assert recorder.assign("me", "sessioned", {"me": b"a"}) == {"me": b"a"}
    recorder.on_assigned(3, "me", "sessioned", b"a")
    recorder.on_lost("lost")
    now[0] += 7
    recorder.offered_protocols()
    now[0] += 1
    recorder.on_assigned(4, "me", "sessioned", b"a")
    now[0] += 5
    membership = Membership(4, "me", "other", "http://other/", 0, frozenset("ab"), frozenset({ConnectorTaskId("a", 0)}))
    assert recorder.figures(membership) == GroupFigures(
        "http://other/",
        "sessioned",
        4,
        2,
        False,
        rebalance_max_ms=2000,
        rebalance_avg_ms=1500,
        since_last_rebalance_ms=5000,
        assigned_connectors=2,
        assigned_tasks=1,
    )
    assert coordinator.asked == ["ready", "offered", "offered", "assign", "assigned", "lost", "offered", "assigned"]
