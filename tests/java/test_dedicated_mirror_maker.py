# SPDX-License-Identifier: Apache-2.0
"""`headrace mirror` between two real brokers: processes are killed while records flow both ways, exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from headrace import KAFKA_VERSION
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.java.store import PluginStore
from tests.conftest import NO_RETENTION
from tests.java.mirror_node import JavaMirrorMaker, MirrorNode
from tests.java.mirrored_topics import PARTITIONS, Clusters, commit, contents, wait_for_count, write, writing
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.sinks import committed, make_topic
from tests.support.topics import read_committed

BOTH_WAYS = ("A->B", "B->A")
QUICK = {
    "refresh.topics.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "emit.heartbeats.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
    "offset.lag.max": "10",
}


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> str:
    store = PluginStore(tmp_path_factory.mktemp("dedicated") / "plugins")
    or_skip(lambda: store.install(f"org.apache.kafka:connect-mirror:{KAFKA_VERSION}"))
    return str(store.directory)


@pytest.fixture
def clusters() -> Iterator[Clusters]:
    """Two brokers of the test's own, for the names of topics and groups of a node are fixed."""
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(EmbeddedBroker(port=0, properties=NO_RETENTION, jvm_options=QUICK_START_JVM_OPTIONS))
            for _ in range(2)
        )
        yield Clusters(first.bootstrap_servers, second.bootstrap_servers)


def mm2(clusters: Clusters, plugins: str, **more: str) -> dict[str, str]:
    """A file for both directions, exactly once."""
    topics = ("offset-syncs", "checkpoints", "heartbeats")
    return {
        "clusters": "A, B",
        "A.bootstrap.servers": clusters.source,
        "B.bootstrap.servers": clusters.target,
        "plugin.path": plugins,
        "spark.ui.enabled": "false",
        "replication.factor": "1",
        **{f"{topic}.topic.replication.factor": "1" for topic in topics},
        **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
        "offset.storage.partitions": "3",
        **{f"{each}.exactly.once.source.support": "enabled" for each in "AB"},
        **{f"{each}.consumer.isolation.level": "read_committed" for each in "AB"},
        **QUICK,
        "sync.group.offsets.enabled": "true",
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": "http://127.0.0.1:0",
        **{f"{pair}.enabled": "true" for pair in BOTH_WAYS},
        **more,
    }


def test_both_directions_are_exactly_once_whatever_is_killed(
    clusters: Clusters, plugins: str, tmp_path: Path, unique: str
) -> None:
    there, back = f"there-{unique}", f"back-{unique}"
    reverse = Clusters(clusters.target, clusters.source)
    make_topic(clusters.source, there, PARTITIONS)
    make_topic(clusters.target, back, PARTITIONS)
    properties = mm2(clusters, plugins, **{"A->B.topics": there, "B->A.topics": back, "groups": f"app-{unique}"})
    with MirrorNode(tmp_path, "node", properties) as node:
        node.start()
        with writing(clusters.source, there, 1), writing(clusters.target, back, 1):
            there_copied, back_copied = 0, 0
            for kill in (node.kill, node.kill_everything, node.kill_a_worker):
                # More than there was: so the node that was started last has copied some, both ways.
                wait_for_count(clusters.target, f"A.{there}", there_copied + 300, 240)
                wait_for_count(clusters.source, f"B.{back}", back_copied + 300, 240)
                kill()
                wait_for(lambda: not node.leftovers(), 60, lambda: f"the end of {node.leftovers()}")
                there_copied = len(read_committed(clusters.target, f"A.{there}"))
                back_copied = len(read_committed(clusters.source, f"B.{back}"))
                node.start()
        for cluster, topic, copy in ((clusters, there, f"A.{there}"), (reverse, back, f"B.{back}")):
            write(cluster.source, topic, 1_000_000, 100)
            cluster.wait_for_copy(topic, copy, 240)
        group_goes_on(clusters, f"app-{unique}", there, f"A.{there}", node)
        wait_for_count(clusters.target, "A.heartbeats", 3)
        wait_for_count(clusters.source, "B.heartbeats", 3)
        assert {record.key for record in contents(clusters.target, "heartbeats")} == {b"\0\1A\0\1B"}
        assert len(node.workers()) == 2
        assert node.stop() == 0, node.log[-3000:]
        assert not node.leftovers()
    assert "has ended by signal 9. All others were stopped" in node.log


def test_nodes_with_the_same_file_share_the_work(clusters: Clusters, plugins: str, tmp_path: Path, unique: str) -> None:
    """Workers that are not the leader have it write task configurations, and go on alone when it has died."""
    copy = f"A.{unique}"
    make_topic(clusters.source, unique, PARTITIONS)
    options = {"B.scheduled.rebalance.max.delay.ms": "1000", "tasks.max": "3", "A->B.topics": unique}
    properties = mm2(clusters, plugins, **options)
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(MirrorNode(tmp_path, name, properties, "--clusters", "B")) for name in ("one", "two")
        ]
        with writing(clusters.source, unique, 1):
            for node in nodes:
                node.start()
                node.await_log("headrace worker ready")
            leader, follower = nodes
            assert "This worker leads the group of A->B" in leader.log
            assert "This worker leads" not in follower.log
            follower.await_log("printed: INFO org.apache.kafka.connect.mirror", 1, 240)
            wait_for_count(clusters.target, copy, 300, 240)
            leader.kill()
            follower.await_log("This worker leads the group of A->B", 1, 120)
            follower.await_log("is up to date", 3, 120)
            written = wait_for_count(clusters.target, copy, 300, 60)
            wait_for_count(clusters.target, copy, written + 200, 240)
        clusters.wait_for_copy(unique, copy, 240)
        assert follower.stop() == 0, follower.log[-3000:]
        assert not follower.leftovers()


@pytest.mark.parametrize("internal", ["true", "false"])
def test_followers_have_the_leader_write_the_tasks_of_new_topics(
    clusters: Clusters, plugins: str, tmp_path: Path, unique: str, internal: str
) -> None:
    """Over the internal REST; without it the tasks stay as they are, and the log says why."""
    before, later = f"{unique}-before", f"{unique}-later"
    make_topic(clusters.source, before, PARTITIONS)
    options = {"A->B.topics": f"{unique}-.*", "dedicated.mode.enable.internal.rest": internal}
    properties = mm2(clusters, plugins, **options)
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(MirrorNode(tmp_path, name, properties, "--clusters", "B")) for name in ("one", "two")
        ]
        for node in nodes:
            node.start()
            node.await_log("headrace worker ready")
        follower = nodes[1]
        follower.await_log("[MirrorSourceConnector|worker] printed:")
        make_topic(clusters.source, later, PARTITIONS)
        write(clusters.source, later, 0, 100)
        if internal == "true":
            clusters.wait_for_copy(later, f"A.{later}")
        else:
            follower.await_log("The task configurations of MirrorSourceConnector cannot be sent to the leader")
            assert contents(clusters.target, f"A.{later}") == []


def test_it_takes_over_from_javas_mirror_maker_and_java_from_it(
    clusters: Clusters, plugins: str, tmp_path: Path, unique: str
) -> None:
    """With the same file: each record is copied once, whoever copies it."""
    copy, count = f"A.{unique}", 0
    make_topic(clusters.source, unique, PARTITIONS)
    only_there = {"A->B.topics": unique, "B->A.enabled": "false", "B->A.emit.heartbeats.enabled": "false"}
    properties = mm2(clusters, plugins, **only_there)
    with writing(clusters.source, unique, 1):
        for kind in (JavaMirrorMaker, MirrorNode):
            with kind(tmp_path, kind.__name__, properties) as node:
                or_skip(node.start)
                # More than there was: so this one has copied some.
                wait_for_count(clusters.target, copy, count + 300, 240)
                node.stop()
            count = len(read_committed(clusters.target, copy))
    with JavaMirrorMaker(tmp_path, "last", properties) as last:
        last.start()
        write(clusters.source, unique, 1_000_000, 100)
        clusters.wait_for_copy(unique, copy, 240)


def group_goes_on(clusters: Clusters, group: str, topic: str, copy: str, node: MirrorNode) -> None:
    """A group's offsets are committed in the one cluster and found, translated, in the other."""
    read = read_committed(clusters.source, topic)
    ends = {p: max(record.offset for record in read if record.partition == p) + 1 for p in range(PARTITIONS)}
    commit(clusters.source, group, topic, ends)
    copied = read_committed(clusters.target, copy)
    seen: list[dict[int, int]] = []

    def translated() -> bool:
        seen.append(committed(clusters.target, group, copy, PARTITIONS))
        return len(seen[-1]) == PARTITIONS

    wait_for(translated, 90, lambda: f"the group's offsets: {seen[-1]}\n{node.log[-3000:]}")
    for partition, offset in seen[-1].items():
        last = max(record.offset for record in copied if record.partition == partition)
        assert 0 < offset <= last + 1
