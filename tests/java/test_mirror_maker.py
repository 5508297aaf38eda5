# SPDX-License-Identifier: Apache-2.0
"""MirrorMaker's connectors on a real worker, between two real brokers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from headrace import KAFKA_VERSION
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.java.store import PluginStore
from tests.conftest import NO_RETENTION
from tests.java.mirrored_topics import (
    IDENTITY,
    PARTITIONS,
    Clusters,
    assert_same,
    commit,
    contents,
    number_of,
    rest_of,
    set_topic_config,
    topic_config,
    wait_for_count,
    write,
    writing,
)
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.processes import kill_all
from tests.support.sinks import committed, make_topic
from tests.support.topics import Read, read_committed
from tests.support.worker_process import WorkerProcess, mistakes

GROUPS = {f"{what}.interval.seconds": "1" for what in ("emit.checkpoints", "sync.group.offsets", "refresh.groups")}
GROUPS["sync.group.offsets.enabled"] = "true"


@pytest.fixture(scope="module")
def clusters(broker: EmbeddedBroker) -> Iterator[Clusters]:
    with EmbeddedBroker(port=0, properties=NO_RETENTION, jvm_options=QUICK_START_JVM_OPTIONS) as source:
        yield Clusters(source.bootstrap_servers, broker.bootstrap_servers)


@pytest.fixture(scope="module")
def shared_worker(clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """An exactly-once worker with MirrorMaker, in a group of its own."""
    directory = tmp_path_factory.mktemp("mirror")
    store = PluginStore(directory / "plugins")
    or_skip(lambda: store.install(f"org.apache.kafka:connect-mirror:{KAFKA_VERSION}"))
    properties = {"group.id": "mirror-maker", "plugin.path": str(store.directory)}
    with WorkerProcess(directory, clusters.target, **properties) as running:
        running.await_answer(path="/connectors")
        yield running


@pytest.fixture
def mirror(shared_worker: WorkerProcess) -> Iterator[WorkerProcess]:
    """The same; no other test's connectors are there."""
    yield shared_worker
    for name in shared_worker.connectors():
        shared_worker.delete(name)


def test_copies_are_exactly_once_whatever_is_killed(mirror: WorkerProcess, clusters: Clusters, unique: str) -> None:
    copy = f"a.{unique}"
    make_topic(clusters.source, unique, PARTITIONS)
    with writing(clusters.source, unique):
        mirror.create(unique, **clusters.source_config(unique, **{"tasks.max": "2", "consumer.max.poll.records": "20"}))
        for count in (300, 900):
            wait_for_count(clusters.target, copy, count)
            mirror.task_process()
            kill_all(mirror.task_processes())
        wait_for_count(clusters.target, copy, 1_500)
        mirror.kill()
    wait_for(lambda: not mirror.leftovers(), 20, lambda: f"the end of {mirror.leftovers()}")
    mirror.start()
    clusters.wait_for_copy(unique, copy)
    mirror.wait_for_tasks(unique, tasks=2)
    write(clusters.source, unique, 1_000_000, 100)
    clusters.wait_for_copy(unique, copy)


def test_properties_of_topics_are_copied_and_kept_up_to_date(
    mirror: WorkerProcess, clusters: Clusters, unique: str
) -> None:
    make_topic(clusters.source, unique, PARTITIONS, **{"retention.bytes": "123456789"})
    mirror.create(unique, **clusters.source_config(unique))
    copied = f"a.{unique}"
    mirror.wait_for_tasks(unique)
    wait_for(lambda: retention(clusters.target, copied) == "123456789", 60, "the copied property")
    set_topic_config(clusters.source, unique, "retention.bytes", "987654321")
    wait_for(lambda: retention(clusters.target, copied) == "987654321", 60, "the changed property")


def retention(bootstrap: str, topic: str) -> str:
    return topic_config(bootstrap, topic)["retention.bytes"]


@pytest.mark.parametrize(("policy", "name"), [({}, "a.{}"), (IDENTITY, "{}")], ids=["default", "identity"])
def test_a_group_goes_on_in_the_other_cluster(
    mirror: WorkerProcess, clusters: Clusters, unique: str, policy: dict[str, str], name: str
) -> None:
    """The connectors are there first: the group is found later, and its offsets are copied while records are."""
    copy, group = name.format(unique), f"app-{unique}"
    make_topic(clusters.source, unique, PARTITIONS)
    mirror.create(f"{unique}-source", **clusters.source_config(unique, **policy))
    groups = {"topics": unique, "groups": group, **GROUPS}
    mirror.create(f"{unique}-checkpoints", **clusters.config("Checkpoint", **groups, **policy))
    mirror.create(f"{unique}-beats", **clusters.config("Heartbeat", **{"emit.heartbeats.interval.seconds": "1"}))
    for first in range(0, 1_200, 300):
        write(clusters.source, unique, first, 300)
        clusters.wait_for_copy(unique, copy)
    records = [read_partition(clusters.source, unique, partition) for partition in range(PARTITIONS)]
    consumed = [len(records[0]) // 2, len(records[1]) - 1, len(records[2]) - 11]
    commit(clusters.source, group, unique, {p: records[p][consumed[p]].offset for p in range(PARTITIONS)})
    translated: dict[int, int] = {}

    def near(partition: int, offset: int) -> bool:
        """Whether it is as near as MirrorMaker knows it: the farther from the end, the less (`OffsetSyncStore`)."""
        left = sum(each.offset >= offset for each in read_partition(clusters.target, copy, partition))
        return left <= 8 * (len(records[partition]) - consumed[partition]) + 30

    def translation() -> bool:
        translated.update(committed(clusters.target, group, copy, PARTITIONS))
        return len(translated) == PARTITIONS and all(near(*each) for each in translated.items())

    wait_for(translation, 60, lambda: f"the group's offsets: {translated}\n{mirror.log[-3000:]}")
    write(clusters.source, unique, 1_200, 100)
    clusters.wait_for_copy(unique, copy)
    left = [number_of(r) for p in range(PARTITIONS) for r in read_partition(clusters.source, unique, p)[consumed[p] :]]
    seen = rest_of(clusters.target, group, copy, left)
    for partition, offset in translated.items():
        consumer = [each for each in seen if each.partition == partition]
        # A later checkpoint may have come before the consumer, and be nearer.
        assert 0 < offset <= consumer[0].offset
        copies = read_partition(clusters.target, copy, partition)
        assert consumer == [each for each in copies if each.offset >= consumer[0].offset]
    wait_for_count(clusters.target, "heartbeats", 3)
    assert {record.key for record in contents(clusters.target, "heartbeats")} == {b"\0\1a\0\1b"}


def read_partition(bootstrap: str, topic: str, partition: int) -> list[Read]:
    return [record for record in read_committed(bootstrap, topic) if record.partition == partition]


def test_exactly_once_needs_a_consumer_of_committed_records(
    mirror: WorkerProcess, clusters: Clusters, unique: str
) -> None:
    config = clusters.source_config(unique, **{"consumer.isolation.level": "read_uncommitted"})
    assert list(mistakes(mirror, config)) == ["exactly.once.support"]


def test_offsets_of_copies_with_the_same_name(mirror: WorkerProcess, clusters: Clusters, unique: str) -> None:
    make_topic(clusters.source, unique, PARTITIONS)
    write(clusters.source, unique, 0, 300)
    mirror.create(unique, **clusters.source_config(unique, **IDENTITY))
    clusters.wait_for_copy(unique, unique)
    mirror.stop_connector(unique)
    path = f"/connectors/{unique}/offsets"
    last = {p: read_partition(clusters.source, unique, p)[-1].offset for p in range(PARTITIONS)}
    offsets = mirror.rest.get(path).json()["offsets"]
    assert sorted(offsets, key=lambda each: int(each["partition"]["partition"])) == [
        offset_of(unique, p, last[p]) for p in range(PARTITIONS)
    ]
    refused = mirror.rest.patch(path, json={"offsets": [offset_of(unique, 0, -1)]})
    assert refused.status_code == 400 and "offset" in refused.text, refused.text
    repeated = read_partition(clusters.source, unique, 1)[50:]
    before = repeated[0].offset - 1
    answer = mirror.rest.patch(path, json={"offsets": [offset_of(unique, 1, before)]})
    assert answer.status_code == 204, answer.text
    mirror.rest.put(f"/connectors/{unique}/resume")
    copied = clusters.copied(unique)
    wait_for_count(clusters.target, unique, len(copied) + len(repeated))
    expected = [each for each in copied if each.partition <= 1] + [replace(each, offset=0) for each in repeated]
    assert_same(contents(clusters.target, unique), expected + [each for each in copied if each.partition > 1])


def offset_of(topic: str, partition: int, offset: int) -> dict[str, dict[str, Any]]:
    """An offset of a MirrorSourceConnector: that of the last record that is copied."""
    return {"partition": {"cluster": "a", "partition": partition, "topic": topic}, "offset": {"offset": offset}}
