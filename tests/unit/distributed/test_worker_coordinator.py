# SPDX-License-Identifier: Apache-2.0
"""A worker's word in the group: what it says, how it leads, and what it makes of assignments."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from headrace.distributed.group.connect_protocol import (
    ConnectProtocol,
    MemberMetadata,
    decode_assignment,
    decode_metadata,
    encode_metadata,
)
from headrace.distributed.group.group_leader import GroupLeader
from headrace.distributed.group.worker_coordinator import HerderView, OutdatedTasksWait, WorkerCoordinator
from headrace.herder.core.herder_events import Assigned, HerderEvent, SessionLost
from headrace.herder.core.herder_state import HerderState, TaskRun
from headrace.model.assignment import Assignment, AssignmentError
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState

CONFIG = ClusterConfigState(offset=5, connector_configs={"c": {}}, task_counts={"c": 2})
FIRST, SECOND = ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)


class Worker:
    """A coordinator over a config, a clock and a herder that the test holds, and the events it posted."""

    def __init__(self, protocol: str = "sessioned") -> None:
        self.config = CONFIG
        self.events: list[HerderEvent] = []
        self.now = 0.0
        self.herder = HerderState(exactly_once=False)
        view = HerderView(lambda: self.config, self.events.append, lambda: self.herder)
        leader, former = GroupLeader(300.0, lambda: self.now), OutdatedTasksWait(5.0, lambda: self.now)
        self.coordinator = WorkerCoordinator("http://me/", ConnectProtocol.offered(protocol), leader, former, view)

    def metadata(self, protocol: str = "sessioned") -> bytes:
        return dict(self.coordinator.offered_protocols())[protocol]

    def lead(self, generation: int = 1, protocol: str = "sessioned", **others: bytes) -> Assignment:
        """One rebalance of a group that this worker leads; the assignment that it heard of."""
        assigned = self.coordinator.assign("me", protocol, {"me": self.metadata(protocol), **others})
        self.others = {member: decode_assignment(assigned[member]) for member in others}
        self.coordinator.on_assigned(generation, "me", protocol, assigned["me"])
        event = self.events[-1]
        assert isinstance(event, Assigned)
        return event.assignment

    def runs(self, *tasks: ConnectorTaskId) -> None:
        """The herder has heard of everything, and these run."""
        last_membership_event = self.events[-1].number if self.events else 0  # type: ignore[attr-defined]
        runs = {id: TaskRun(1, TargetState.STARTED) for id in tasks}
        self.herder = replace(self.herder, last_membership_event=last_membership_event, tasks=runs)


def other(url: str = "http://other/", offset: int = 5, protocol: ConnectProtocol = ConnectProtocol.SESSIONED) -> bytes:
    return encode_metadata(MemberMetadata(url, offset), protocol)


def test_offers_what_the_worker_is_configured_for() -> None:
    assert [name for name, _ in Worker().coordinator.offered_protocols()] == ["sessioned", "compatible", "default"]
    assert [name for name, _ in Worker("eager").coordinator.offered_protocols()] == ["default"]


def test_hears_of_all_it_owns_though_only_changes_are_sent() -> None:
    worker = Worker()
    assert worker.lead().tasks == (FIRST, SECOND)
    worker.config = replace(CONFIG, offset=6, connector_configs={"c": {}, "d": {}}, task_counts={"c": 1})
    second = worker.lead(generation=2)
    assert (second.connectors, second.tasks, second.revoked_tasks) == (("c", "d"), (FIRST,), (SECOND,))
    assert worker.coordinator.generation == 2
    worker.runs(FIRST)
    owned = decode_metadata(worker.metadata()).owned
    assert owned is not None and owned.connectors == ("c", "d")


def test_claims_what_was_revoked_until_it_has_stopped() -> None:
    worker = Worker()
    worker.lead()
    worker.runs(FIRST, SECOND)
    assert worker.lead(generation=2, other=other()).revoked_tasks == (SECOND,)
    for running in ((), (FIRST, SECOND)):
        claim = decode_metadata(worker.metadata()).owned
        assert claim is not None and (claim.tasks, claim.revoked_tasks) == ((FIRST, SECOND), (SECOND,)), running
        worker.runs(FIRST, SECOND)
    worker.lead(generation=3, other=other())
    assert own_tasks(worker) == (FIRST,) and worker.others["other"].tasks == ()
    worker.runs(FIRST)
    worker.lead(generation=4, other=other())
    assert worker.others["other"].tasks == (SECOND,)


def own_tasks(worker: Worker) -> tuple[ConnectorTaskId, ...]:
    event = worker.events[-1]
    assert isinstance(event, Assigned)
    return event.assignment.tasks


def test_owns_nothing_after_a_lost_session_but_claims_what_still_stops() -> None:
    worker = Worker()
    worker.lead()
    worker.runs(FIRST, SECOND)
    worker.coordinator.on_lost("test")
    assert worker.events[-1] == SessionLost(2)
    worker.runs(SECOND)
    claim = decode_metadata(worker.metadata()).owned
    assert claim is not None and (claim.tasks, claim.revoked_tasks) == ((SECOND,), (SECOND,))
    worker.runs()
    assert decode_metadata(worker.metadata()).owned is None


def test_assigns_nothing_while_a_member_knows_more_of_the_config_topic() -> None:
    worker = Worker()
    worker.lead()
    mismatch = worker.lead(generation=2, other=other(offset=9))
    assert (mismatch.error, mismatch.config_offset) == (AssignmentError.CONFIG_MISMATCH, 9)
    owned = decode_metadata(worker.metadata()).owned
    assert owned is not None and owned.tasks, "what runs goes on running"
    assert not worker.coordinator.ready_to_join()
    worker.config = replace(CONFIG, offset=9)
    assert worker.coordinator.ready_to_join()


def test_a_mismatch_does_not_end_the_wait_for_a_lost_worker() -> None:
    worker = Worker()
    worker.lead(other=other())
    assert worker.others["other"].tasks == (FIRST,)
    worker.lead(generation=2, ahead=other("http://ahead/", offset=9))
    worker.config = replace(CONFIG, offset=9)
    assert worker.lead(generation=3, ahead=other("http://ahead/", offset=9)).delay_ms == 300_000
    assert worker.others["ahead"].tasks == ()


def test_a_round_that_the_leader_did_not_end_does_not_count() -> None:
    worker = Worker()
    worker.lead(other=other())
    worker.coordinator.assign("me", "sessioned", {"me": worker.metadata()})
    worker.now = 100.0
    assert worker.lead(generation=3).delay_ms == 300_000, "its delay begins with the round that was heard of"


def test_a_leader_forgets_lost_work_after_another_member_led() -> None:
    worker = Worker()
    worker.lead(other=other())
    foreign = Worker()
    answer = foreign.coordinator.assign("other", "sessioned", {"me": worker.metadata(), "other": other()})
    worker.coordinator.on_assigned(2, "me", "sessioned", answer["me"])
    worker.runs()
    assert worker.lead(generation=3).delay_ms == 0


def test_the_delay_is_rounded_up() -> None:
    worker = Worker()
    worker.lead(other=other())
    worker.lead(generation=2)
    worker.now = 299.9995
    assert worker.lead(generation=3).delay_ms == 1


def test_knows_the_owners_urls_while_it_leads() -> None:
    worker = Worker()
    worker.lead(other=other())
    assert worker.coordinator.owner_url("c") == "http://me/"
    assert worker.coordinator.owner_url(FIRST) == "http://other/"
    assert worker.coordinator.owner_url("unknown") is None
    worker.coordinator.on_lost("test")
    assert worker.coordinator.owner_url("c") is None


@pytest.mark.parametrize(("protocol", "sessioned"), [("sessioned", True), ("compatible", False)])
def test_shows_whether_all_members_have_session_keys(protocol: str, sessioned: bool) -> None:
    worker = Worker()
    worker.lead(protocol=protocol)
    event = worker.events[-1]
    assert isinstance(event, Assigned) and event.sessioned is sessioned
    assert worker.coordinator.protocol is ConnectProtocol.named(protocol)


def test_the_first_eager_round_has_everything_stopped_and_the_next_deals_it_out() -> None:
    worker = Worker("eager")
    assert worker.coordinator.ready_to_join()
    assert worker.lead(protocol="default").error is AssignmentError.CONFIG_MISMATCH
    for generation in (2, 3):
        assert worker.coordinator.ready_to_join()
        assert worker.lead(generation, "default").tasks == (FIRST, SECOND)
        worker.runs(FIRST, SECOND)
        assert not worker.coordinator.ready_to_join(), "the herder has not heard that all is given up"
        assert isinstance(worker.events[-1], SessionLost)
        worker.runs(SECOND)
        assert not worker.coordinator.ready_to_join(), "a task still stops"
        worker.runs()


def test_a_change_to_the_eager_protocol_gives_nothing_out_before_all_have_stopped() -> None:
    worker = Worker()
    worker.lead()
    worker.runs(FIRST, SECOND)
    eager = other(protocol=ConnectProtocol.EAGER)
    assert worker.coordinator.ready_to_join()
    assert worker.lead(2, "default", other=eager).error is AssignmentError.CONFIG_MISMATCH
    assert not worker.coordinator.ready_to_join()
    worker.runs()
    assert worker.coordinator.ready_to_join()
    assert worker.lead(3, "default", other=eager).tasks == (SECOND,)
    assert worker.others["other"].tasks == (FIRST,)


def test_a_change_from_the_eager_protocol_begins_with_nothing_owned() -> None:
    worker = Worker()
    for generation in (1, 2):
        worker.lead(generation, "default")
    worker.runs(FIRST, SECOND)
    assert not worker.coordinator.ready_to_join()
    worker.runs()
    assert worker.coordinator.ready_to_join()
    assert worker.lead(3, "sessioned", other=other()).tasks == (SECOND,)
    assert worker.others["other"].tasks == (FIRST,)


# ---- former tasks before a round of fencing (KIP-618)


def outdated(worker: Worker, *tasks: ConnectorTaskId, type: str = "source") -> None:
    """The config topic has newer task configs than those that `tasks` run with, and no task count record for them."""
    worker.runs(*tasks)
    configs = {"c": {"connector.class": "Some"}}
    worker.config = replace(
        CONFIG, connector_configs=configs, task_config_offsets={"c": 4}, pending_fencing=frozenset({"c"})
    )
    worker.herder = replace(worker.herder, exactly_once=True, config=worker.config, types={"Some": type})


def test_former_source_tasks_end_before_a_rebalance_is_joined() -> None:
    worker = Worker()
    worker.lead()
    outdated(worker, FIRST, SECOND)
    assert not worker.coordinator.ready_to_join()
    worker.now = 4.0
    outdated(worker, SECOND)
    assert not worker.coordinator.ready_to_join()
    outdated(worker)
    assert worker.coordinator.ready_to_join()


def test_former_tasks_that_do_not_end_are_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker()
    worker.lead()
    outdated(worker, FIRST)
    assert not worker.coordinator.ready_to_join()
    worker.now = 5.0
    for _ in range(3):
        assert worker.coordinator.ready_to_join()
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["Joining a rebalance without the end of c-0: their producers will be fenced"]
    outdated(worker)
    assert worker.coordinator.ready_to_join()
    outdated(worker, FIRST)
    assert not worker.coordinator.ready_to_join(), "the next ones get their time as well"


@pytest.mark.parametrize("case", ["sink", "exactly-once off", "up to date", "record is there"])
def test_other_tasks_hold_no_rebalance_up(case: str) -> None:
    worker = Worker()
    worker.lead()
    outdated(worker, FIRST, type="sink" if case == "sink" else "source")
    if case == "exactly-once off":
        worker.herder = replace(worker.herder, exactly_once=False)
    if case == "up to date":
        worker.config = replace(worker.config, task_config_offsets={"c": 1})
    if case == "record is there":
        worker.config = replace(worker.config, pending_fencing=frozenset())
    assert worker.coordinator.ready_to_join()
