# SPDX-License-Identifier: Apache-2.0
"""Java tasks on a real worker: exactly once however they end, and their processes end with them."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.processes import alive
from tests.support.sinks import lines, make_topic, numbers, send, wait_for_committed, wait_for_lines
from tests.support.topics import committed_offsets, values, wait_for_values
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration]
LINES = {"connector.class": "java_tasks.JavaLinesConnector", "tasks.max": "1", "exactly.once.support": "required"}
LINE = "line {:07}\n"


class Growing:
    """A file of numbered lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0

    def grow(self, lines: int) -> None:
        with self.path.open("a") as file:
            file.writelines(LINE.format(number) for number in range(self.count, self.count + lines))
        self.count += lines

    def contents(self) -> list[bytes | None]:
        return [LINE.format(number).strip().encode() for number in range(self.count)]


def assert_once(worker: WorkerProcess, broker: EmbeddedBroker, name: str, file: Growing) -> None:
    """Each line is visible once and in order, and the committed offset is the end of the file."""
    assert wait_for_values(broker.bootstrap_servers, name, file.count, 120) == file.contents()
    offsets = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], name)
    assert offsets == {json.dumps({"filename": str(file.path)}): {"position": file.path.stat().st_size}}
    assert len(values(broker.bootstrap_servers, name)) == file.count


def next_process(worker: WorkerProcess, former: psutil.Process) -> psutil.Process:
    wait_for(lambda: not alive(former), 30, "the end of the process")
    return wait_for(lambda: next((p for p in worker.task_processes() if p.pid != former.pid), None), 60, "the next one")


@pytest.mark.parametrize("boundary", ["poll", "interval"])
def test_killed_again_and_again(
    boundary: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file = Growing(tmp_path / "lines")
    file.grow(20_000)
    more = {"transaction.boundary": boundary, "transaction.boundary.interval.ms": "300", "batch.size": "500"}
    worker.create(unique, **LINES, **more, file=str(file.path), topic=unique)
    for seen in (2_000, 12_000, 22_000):
        wait_for_values(broker.bootstrap_servers, unique, seen, 120)
        killed = worker.task_process()
        killed.kill()
        file.grow(10_000)
        next_process(worker, killed)
    worker.wait_for_tasks(unique)
    assert_once(worker, broker, unique, file)
    worker.delete(unique)


def test_system_exit_ends_the_process_and_another_one_goes_on(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file, exit = Growing(tmp_path / "lines"), tmp_path / "exit"
    file.grow(1_000)
    worker.create(unique, **LINES, file=str(file.path), topic=unique, mood="exits", when=str(exit))
    wait_for_values(broker.bootstrap_servers, unique, 1_000)
    first = worker.task_process()
    exit.touch()
    file.grow(1_000)
    next_process(worker, first)
    worker.wait_for_tasks(unique)
    assert_once(worker, broker, unique, file)
    worker.delete(unique)


@pytest.mark.parametrize("mood", ["lingers", "sleeps"])
def test_a_process_ends_with_its_task(
    mood: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """A thread of Java's that is no daemon does not keep it; nor does a poll that never returns, which is killed."""
    file, when = Growing(tmp_path / "lines"), tmp_path / "when"
    file.grow(10)
    worker.create(unique, **LINES, file=str(file.path), topic=unique, mood=mood, when=str(when))
    wait_for_values(broker.bootstrap_servers, unique, 10)
    if mood == "sleeps":
        when.touch()
        wait_for(lambda: not when.exists(), 30, "the poll that never returns")
    process = worker.task_process()
    worker.delete(unique)
    wait_for(lambda: not alive(process), 30, "the end of the process")


def test_a_sigterm_for_all_processes_of_a_service_does_not_end_a_task(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """The worker ends tasks itself, in its order; a JVM by itself ends its process."""
    file = Growing(tmp_path / "lines")
    file.grow(10)
    heap = {"connector.java.options": "-Xmx96m"}
    worker.create(unique, **LINES, **heap, file=str(file.path), topic=unique)
    wait_for_values(broker.bootstrap_servers, unique, 10)
    process = worker.task_process()
    process.send_signal(signal.SIGTERM)
    file.grow(10)
    assert_once(worker, broker, unique, file)
    assert worker.task_process().pid == process.pid
    # The serial collector counts one of its survivor spaces out.
    wait_for(lambda: f"the JVM of process {process.pid} has a heap of 9" in worker.log, 10, "the size of its heap")
    worker.delete(unique)


def test_pauses_and_commit_record(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    config = {"connector.class": "java_tasks.JavaNumbersConnector", "tasks.max": "1", "throughput": "200"}
    string = "org.apache.kafka.connect.json.JsonConverter"
    worker.create(unique, **config, **{"value.converter": string, "value.converter.schemas.enable": "false"},
                  **{"key.converter": string, "key.converter.schemas.enable": "false"}, topic=unique)  # fmt: skip
    wait_for_values(broker.bootstrap_servers, unique, 50)
    worker.rest.put(f"/connectors/{unique}/pause")
    worker.wait_for_tasks(unique, "PAUSED")
    count = len(values(broker.bootstrap_servers, unique))
    worker.rest.put(f"/connectors/{unique}/resume")
    seen = wait_for_values(broker.bootstrap_servers, unique, count + 100)
    assert seen == [b"%d" % number for number in range(len(seen))]
    wait_for(lambda: '"committed":true' in worker.log, 30, "what it prints at commitRecord")
    worker.delete(unique)


def test_a_sink_killed_loses_no_record(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 1000))
    worker.create(unique, **{"connector.class": "java_tasks.JavaFileConnector"}, topics=unique, file=str(file))
    wait_for_lines(file, 1000)
    wait_for_committed(bootstrap, unique, unique, {0: 1000})
    process = worker.task_process()
    process.kill()
    send(bootstrap, unique, numbers(1000, 1000))
    next_process(worker, process)
    wait_for(lambda: sorted({*map(int, lines(file))}) == list(range(2000)), 90, "all records")
    wait_for_committed(bootstrap, unique, unique, {0: 2000})
    worker.delete(unique)
