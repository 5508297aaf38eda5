# SPDX-License-Identifier: Apache-2.0
"""A worker's word in the group: what it says, how it leads, and what it makes of assignments."""

from __future__ import annotations

from dataclasses import replace

from headrace.distributed.connect_protocol import ConnectProtocol, MemberMetadata, decode_metadata, encode_metadata
from headrace.distributed.herder_events import Assigned, HerderEvent, SessionLost
from headrace.distributed.worker_coordinator import WorkerCoordinator
from headrace.model.assignment import Assignment, AssignmentError
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId

CONFIG = ClusterConfigState(offset=5, connector_configs={"c": {}}, task_counts={"c": 2})


class Worker:
    """A coordinator over a config that the test holds, and the events it posted."""

    def __init__(self, protocol: str = "sessioned") -> None:
        self.config = CONFIG
        self.events: list[HerderEvent] = []
        self.coordinator = WorkerCoordinator("http://me/", protocol, lambda: self.config, self.events.append)

    def metadata(self) -> bytes:
        return dict(self.coordinator.offered_protocols())["sessioned"]

    def lead(self, generation: int = 1, **others: bytes) -> Assignment:
        """One rebalance of a group that this worker leads; the assignment that it heard of."""
        assigned = self.coordinator.assign("me", "sessioned", {"me": self.metadata(), **others})
        self.coordinator.on_assigned(generation, "me", "sessioned", assigned["me"])
        event = self.events[-1]
        assert isinstance(event, Assigned)
        return event.assignment


def test_offers_what_the_worker_is_configured_for() -> None:
    assert [name for name, _ in Worker().coordinator.offered_protocols()] == ["sessioned", "compatible", "default"]
    assert [name for name, _ in Worker("eager").coordinator.offered_protocols()] == ["default"]


def test_hears_of_all_it_owns_though_only_changes_are_sent() -> None:
    worker = Worker()
    assert worker.lead().tasks == (ConnectorTaskId("c", 0), ConnectorTaskId("c", 1))
    worker.config = replace(CONFIG, offset=6, connector_configs={"c": {}, "d": {}}, task_counts={"c": 1})
    second = worker.lead(generation=2)
    assert (second.connectors, second.tasks) == (("c", "d"), (ConnectorTaskId("c", 0),))
    assert worker.coordinator.generation == 2
    owned = decode_metadata(worker.metadata()).owned
    assert owned is not None and owned.connectors == ("c", "d")


def test_owns_nothing_after_a_lost_session() -> None:
    worker = Worker()
    worker.lead()
    worker.coordinator.on_lost("test")
    assert worker.events[-1] == SessionLost()
    assert decode_metadata(worker.metadata()).owned is None


def test_assigns_nothing_while_a_member_knows_more_of_the_config_topic() -> None:
    worker = Worker()
    worker.lead()
    ahead = encode_metadata(MemberMetadata("http://other/", 9), ConnectProtocol.SESSIONED)
    mismatch = worker.lead(generation=2, other=ahead)
    assert (mismatch.error, mismatch.config_offset) == (AssignmentError.CONFIG_MISMATCH, 9)
    owned = decode_metadata(worker.metadata()).owned
    assert owned is not None and owned.tasks, "what runs goes on running"


def test_the_eager_protocol_sends_everything_every_time() -> None:
    worker = Worker("eager")
    for generation in (1, 2):
        metadata = dict(worker.coordinator.offered_protocols())["default"]
        assigned = worker.coordinator.assign("me", "default", {"me": metadata})
        worker.coordinator.on_assigned(generation, "me", "default", assigned["me"])
        event = worker.events[-1]
        assert isinstance(event, Assigned) and len(event.assignment.tasks) == 2
