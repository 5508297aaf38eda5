# SPDX-License-Identifier: Apache-2.0
"""Java tasks that repeat calls, define their transactions and report records late, on a real worker and Java's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.java_connect import JavaConnect, fetch
from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.quick_java import QuickJavaConnect
from tests.java.java_connectors import compiled
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.processes import alive
from tests.support.sinks import lines, make_topic, send, wait_for_committed
from tests.support.topics import committed_offsets, read_committed, values, wait_for_values
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration]
COUNT = 150
OWN = {"exactly.once.support": "required", "transaction.boundary": "connector", "tasks.max": "1"}


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin.path with this test's Java classes."""
    path = tmp_path_factory.mktemp("plugins")
    for name in ("CountingSource", "CollectingSink", "CallsTasks"):
        (path / name).mkdir()
        compiled(name, path / name)
    return path


@pytest.fixture(scope="module")
def java_connect(
    broker: EmbeddedBroker, plugins: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaConnect]:
    or_skip(fetch)
    java = QuickJavaConnect(broker.bootstrap_servers, tmp_path_factory.mktemp("java"), group="java-retries")
    java.more |= {"plugin.path": str(plugins), "plugin.discovery": "only_scan"}
    with java:
        yield java


@pytest.fixture(scope="module")
def java_worker(
    broker: EmbeddedBroker, plugins: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    properties = {"group.id": "headrace-java-retries", "plugin.path": str(plugins)}
    with WorkerProcess(tmp_path_factory.mktemp("worker"), broker.bootstrap_servers, **properties) as running:
        yield running


def kill_the_process(worker: WorkerProcess) -> None:
    """Kill the task's process, and wait for the next one."""
    killed = worker.task_process()
    killed.kill()
    wait_for(lambda: not alive(killed), 30, "its end")
    wait_for(lambda: any(each.pid != killed.pid for each in worker.task_processes()), 60, "the next one")


def test_transactions_of_a_java_task_are_exactly_once(
    java_worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    """A poll that throws RetriableException is repeated, records that the task aborts are not seen."""
    worker, bootstrap = java_worker, broker.bootstrap_servers
    worker.create(unique, **{"connector.class": "CountingSource", **OWN}, topic=unique, count=str(COUNT))
    for seen in (COUNT // 5, COUNT // 2):
        wait_for_values(bootstrap, unique, seen, 120)
        kill_the_process(worker)
    found = wait_for_values(bootstrap, unique, COUNT, 120)
    worker.wait_for_tasks(unique)
    offsets = committed_offsets(bootstrap, worker.properties["offset.storage.topic"], unique)
    assert offsets == {'{"counter": "c"}': {"number": COUNT - 1}}
    assert found == values(bootstrap, unique) == [b"number %d" % number for number in range(COUNT)]
    worker.delete(unique)


@pytest.mark.parametrize("exactly_once", ["required", "requested"])
def test_a_task_is_stopped_after_its_last_commit_as_in_java(
    java_worker: WorkerProcess, java_connect: JavaConnect, unique: str, tmp_path: Path, exactly_once: str
) -> None:
    """One that acknowledges messages in `commitRecord` would get them again if its session was closed before."""
    for rest, kind in ((java_connect.rest, "java"), (java_worker, "own")):
        name, calls = f"{unique}-{kind}", tmp_path / kind
        config = {"connector.class": "CallsTasks", "tasks.max": "1", "calls": str(calls), "topic": name}
        config["exactly.once.support"] = exactly_once
        rest.create(name, {**config}) if kind == "java" else java_worker.create(name, **config)
        wait_for(lambda calls=calls: lines(calls).count("commit") > 2, 120, lambda: java_worker.log[-3000:])  # type: ignore[misc]
        rest.remove(name) if kind == "java" else java_worker.delete(name)
        wait_for(lambda calls=calls: "stopped" in lines(calls), 30, "its stop")  # type: ignore[misc]
        written = lines(calls)
        assert (written[-3:], written.count("stop")) == (["commit", "stop", "stopped"], 1), kind
        assert sum(line.startswith("commitRecord") for line in written) == written.count("poll"), kind


def test_a_poll_that_waits_for_stop_is_stopped(java_worker: WorkerProcess, unique: str, tmp_path: Path) -> None:
    calls, blocks = tmp_path / "calls", tmp_path / "blocks"
    config = {"connector.class": "CallsTasks", "calls": str(calls), "topic": unique, "blocks": str(blocks)}
    java_worker.create(unique, **config)
    wait_for(lambda: lines(calls).count("commit") > 2, 120, lambda: java_worker.log[-3000:])
    blocks.touch()
    wait_for(lambda: lines(calls)[-2:] == ["commit", "poll"], 30, "a poll that waits")
    java_worker.delete(unique)
    wait_for(lambda: "stopped" in lines(calls), 30, "its stop")
    wait_for(lambda: not java_worker.task_processes(), 4, "the end of the process, before it would be killed")


def test_transactions_end_where_they_end_in_java(
    java_worker: WorkerProcess, java_connect: JavaConnect, broker: EmbeddedBroker, unique: str
) -> None:
    """At the records that the task names, or that are equal to those, whether they stay in the JVM or not."""
    bootstrap = broker.bootstrap_servers
    converter = {"value.converter": "CountingSource$MarkingConverter"}
    kinds = {"same": {}, "equal": {"copies": "true"}, "marked": converter}
    for kind, more in kinds.items():
        own, java = f"{unique}-{kind}", f"{unique}-{kind}-java"
        config = {"connector.class": "CountingSource", **OWN, **more, "count": "60"}
        java_connect.rest.create(java, {**config, "topic": java})
        java_worker.create(own, **config, topic=own)
    for kind in kinds:
        own, java = f"{unique}-{kind}", f"{unique}-{kind}-java"
        for topic in (own, java):
            wait_for_values(bootstrap, topic, 60, 120)
        found = transactions(bootstrap, own)
        assert found == transactions(bootstrap, java), kind
        assert found[:3] == [[b"0", b"1"], [b"2", b"3", b"4", b"5"], [b"6", b"7"]], kind
        offsets = offsets_one_by_one(bootstrap, java_worker.properties["offset.storage.topic"], own)
        assert offsets == offsets_one_by_one(bootstrap, f"{java_connect.group}-offsets", java), kind
        assert offsets[:6] == [1, 1, 5, 5, 7, 7], "those of aborted records are committed, too"
        marks = [each.headers for each in read_committed(bootstrap, own)]
        assert marks == [each.headers for each in read_committed(bootstrap, java)], kind
        assert marks == [[("mark", b"\xff\x00\x07"), ("nothing", None)] if kind == "marked" else []] * 60, kind
        java_worker.delete(own)


def offsets_one_by_one(bootstrap: str, topic: str, connector: str) -> list[int]:
    """The numbers of all offsets that were ever committed."""
    key = json.dumps([connector, {"counter": "c"}], separators=(",", ":")).encode()
    return [json.loads(each.value or b"")["number"] for each in read_committed(bootstrap, topic) if each.key == key]


def transactions(bootstrap: str, topic: str) -> list[list[bytes]]:
    """The numbers of each transaction: its end takes an offset of the topic, and so does what was aborted."""
    found: list[list[bytes]] = []
    last = None
    for record in read_committed(bootstrap, topic):
        if last is None or record.offset != last + 1:
            found.append([])
        last = record.offset
        found[-1].append((record.value or b"").removeprefix(b"number "))
    return found


def test_a_put_is_repeated_and_a_late_report_precedes_the_commit(
    java_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    worker, bootstrap, file = java_worker, broker.bootstrap_servers, tmp_path / "out"
    make_topic(bootstrap, unique)
    sent = [f"{'bad' if number % 10 == 7 else 'good'} {number}".encode() for number in range(100)]
    send(bootstrap, unique, sent)
    letters = f"{unique}-letters"
    errors = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters,
              "errors.deadletterqueue.topic.replication.factor": "1"}  # fmt: skip
    worker.create(unique, **{"connector.class": "CollectingSink", "tasks.max": "1", **errors}, topics=unique,
                  file=str(file))  # fmt: skip
    wait_for_committed(bootstrap, unique, unique, {0: 100}, 120)
    assert [each.value for each in read_committed(bootstrap, letters)] == [each for each in sent if each[:3] == b"bad"]
    written = lines(file)
    refusals = [each for each in written if each.startswith("refused")]
    assert refusals
    assert sum(int(each.split()[1]) for each in refusals) == 100, "each batch was refused once"
    assert [each for each in written if each not in refusals] == [each.decode() for each in sent if each[:4] == b"good"]
    worker.delete(unique)
