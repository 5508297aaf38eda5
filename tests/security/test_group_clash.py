# SPDX-License-Identifier: Apache-2.0
"""Members of a worker group that do not belong there: another cluster with the same group.id, and no worker at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.config.distributed_config import DistributedConfig
from headrace.distributed.distributed_herder import DistributedHerder
from headrace.kafka.group.group_membership import GroupMember, GroupSettings
from tests.support.group_of_workers import Cluster
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

CONFIG = {"connector.class": "VerifiableSource", "tasks.max": "2", "topic": "t", "throughput": "1"}


class Junk:
    """A member that says, and assigns, what no worker can read."""

    def __init__(self, broker: EmbeddedBroker, group: str, said: bytes) -> None:
        self.said, self.assigned = said, 0
        settings = GroupSettings(group, 10.0, 1.0, 10.0)
        self.member = GroupMember({"bootstrap_servers": broker.bootstrap_servers}, settings, self)
        self.member.start()

    def ready_to_join(self) -> bool:
        return True

    def offered_protocols(self) -> Sequence[tuple[str, bytes]]:
        return [(name, self.said) for name in ("sessioned", "compatible", "default")]

    def assign(self, leader_id: str, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return dict.fromkeys(members, self.said)

    def on_assigned(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        self.assigned += 1

    def on_lost(self, reason: str) -> None: ...


@pytest.fixture
def cluster(broker: EmbeddedBroker) -> Iterator[Cluster]:
    made = Cluster(broker.bootstrap_servers, **{"scheduled.rebalance.max.delay.ms": "0"})
    yield made
    made.stop()


def running(herder: DistributedHerder) -> bool:
    if herder.failure() is not None:
        raise AssertionError("the worker has failed") from herder.failure()
    return len(herder.state.tasks) == 2 and herder.state.membership is not None


def started(cluster: Cluster) -> DistributedHerder:
    herder = cluster.start()
    wait_for(lambda: herder.has_started() and herder.state.is_leader, 30, herder.stage)
    put = herder.put_connector_config("c", {**CONFIG, "name": "c"}, target_state=None, allow_replace=True)
    put.result(60)
    wait_for(lambda: running(herder) and len(cluster.launcher.launched) == 2, 60, "two tasks")
    return herder


def test_another_cluster_with_the_same_group_id(cluster: Cluster, broker: EmbeddedBroker, tmp_path: Path) -> None:
    """A real worker comes to the group; it ends, and says why. Nothing of the group's moves."""
    herder = started(cluster)
    launched = len(cluster.launcher.launched)
    group = cluster.config.group_id
    topics = {f"{kind}.storage.topic": f"other-{group}-{kind}" for kind in ("config", "offset", "status")}
    newcomer = WorkerProcess(tmp_path, broker.bootstrap_servers, **{"group.id": group, **topics})
    try:
        newcomer.launch()
        wait_for(lambda: newcomer.launched.poll() is not None, 60, lambda: newcomer.log[-3000:])
        assert newcomer.launched.returncode != 0
    finally:
        newcomer.close()
    for part in (f"group.id={group}", f"config.storage.topic={group}-configs", topics["config.storage.topic"]):
        assert part in newcomer.log, newcomer.log[-3000:]
    assert "Traceback" not in newcomer.log
    assert running(herder) and len(cluster.launcher.launched) == launched
    herder.health_check().result(10)


def test_the_worker_that_was_in_the_group_first_stays_and_the_other_is_refused(
    cluster: Cluster, broker: EmbeddedBroker
) -> None:
    """It was there first, alone; it stays, and the other one is refused, also with other offsets topics only."""
    herder = started(cluster)
    other = Cluster(broker.bootstrap_servers)
    other.config = DistributedConfig({**cluster.config.raw, "offset.storage.topic": f"{cluster.config.group_id}-new"})
    try:
        newcomer = other.start("http://localhost:8084/")
        failure = wait_for(newcomer.failure, 30, newcomer.stage)
        assert f"offset.storage.topic={cluster.config.group_id}-new" in str(failure)
    finally:
        other.stop()
    assert running(herder)


@pytest.mark.parametrize("said", [b"", b"\xff" * 30, b"\x00\x02\x00\x01\xff" + b"\x00" * 12, b"\x00\x02\x7f\xff{}"])
def test_a_member_with_unreadable_metadata_does_not_disturb_the_group(
    cluster: Cluster, broker: EmbeddedBroker, said: bytes
) -> None:
    herder = started(cluster)
    generation = herder.state.membership.generation if herder.state.membership else -1
    junk = Junk(broker, cluster.config.group_id, said)
    try:
        wait_for(lambda: junk.assigned, 30, "the stranger's membership")
        wait_for(lambda: running(herder) and herder.state.membership.generation > generation, 30, herder.stage)
        herder.health_check().result(10)
    finally:
        junk.member.leave(5)
    wait_for(lambda: running(herder), 30, herder.stage)


def test_workers_wait_until_a_leader_with_unreadable_assignments_leaves(
    cluster: Cluster, broker: EmbeddedBroker
) -> None:
    """No worker can work in such a group; when the member has left, all is as before."""
    junk = Junk(broker, cluster.config.group_id, b"\x00\x02\x00")
    wait_for(lambda: junk.assigned, 30, "its leadership")
    herder = cluster.start()
    wait_for(lambda: "Truncated data" in herder.stage(), 30, herder.stage)
    assert herder.failure() is None and not herder.has_started()
    junk.member.leave(5)
    wait_for(lambda: herder.has_started() and herder.state.is_leader, 60, herder.stage)
