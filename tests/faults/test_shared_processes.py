# SPDX-License-Identifier: Apache-2.0
"""Tasks that share processes (`tasks.per.process`), which are killed, have tasks that fail and tasks that hang."""

from __future__ import annotations

from pathlib import Path

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.polling import wait_for
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 4000


def pids(worker: WorkerProcess, *names: str) -> list[int | None]:
    """The processes of the connectors' first tasks; None for one without."""

    def pid(name: str) -> int | None:
        tasks = worker.rest.get(f"/connectors/{name}/status?expand=spark").json()["tasks"]
        return tasks[0]["spark"]["pid"] if tasks else None

    return [pid(name) for name in names]


def test_each_record_is_written_once_though_shared_processes_are_killed(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    own_worker.properties["tasks.per.process"] = "3"
    own_worker.start()
    names = [f"{unique}-{number}" for number in range(5)]
    for name in names:
        create_numbered(own_worker, name, COUNT, **{"pause.ms": "50"})
    sink = {"connector.class": "FileStreamSink", "topics": names[0], "file": str(tmp_path / "sunk")}
    own_worker.create(f"{unique}-sink", **sink)
    alone = f"{unique}-alone"
    create_numbered(own_worker, alone, COUNT, **{"pause.ms": "50", "tasks.per.process": "1"})
    for name in (*names, alone):
        wait_for_values(broker.bootstrap_servers, name, 200, 90)
    assert len(own_worker.task_processes()) == 3
    for round in range(3):
        for process in own_worker.task_processes() if round else [own_worker.jvm()]:
            process.kill()
        for name in (*names, alone, f"{unique}-sink"):
            own_worker.wait_for_tasks(name)
    for name in (*names, alone):
        assert_exactly_once(broker.bootstrap_servers, name, COUNT, own_worker.properties["offset.storage.topic"], name)
    expected = {str(number) for number in range(COUNT)}
    wait_for(lambda: set((tmp_path / "sunk").read_text().splitlines()) == expected, 60, "the sink's lines")
    assert own_worker.stop() == 0
    assert own_worker.leftovers() == []


def test_a_task_that_fails_or_is_deleted_leaves_the_others_alone(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    own_worker.properties["tasks.per.process"] = "5"
    own_worker.start()
    kept, deleted, failing, paused = names = [f"{unique}-{each}" for each in ("kept", "deleted", "failing", "paused")]
    for name in (kept, deleted, paused):
        create_numbered(own_worker, name, COUNT, **{"pause.ms": "50"})
        own_worker.wait_for_tasks(name)
    create_numbered(own_worker, failing, COUNT, batch="no number")
    own_worker.wait_for_tasks(failing, "FAILED")
    [process] = own_worker.task_processes()
    assert pids(own_worker, kept, deleted, paused) == [process.pid] * 3
    assert f"[{failing}|task-0] task failed: " in own_worker.log
    talking = f"{unique}-talking"
    own_worker.create(talking, **{"connector.class": "talking_source.TalkingSourceConnector", "topic": talking})
    own_worker.wait_for_tasks(talking)
    own_worker.rest.put("/admin/loggers/talking_source", json={"level": "DEBUG"}).raise_for_status()
    wait_for(lambda: f"[{talking}|task-0] poll " in own_worker.log, 30, "a line of a task at its new level")
    own_worker.stop_connector(talking)
    own_worker.delete(deleted)
    assert own_worker.rest.put(f"/connectors/{paused}/pause").status_code == 202
    own_worker.wait_for_tasks(paused, "PAUSED")
    config = own_worker.rest.get(f"/connectors/{failing}/config").json()
    own_worker.rest.put(f"/connectors/{failing}/config", json={**config, "batch": "100"}).raise_for_status()
    own_worker.wait_for_tasks(failing)
    assert own_worker.rest.put(f"/connectors/{paused}/resume").status_code == 202
    for name in (kept, failing, paused):
        assert_exactly_once(broker.bootstrap_servers, name, COUNT, own_worker.properties["offset.storage.topic"], name)
    assert pids(own_worker, kept, failing, paused) == [process.pid] * 3
    for name in set(names) - {deleted}:
        own_worker.stop_connector(name)
    wait_for(lambda: not own_worker.task_processes(), 30, "the end of a process without tasks")


def test_a_task_that_hangs_is_killed_with_its_process_and_the_others_run_again(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    own_worker.properties |= {"tasks.per.process": "2", "task.shutdown.graceful.timeout.ms": "2000"}
    own_worker.start()
    hanging, other = f"{unique}-hanging", f"{unique}-other"
    create_numbered(own_worker, hanging, COUNT, **{"pause.ms": "600000"})
    create_numbered(own_worker, other, COUNT, **{"pause.ms": "50"})
    wait_for_values(broker.bootstrap_servers, other, 200, 90)
    [process] = own_worker.task_processes()
    own_worker.delete(hanging)
    wait_for(lambda: not process.is_running(), 30, "the end of the process with the task that hangs")
    assert_exactly_once(broker.bootstrap_servers, other, COUNT, own_worker.properties["offset.storage.topic"], other)
    own_worker.wait_for_tasks(other)
