# SPDX-License-Identifier: Apache-2.0
"""The distributed herder over a real broker. The engine is left out: its tasks only send requests and events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import ConfigError, RetriableError
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.distributed.distributed_herder import DistributedHerder
from headrace.herder.errors import AlreadyExistsError, BadRequestError, NotFoundError, RequestTimeoutError
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorOffset, OffsetsChange
from headrace.model.state import TargetState
from headrace.rest.herder_request_handler import RequestHandler
from headrace.storage.config_writes import TaskConfigsWrite
from tests.support.group_of_workers import Cluster
from tests.support.polling import wait_for
from tests.support.worker_process import PLUGINS


def until(what: str, condition: Callable[[], Any], timeout: float = 20.0) -> Any:
    return wait_for(condition, timeout, what)


def states(herder: DistributedHerder, name: str) -> tuple[str, ...]:
    """The connector's state, then its tasks'."""
    try:
        status = herder.connector_status(name)
    except (NotFoundError, RetriableError):
        return ()
    return (status.connector.state, *(task.state for task in status.tasks))


def verifiable(tasks: int = 1, **more: str) -> Mapping[str, str]:
    return {"connector.class": "VerifiableSource", "tasks.max": str(tasks), "topic": "t", "throughput": "1", **more}


def create(herder: DistributedHerder, name: str, config: Mapping[str, str], **how: Any) -> Any:
    how = {"target_state": None, "allow_replace": False, **how}
    return herder.put_connector_config(name, config, **how).result(30)


def test_a_connectors_life(cluster: Cluster) -> None:
    herder = cluster.start()
    put = create(herder, "c", verifiable())
    assert put.created and put.info.tasks == () and put.info.type == "source"
    assert dict(put.info.config) == {**verifiable(), "name": "c"}
    until("running", lambda: states(herder, "c") == ("RUNNING", "RUNNING"))
    assert herder.connectors() == ("c",)
    assert herder.connector_info("c").tasks == (ConnectorTaskId("c", 0),)
    assert herder.task_infos("c")[0].config["topic"] == "t"
    assert herder.server_info().kafka_cluster_id

    herder.set_target_state("c", TargetState.PAUSED).result(10)
    until("paused", lambda: states(herder, "c") == ("PAUSED", "PAUSED"))
    herder.set_target_state("c", TargetState.STARTED).result(10)
    until("resumed", lambda: states(herder, "c") == ("RUNNING", "RUNNING"))

    put = create(herder, "c", verifiable(3), allow_replace=True)
    assert not put.created
    until("three tasks", lambda: states(herder, "c") == ("RUNNING",) * 4)
    herder.set_target_state("c", TargetState.STOPPED).result(10)
    until("stopped", lambda: states(herder, "c") == ("STOPPED",))

    herder.delete_connector("c").result(10)
    assert herder.connectors() == ()
    until("status gone", lambda: not herder._services.status_store.keys())
    with pytest.raises(NotFoundError, match="Connector c not found"):
        herder.connector_status("c")


def test_internal_topics_are_made_with_the_workers_settings(broker: EmbeddedBroker) -> None:
    settings = {
        "config.storage.max.message.bytes": "2000000",
        "offset.storage.segment.ms": "3600000",
        "status.storage.cleanup.policy": "delete",
        "status.storage.min.compaction.lag.ms": "1",
    }
    cluster = Cluster(broker.bootstrap_servers, **settings)
    topics = TopicAdmin({"bootstrap.servers": broker.bootstrap_servers})
    herder = cluster.start()
    try:
        until("ready", lambda: _is_known(herder))
        create(herder, "c", verifiable(**{"offsets.storage.topic": f"{cluster.config.group_id}-own"}))
        until("running", lambda: states(herder, "c") == ("RUNNING", "RUNNING"))
        names = [getattr(cluster.config, f"{kind}_topic").name for kind in ("config", "offset", "status")]
        made = {}
        for name, expected in zip([*names, f"{cluster.config.group_id}-own"], (1, 2, 2, 2), strict=True):
            found = topics.describe(name)
            assert found is not None and (len(found.partitions), found.replication_factor) == (expected, 1), name
            made[name] = topics.config(name)
            assert made[name]["cleanup.policy"] == "compact"
    finally:
        cluster.stop()
    config, offsets, status, own = made.values()
    assert config["max.message.bytes"] == "2000000"
    assert offsets["segment.ms"] == own["segment.ms"] == "3600000"
    assert status["min.compaction.lag.ms"] == "1"


@pytest.mark.parametrize("client_id", ["", "mine"])
def test_the_groups_members_are_known_by_the_workers_client_id(broker: EmbeddedBroker, client_id: str) -> None:
    cluster = Cluster(broker.bootstrap_servers, **({"client.id": client_id} if client_id else {}))
    herder = cluster.start()
    try:
        member = until("a member", lambda: herder.state.membership)
    finally:
        cluster.stop()
    # The broker makes a member's id of its client id and something unique.
    assert member.member_id.startswith(f"{client_id or 'connect-localhost:8083'}-")


def test_an_empty_offsets_topic_is_the_workers(cluster: Cluster) -> None:
    """KIP-618: if empty or not specified, the worker's global offsets topic name will be used."""
    herder = cluster.start()
    create(herder, "c", verifiable(**{"offsets.storage.topic": ""}))
    until("running", lambda: states(herder, "c") == ("RUNNING", "RUNNING"))
    [task] = cluster.launcher.launched
    assert task.spec.offsets_topic == cluster.config.offset_topic.name


def _is_known(herder: DistributedHerder) -> bool:
    try:
        return herder.connectors() == ()
    except RetriableError:
        return False


@pytest.mark.parametrize("kind", ["config", "offset", "status"])
def test_an_internal_topic_that_would_lose_records_ends_the_herder(broker: EmbeddedBroker, kind: str) -> None:
    cluster = Cluster(broker.bootstrap_servers)
    name = getattr(cluster.config, f"{kind}_topic").name
    topics = TopicAdmin({"bootstrap.servers": broker.bootstrap_servers})
    topics.create_topics([TopicSpec(name, 1, 1, {"cleanup.policy": "compact,delete"})])
    herder = cluster.start()
    try:
        failure = until("failed", herder.failure)
    finally:
        cluster.stop()
    assert isinstance(failure, ConfigError)
    assert f"'{name}' named by {kind}.storage.topic has cleanup.policy=compact,delete" in str(failure)


def test_a_connectors_own_offsets_topic_that_would_lose_records_fails_the_connector_alone(cluster: Cluster) -> None:
    herder = cluster.start()
    topics = TopicAdmin({"bootstrap.servers": cluster.config.bootstrap_servers})
    topics.create_topics([TopicSpec(f"{cluster.config.group_id}-own", 1, 1, {"cleanup.policy": "delete"})])
    own = {"offsets.storage.topic": f"{cluster.config.group_id}-own", "tasks.restart.policy": "on-failure"}
    create(herder, "c", verifiable(**own))
    until("failed", lambda: "FAILED" in states(herder, "c"))
    trace = "".join(task.trace or "" for task in herder.connector_status("c").tasks)
    trace += herder.connector_status("c").connector.trace or ""
    assert f"'{cluster.config.group_id}-own' named by offsets.storage.topic of connector c" in trace
    health = herder.connector_health(["c"]).result(30)["c"]
    restarts = [part["auto_restart"] for part in (health["connector"], *health["tasks"])]
    assert any(each["gave_up"] and "its configuration is refused" in each["reason"] for each in restarts), restarts
    with pytest.raises(ConfigError, match=r"offsets\.storage\.topic of connector c has cleanup\.policy=delete"):
        herder.connector_offsets("c").result(30)
    create(herder, "d", verifiable())
    until("the other runs", lambda: states(herder, "d") == ("RUNNING", "RUNNING"))


def test_mistakes_are_reported(cluster: Cluster) -> None:
    herder = cluster.start()
    create(herder, "c", verifiable())
    with pytest.raises(AlreadyExistsError, match="Connector c already exists"):
        create(herder, "c", verifiable())
    with pytest.raises(BadRequestError, match=r"(?s)contains the following 1 error.*tasks.max"):
        create(herder, "d", verifiable(0))
    with pytest.raises(BadRequestError, match="VerifiableSource"):
        create(herder, "d", verifiable(**{"connector.class": "VerifiableSorce"}))
    with pytest.raises(NotFoundError, match="Connector x not found"):
        herder.delete_connector("x").result(10)
    with pytest.raises(NotFoundError, match="Connector x not found"):
        herder.connector_offsets("x").result(10)


def test_create_to_started_takes_milliseconds(cluster: Cluster) -> None:
    herder = cluster.start()
    create(herder, "warm", verifiable())
    until("warm", lambda: cluster.launcher.launched)
    took = []
    for number in range(5):
        begun = time.monotonic()
        create(herder, f"c{number}", verifiable())
        until("launch", lambda n=number: len(cluster.launcher.launched) == n + 2)
        took.append(time.monotonic() - begun)
    print("create to launched:", [f"{each * 1000:.0f} ms" for each in took])
    assert sorted(took)[2] < 1.0, took


def test_a_task_is_no_longer_ours_once_newer_configs_are_written(cluster: Cluster) -> None:
    herder = cluster.start()
    create(herder, "c", verifiable())
    task = until("launch", lambda: cluster.launcher.launched)[0]
    assert task.confirmed.result(10)
    assert herder.owns_task_generation(task.spec.id)
    store = herder._services.config_store
    store.write(TaskConfigsWrite("c", [{"task.class": "x", "id": "0"}, {"task.class": "x", "id": "1"}]))
    assert not herder.owns_task_generation(task.spec.id)
    assert not herder.owns_task_generation(ConnectorTaskId("c", 7))


def test_another_worker_takes_over_what_is_stored(cluster: Cluster) -> None:
    first = cluster.start()
    create(first, "c", verifiable(2))
    until("running", lambda: states(first, "c") == ("RUNNING",) * 3)
    first.stop(10.0)
    assert first.failure() is None
    second = cluster.start()
    until("its statuses", lambda: states(second, "c") == ("RUNNING",) * 3)
    assert len(cluster.launcher.launched) == 4
    until("leadership", lambda: second._state.leadership.privileges.value == "held")
    create(second, "d", verifiable())
    until("both", lambda: states(second, "d") == ("RUNNING", "RUNNING"))


def test_a_request_that_hangs_names_the_method_that_it_waits_for(broker: EmbeddedBroker, tmp_path: Path) -> None:
    """It holds up no other request: others are answered meanwhile, and it goes on when the method returns."""
    cluster = Cluster(broker.bootstrap_servers, **{"plugin.path": str(PLUGINS)})
    herder = cluster.start()
    moody = {**verifiable(), "connector.class": "moody_source.MoodySource", "directory": str(tmp_path)}
    (tmp_path / "task_configs").touch()
    (tmp_path / "alter_offsets").touch()
    try:
        until("ready", lambda: _is_known(herder))
        create(herder, "hung", moody)
        until("a hung method", lambda: "waiting for the task_configs of connector hung since" in herder.stage())
        create(herder, "c", verifiable())
        until("another one runs", lambda: states(herder, "c") == ("RUNNING", "RUNNING"))
        (tmp_path / "task_configs").unlink()
        until("running", lambda: states(herder, "hung") == ("RUNNING", "RUNNING"))

        herder.set_target_state("hung", TargetState.STOPPED).result(10)
        until("stopped", lambda: states(herder, "hung") == ("STOPPED",) and not herder.state.rebalance_pending)
        change = OffsetsChange((ConnectorOffset({"id": 0}, {"seqno": 1}),))
        asked = herder.change_offsets("hung", change)
        until("the hung method", lambda: "hung since" in herder.stage())
        with pytest.raises(
            RequestTimeoutError, match=r"after 0\.1 s\. The worker is waiting for the .*hung since \d s"
        ):
            asyncio.run(_complete(herder, asked))
        assert herder.connectors() == ("c", "hung")
        (tmp_path / "alter_offsets").unlink()
        assert asked.result(20).differences
    finally:
        cluster.stop()


async def _complete(herder: DistributedHerder, asked: Future[Any]) -> Any:
    return await RequestHandler(herder, 0.1).complete(asked)


def test_brokers_that_are_down_are_waited_for() -> None:
    with closing(EmbeddedBroker(port=0, jvm_options=QUICK_START_JVM_OPTIONS)) as own:
        cluster = Cluster(own.bootstrap_servers)
        herder = cluster.start()
        try:
            asked = herder.put_connector_config("c", verifiable(), target_state=None, allow_replace=False)
            until("a stage", lambda: "since" in herder.stage() or "Kafka" in herder.stage())
            with pytest.raises(RetriableError, match="The worker is starting"):
                herder.connectors()
            own.start()
            assert asked.result(60).created
        finally:
            cluster.stop()
