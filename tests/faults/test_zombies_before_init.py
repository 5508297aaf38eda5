# SPDX-License-Identifier: Apache-2.0
"""Task processes that are paused before `init_transactions` and wake after their successors began (invariant 10).

Such a zombie fences its successor, and then learns that it may not go on. The successor must go on by itself.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.errors import ProducerFencedError
from headrace.storage.offset_codec import encode_key, encode_offset
from tests.support.exactly_once import assert_exactly_once
from tests.support.polling import wait_for, within
from tests.support.processes import alive, status_of
from tests.support.topics import values, wait_for_values
from tests.support.worker_process import WorkerProcess

STOPPING = "numbered_source.StoppingBeforeInitConnector"
COUNT = 3000
SLOWLY = {"batch": "10", "pause.ms": "50"}
SLOWER = {"pause.ms": "60"}
HEALED_S = 30
"""Half of the transaction timeout of a minute that a task has: brokers end what is left open no sooner."""


def create(worker: WorkerProcess, name: str, count: int = COUNT) -> None:
    worker.create(name, **configuration(worker, name, count))


def configuration(worker: WorkerProcess, name: str, count: int = COUNT) -> dict[str, str]:
    own = {"connector.class": STOPPING, "tasks.max": "1", "topic": name, "count": f"{count}"}
    return {**own, **SLOWLY, "hurry": str(hurry(worker))}


def hurry(worker: WorkerProcess) -> Path:
    """The file from whose making on connectors that were created on the worker pause no more."""
    return worker.die_once.with_name("hurry")


def stopped_process(worker: WorkerProcess) -> psutil.Process:
    def found() -> psutil.Process | None:
        return next((p for p in worker.task_processes() if status_of(p) == psutil.STATUS_STOPPED), None)

    return wait_for(found, 90, lambda: f"a process that stopped itself\n{worker.log[-3000:]}")


def assert_no_open_transaction(bootstrap: str, topic: str) -> None:
    """All that was ever begun has been committed or aborted: a read_committed reader gets to the very end."""
    admin = TopicAdmin({"bootstrap.servers": bootstrap})
    ends: list[tuple[int, int]] = []

    def none_open() -> bool:
        high, stable = (
            {p: at.result(10).offset for p, at in admin.list_offsets(topic, [0], committed=committed).items()}
            for committed in (False, True)
        )
        ends[:] = [(high[0], stable[0])]
        return high == stable

    within(HEALED_S, none_open, lambda: f"the end of all transactions in {topic}: {ends}")


def test_a_process_that_wakes_without_its_worker(
    worker_elsewhere: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    worker = worker_elsewhere
    worker.die_once.touch()
    worker.start()
    create(worker, unique)
    zombie = stopped_process(worker)
    worker.kill()
    worker.start()
    wait_for_values(broker.bootstrap_servers, unique, 200, 90)
    zombie.send_signal(signal.SIGCONT)
    wait_for(lambda: not alive(zombie), 30, "the zombie's end")
    worker.wait_for_tasks(unique)
    hurry(worker).touch()
    assert_exactly_once(broker.bootstrap_servers, unique, COUNT, worker.properties["offset.storage.topic"], unique)
    worker.wait_for_tasks(unique)
    assert_no_open_transaction(broker.bootstrap_servers, unique)


def test_what_a_former_attempt_commits_until_init_is_gone_on_from(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    """Offsets are read after the former attempt was fenced, and not as they were when the task began (invariant 3)."""
    committed, count, bootstrap = 50, 200, broker.bootstrap_servers
    own_worker.die_once.touch()
    own_worker.start()
    create(own_worker, unique, count)
    process = stopped_process(own_worker)
    group, offsets = own_worker.properties["group.id"], own_worker.properties["offset.storage.topic"]
    former = TransactionalProducer({"bootstrap.servers": bootstrap, "transactional.id": f"{group}-{unique}-0"})
    former.init_transactions(30)
    former.begin()
    for number in range(committed):
        former.records.send(unique, None, b"%d" % number, 0)
    former.records.send(offsets, encode_key(unique, {"id": "0"}), encode_offset({"seqno": committed - 1}))
    former.commit(30)
    process.send_signal(signal.SIGCONT)
    assert_exactly_once(bootstrap, unique, count, offsets, unique)
    with pytest.raises(ProducerFencedError):
        former.begin()
        former.records.send(unique, None, b"never visible", 0)
        former.commit(30)
    former.close()


# ---- KIP-618's own example


@pytest.fixture
def three(broker: EmbeddedBroker, tmp_path: Path, unique: str) -> Iterator[list[WorkerProcess]]:
    """Leader L, and two more of its group; all run."""
    properties = {
        "group.id": f"group-{unique}",
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "1500",
        "scheduled.rebalance.max.delay.ms": "1000",
    }
    workers = []
    with ExitStack() as stack:
        for name in "LFO":
            (tmp_path / name).mkdir()
            worker = WorkerProcess(tmp_path / name, broker.bootstrap_servers, **properties)
            stack.callback(worker.close)
            workers.append(worker)
        leader, *followers = workers
        leader.start(90, "/connectors")
        for worker in followers:
            worker.launch()
        for worker in followers:
            worker.await_answer(90)
        yield workers


def freeze(*processes: psutil.Process) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()


def test_the_example_of_kip_618(three: list[WorkerProcess], broker: EmbeddedBroker, unique: str) -> None:
    """F is paused before it has a producer; L fences, O takes over; F wakes and makes its producer."""
    leader, f, _ = three
    f.die_once.touch()
    names = [f"{unique}-{n}" for n in range(3)]
    for name in names:
        create(leader, name)
    zombie = stopped_process(f)
    started = wait_for(lambda: re.search(rf"Task (\S+)-0: attempt 0 has process {zombie.pid}\b", f.log), 10, "its task")
    victim = started.group(1)
    others = [name for name in names if name != victim]
    for name in others:
        leader.wait_for_tasks(name)

    tree = [psutil.Process(f.pid), *f.descendants()]
    freeze(*tree)
    changed = configuration(leader, victim) | SLOWER | {"name": victim}
    answer = leader.rest.put(f"/connectors/{victim}/config", json=changed)
    assert answer.status_code == 200, answer.text
    wait_for_values(broker.bootstrap_servers, victim, 200, 120)
    task = leader.status(victim)["tasks"][0]
    assert task["state"] == "RUNNING" and task["worker_id"] != f"127.0.0.1:{f.port}"

    for process in reversed(tree):
        with suppress(psutil.NoSuchProcess):
            process.resume()
    wait_for(lambda: not alive(zombie), 30, lambda: f"the zombie's end\n{f.log[-3000:]}")
    before = len(values(broker.bootstrap_servers, victim))
    within(HEALED_S, lambda: len(values(broker.bootstrap_servers, victim)) >= before + 200, "more of the victim")
    hurry(leader).touch()
    for name in names:
        assert_exactly_once(broker.bootstrap_servers, name, COUNT, leader.properties["offset.storage.topic"], name)
        leader.wait_for_tasks(name)
        assert_no_open_transaction(broker.bootstrap_servers, name)
    assert not [line for worker in three for line in worker.log.splitlines() if "task failed" in line]
