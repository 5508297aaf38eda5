# SPDX-License-Identifier: Apache-2.0
"""Workers that hear late of what is written to the config topic: what they decide by it they read to its end first.

Invariants 4 and 6. The broker's answers to the reader of one worker's config log are held; all else passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from faults.proxy import How, Proxy, Trap
from faults.wire import Api
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.errors import ProducerFencedError
from headrace.storage.config_writes import TaskConfigsWrite, TaskCountWrite
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.kafka_config_backing_store import KafkaConfigBackingStore
from tests.support.group_of_workers import Node, Workers
from tests.support.idle_tasks import IdleTask
from tests.support.polling import wait_for
from tests.support.sinks import make_topic

HELD_S = 120.0
ROUND = "round of zombie fencing of connector c"

Behind = tuple[Proxy, EmbeddedBroker]


@pytest.fixture
def workers(behind: Behind) -> Iterator[Workers]:
    """Their tasks end when a test says so."""
    made = Workers(behind[1].bootstrap_servers, **{"task.shutdown.graceful.timeout.ms": "60000"})
    yield made
    made.close()


def start_late(workers: Workers, proxy: Proxy) -> Node:
    """A worker that can be kept from reading the config topic."""
    node = workers.start(**{"bootstrap.servers": f"127.0.0.1:{proxy.port}", "client.id": "late"})
    node.launcher.blocked = True
    return node


@contextmanager
def deaf(proxy: Proxy, workers: Workers) -> Iterator[None]:
    """The late worker hears nothing of what is written to the config topic meanwhile."""
    trap = Trap(Api.FETCH, f"{workers.group}-late-configs", How.HOLD_ANSWER, HELD_S)
    proxy.set(trap)
    assert trap.caught.wait(30)
    try:
        yield
        assert not trap.over.is_set()
    finally:
        proxy.free(trap)


@contextmanager
def another_leader(workers: Workers) -> Iterator[KafkaConfigBackingStore]:
    """Writes the config topic as a worker does that has become the leader meanwhile."""
    config = DistributedConfig({**workers.props, "exactly.once.source.support": "enabled"})
    clients = LogClients(client_configs.config_log_consumer(config), None, client_configs.admin(config))
    topic = compacted_topic(config.config_topic.name, "config.storage", 1, 1)
    store = KafkaConfigBackingStore(topic, clients, client_configs.leader_producer(config), lambda state, updates: None)
    store.start()
    store.claim_write_privileges()
    yield store
    store.stop()


def configs(count: int) -> list[dict[str, str]]:
    return [{"task.class": "another", "id": str(id)} for id in range(count)]


def generation(node: Node) -> int:
    """Which task configurations of the connector the worker knows."""
    return node.herder.state.config.task_config_offsets["c"]


def reconfigure(workers: Workers, node: Node, tasks: int) -> list[IdleTask]:
    """Give the connector so many tasks, and have the node know of it; its former tasks are still to end."""
    former, known = node.launcher.launched[:], generation(node)
    workers.put("c", tasks)
    wait_for(lambda: generation(node) != known, 30, "the new task configurations")
    assert former and not any(task.await_stopped(0) for task in former)
    return former


def end(tasks: list[IdleTask]) -> None:
    for task in tasks:
        task.kill()


def stages(node: Node) -> str:
    """What the worker has been doing for a second."""
    return "; ".join(node.herder._services.stages.longer_than(1.0))


def test_go_is_given_by_what_the_topic_says_to_its_end(behind: Behind, workers: Workers) -> None:
    proxy, _ = behind
    node = start_late(workers, proxy)
    workers.put("c", 1)
    workers.wait_for_tasks("c", 1)
    [task] = node.launcher.launched
    assert task.may_start()
    with deaf(proxy, workers):
        with another_leader(workers) as leader:
            leader.write(TaskConfigsWrite("c", configs(2)))
        answer = node.herder._services.stages.run_in_background("test", task.may_start)
        wait_for(
            lambda: answer.done() or "test since" in stages(node), 30, lambda: f"an answer or none: {stages(node)}"
        )
        assert not answer.done(), f"{answer.result()} without having read that there are newer task configurations"
    assert answer.result(30) is False
    end([task])


def test_the_leader_does_not_fence_those_who_have_come_after_a_round_was_asked_for(
    behind: Behind, workers: Workers
) -> None:
    """It has been replaced: another one has given the connector new tasks, which have begun."""
    proxy, broker = behind
    node = start_late(workers, proxy)
    workers.put("c", 2)
    workers.wait_for_tasks("c", 2)
    node.launcher.blocked = False
    former = reconfigure(workers, node, 3)
    with deaf(proxy, workers):
        with another_leader(workers) as leader:
            leader.write(TaskConfigsWrite("c", configs(3)))
            leader.write(TaskCountWrite("c", 3))
        with healthy_producers(broker, workers.group, 3) as write:
            fenced: list[str] = []

            def waits() -> bool:
                fenced.extend(refused(write))
                return bool(fenced) or ROUND in stages(node)

            end(former)
            wait_for(waits, 30, lambda: f"a round: {stages(node)}")
            assert fenced == []


def refused(write: Callable[[], None]) -> list[str]:
    try:
        write()
    except ProducerFencedError as error:
        return [str(error)]
    return []


@contextmanager
def healthy_producers(broker: EmbeddedBroker, group: str, tasks: int) -> Iterator[Callable[[], None]]:
    """Those of the newest tasks, which are given as a function that has each of them commit something."""
    topic = f"{group}-out"
    make_topic(broker.bootstrap_servers, topic)
    made = [
        TransactionalProducer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"{group}-c-{task}"})
        for task in range(tasks)
    ]

    def write() -> None:
        for producer in made:
            producer.begin()
            producer.records.send(topic, None, b"healthy")
            producer.commit(20)

    for producer in made:
        producer.init_transactions(20)
    try:
        yield write
    finally:
        for producer in made:
            producer.close()


def test_a_follower_reads_what_the_leader_has_written_of_a_round(behind: Behind, workers: Workers) -> None:
    """Or it would ask for one round after the other, until it happens to hear of the first."""
    proxy, _ = behind
    leader, follower = workers.start(), start_late(workers, proxy)
    assert leader.leads
    workers.put("c", 2)
    workers.wait_for_tasks("c", 2)
    follower.launcher.blocked = False
    former = reconfigure(workers, follower, 3)
    asked = len(follower.asked.rounds)
    with deaf(proxy, workers):
        end(former)
        wait_for(lambda: leader.herder.state.config.task_count_records.get("c") == 3, 30, "the round")
        wait_for(
            lambda: len(follower.asked.rounds) > asked + 1 or f"{ROUND} by the leader" in stages(follower),
            30,
            lambda: f"a follower that reads: {stages(follower)}",
        )
        assert follower.asked.rounds[asked:] == ["c"]
    workers.wait_for_tasks("c", 3)
    assert follower.asked.rounds[asked:] == ["c"]


def test_a_worker_that_hears_late_is_listed_with_its_lag(workers: Workers, behind: Behind) -> None:
    """Every worker lists all, also those that run nothing; the one that lags learns it from the others."""
    proxy, _ = behind
    leader = workers.start()
    late = start_late(workers, proxy)
    nodes = {node.address: node for node in (leader, late)}

    def lags() -> list[dict[str, int]]:
        answers = [node.http.get("/workers").json() for node in nodes.values()]
        assert all(answer["missing"] == {} and answer["leader"] == leader.address for answer in answers), answers
        return [{each["worker_id"]: each["config_lag"] for each in answer["workers"]} for answer in answers]

    wait_for(lambda: lags() == 2 * [dict.fromkeys(nodes, 0)], 30, lambda: f"both in step: {lags()}")
    with deaf(proxy, workers):
        leader.http.put("/admin/loggers/quiet", params={"scope": "cluster"}, json={"level": "INFO"}).raise_for_status()
        for found in lags():
            assert found[leader.address] == 0 and found[late.address] > 0, found
    wait_for(lambda: lags() == 2 * [dict.fromkeys(nodes, 0)], 30, lambda: f"both in step again: {lags()}")
