# SPDX-License-Identifier: Apache-2.0
"""The distributed herder over a real broker. The engine is left out: its tasks do nothing but ask and tell."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any

import pytest

from headrace.api.errors import RetriableError
from headrace.config.distributed_config import DistributedConfig
from headrace.distributed.assembly import distributed_herder
from headrace.distributed.distributed_herder import DistributedHerder
from headrace.herder.errors import AlreadyExistsError, BadRequestError, NotFoundError
from headrace.kafka.embedded_broker import EmbeddedBroker
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.plugins.discovery import Plugins
from headrace.rest.leader_client import LeaderClient
from headrace.rest.rest_client import RestClient
from headrace.task.task_spec import TaskSpec
from headrace.worker.task_launcher import TaskListener

pytestmark = pytest.mark.integration


class IdleTask:
    """A task without a process: confirms its start, runs, pauses and stops when told to."""

    def __init__(self, spec: TaskSpec, listener: TaskListener) -> None:
        self.spec = spec
        self.confirmed: Future[bool] = Future()
        self._listener = listener
        self._gone = threading.Event()
        threading.Thread(target=self._start, daemon=True).start()

    def _start(self) -> None:
        confirmed = self._listener.confirm_start(self.spec.id, 0)
        self.confirmed.set_result(confirmed)
        if confirmed:
            running = self.spec.target_state is TargetState.STARTED
            (self._listener.running if running else self._listener.paused)(self.spec.id)

    def pause(self) -> None:
        self._listener.paused(self.spec.id)

    def resume(self) -> None:
        self._listener.running(self.spec.id)

    def stop(self) -> None:
        self._gone.set()
        threading.Thread(target=self._listener.stopped, args=(self.spec.id,), daemon=True).start()

    def kill(self) -> None:
        self.stop()

    def await_stopped(self, timeout: float) -> bool:
        return self._gone.wait(timeout)


class IdleLauncher:
    """A ``TaskLauncher`` that keeps what it was asked to launch."""

    def __init__(self) -> None:
        self.launched: list[IdleTask] = []

    def start(self) -> None: ...

    def launch(self, spec: TaskSpec, listener: TaskListener) -> IdleTask:
        task = IdleTask(spec, listener)
        self.launched.append(task)
        return task

    def stop(self, timeout: float) -> None: ...


class Cluster:
    """One worker after the other over the same topics."""

    def __init__(self, bootstrap: str, **props: str) -> None:
        name = f"test-{uuid.uuid4()}"
        self.config = DistributedConfig(
            {
                "bootstrap.servers": bootstrap,
                "group.id": name,
                "key.converter": "org.apache.kafka.connect.storage.StringConverter",
                "value.converter": "org.apache.kafka.connect.storage.StringConverter",
                "exactly.once.source.support": "enabled",
                **{
                    f"{kind}.storage.{key}": value
                    for kind in ("config", "offset", "status")
                    for key, value in {"topic": f"{name}-{kind}", "replication.factor": "1"}.items()
                },
                "offset.storage.partitions": "2",
                "status.storage.partitions": "2",
                **props,
            }
        )
        self.launcher = IdleLauncher()
        self.herders: list[DistributedHerder] = []

    def start(self) -> DistributedHerder:
        leader = LeaderClient(RestClient(), self.config.signature_algorithm)
        herder = distributed_herder(self.config, Plugins(), self.launcher, "http://localhost:8083/", leader)
        self.herders.append(herder)
        herder.start()
        return herder

    def stop(self) -> None:
        for herder in self.herders:
            herder.stop(10.0)


@pytest.fixture
def cluster(broker: EmbeddedBroker) -> Iterator[Cluster]:
    made = Cluster(broker.bootstrap_servers)
    yield made
    made.stop()


def until(what: str, condition: Callable[[], Any], timeout: float = 20.0) -> Any:
    deadline = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {timeout} s: {what}"
        time.sleep(0.005)


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
    until("status gone", lambda: not herder._hands.statuses._store.connectors())
    with pytest.raises(NotFoundError, match="Connector c not found"):
        herder.connector_status("c")


def test_mistakes_are_told(cluster: Cluster) -> None:
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
    assert herder.still_mine(task.spec.id)
    store = herder._hands.config_store
    store.put_task_configs("c", [{"task.class": "x", "id": "0"}, {"task.class": "x", "id": "1"}])
    assert not herder.still_mine(task.spec.id)
    assert not herder.still_mine(ConnectorTaskId("c", 7))


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


def test_brokers_that_are_down_are_waited_for() -> None:
    with EmbeddedBroker(port=0) as own:
        own.stop()
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
