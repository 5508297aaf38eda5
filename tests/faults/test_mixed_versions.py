# SPDX-License-Identifier: Apache-2.0
"""A group is upgraded, and taken back, one worker after the other, while an exactly-once source and a sink work."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_contiguous
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, lines, make_topic
from tests.support.topics import committed_offsets, read_committed
from tests.support.worker_process import PLUGINS, ROOT, WorkerProcess, once_settled

FORMER = "e5ded004766a7ce319e5eb92f136a2b235c03b6a"
"""A version that signs calls between workers in another way, and knows no names of topics in the group's protocol."""


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the packages of the former version."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", FORMER, "src"]
    archive = subprocess.run(command, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"this clone lacks {FORMER[:12]}: {archive.stderr.decode().strip()}")
    directory = tmp_path_factory.mktemp("former")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
        packed.extractall(directory, filter="data")
    return directory / "src"


@dataclass(frozen=True)
class Group:
    workers: tuple[WorkerProcess, WorkerProcess]
    former: Path
    bootstrap: str

    def start(self, *numbers: int, old: bool) -> None:
        """Start workers of one version, and see that they are of that."""
        started = [self.workers[number] for number in numbers]
        for worker in started:
            if old:
                worker.environment["PYTHONPATH"] = os.pathsep.join(map(str, (PLUGINS, self.former)))
            else:
                worker.environment.pop("PYTHONPATH", None)
            worker.launch()
        for worker in started:
            worker.await_answer()
            found = {Path(each) for each in _environment(worker.pid)["PYTHONPATH"].split(os.pathsep)}
            assert (self.former in found, ROOT / "src" in found) == (old, not old)

    def replace(self, number: int, *, old: bool) -> None:
        assert self.workers[number].stop() == 0
        self.start(number, old=old)

    def at(self, worker: WorkerProcess) -> str:
        return f"127.0.0.1:{worker.port}"


@pytest.fixture
def group(broker: EmbeddedBroker, tmp_path: Path, unique: str, former: Path) -> Iterator[Group]:
    workers = []
    for number in range(2):
        (tmp_path / f"{number}").mkdir()
        more = {"group.id": f"group-{unique}", "scheduled.rebalance.max.delay.ms": "0"}
        workers.append(WorkerProcess(tmp_path / f"{number}", broker.bootstrap_servers, **more))
    first, second = workers
    try:
        yield Group((first, second), former, broker.bootstrap_servers)
    finally:
        first.close()
        second.close()


def test_a_group_is_upgraded_and_taken_back(group: Group, unique: str, tmp_path: Path) -> None:
    source, sink, file = unique, f"{unique}-lines", tmp_path / "lines"
    make_topic(group.bootstrap, source)
    first, second = group.workers
    group.start(0, 1, old=True)
    config = {"connector.class": "VerifiableSource", "tasks.max": "2", "topic": source, "throughput": "100"}
    wait_for(lambda: all(healthy(worker) for worker in group.workers), 60, lambda: second.log[-2000:])
    once_settled(lambda: first.rest.post("/connectors", json={"name": source, "config": config})).raise_for_status()
    create_sink(first, sink, source, file)
    assert_works(group, source, sink)
    group.replace(0, old=False)
    assert_works(group, source, sink)
    # What workers of two versions ask of each other they may refuse: it is done when they are of one.
    changed = once_settled(lambda: second.rest.put(f"/connectors/{source}/config", json=config | {"throughput": "150"}))
    assert changed.status_code == 200, changed.text
    assert_works(group, source, sink)
    group.replace(1, old=False)
    wait_for(lambda: throughputs(second, source) == ["150", "150"], 60, lambda: f"{throughputs(second, source)}")
    assert_works(group, source, sink)
    group.replace(0, old=True)
    assert_works(group, source, sink)

    once_settled(lambda: first.rest.put(f"/connectors/{source}/stop"))
    first.wait_for_tasks(source, tasks=0)
    seen = sequences(group.bootstrap, source)
    assert len(seen) == 2
    for numbers in seen.values():
        assert_contiguous([b"%d" % number for number in numbers], numbers[-1] + 1)
    offsets = committed_offsets(group.bootstrap, f"group-{unique}-offsets", source)
    assert sorted(offset["seqno"] for offset in offsets.values()) == sorted(each[-1] for each in seen.values())
    sent = Counter(str(number) for numbers in seen.values() for number in numbers)
    wait_for(lambda: Counter(lines(file)) >= sent, 60, lambda: f"{len(lines(file))} of {sent.total()} lines")


def assert_works(group: Group, source: str, sink: str) -> None:
    """Both workers know both connectors, which run on workers that live, and records go on in both tasks."""
    here = {group.at(worker) for worker in group.workers}

    def placed(worker: WorkerProcess) -> bool:
        statuses = [worker.status(source), worker.status(sink)]
        tasks = [task for status in statuses for task in status.get("tasks", [])]
        runs = [*tasks, *(status["connector"] for status in statuses if status)]
        return (
            len(tasks) == 3
            and len(runs) == 5
            and all(run["state"] == "RUNNING" and run["worker_id"] in here for run in runs)
        )

    for worker in group.workers:
        wait_for(
            lambda worker=worker: placed(worker) and healthy(worker),  # type: ignore[misc]
            90,
            lambda worker=worker: f"{worker.status(source)} {worker.status(sink)} {worker.log[-3000:]}",  # type: ignore[misc]
        )
    before = {task: len(numbers) for task, numbers in sequences(group.bootstrap, source).items()}

    def go_on() -> bool:
        now = sequences(group.bootstrap, source)
        return len(now) == 2 and all(len(numbers) > before.get(task, 0) for task, numbers in now.items())

    wait_for(go_on, 30, lambda: f"more than {before}")


def sequences(bootstrap: str, topic: str) -> Mapping[bytes | None, list[int]]:
    """What each task has sent, in order."""
    found: dict[bytes | None, list[int]] = defaultdict(list)
    for record in read_committed(bootstrap, topic):
        found[record.key].append(int(record.value or b""))
    return found


def throughputs(worker: WorkerProcess, connector: str) -> list[str]:
    answer = worker.rest.get(f"/connectors/{connector}/tasks")
    return [task["config"]["throughput"] for task in answer.json()] if answer.status_code == 200 else []


def healthy(worker: WorkerProcess) -> bool:
    return worker.rest.get("/health").status_code == 200


def _environment(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)
