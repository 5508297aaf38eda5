# SPDX-License-Identifier: Apache-2.0
"""Topics that connectors use (KIP-558), and the reset of them while tasks go on."""

from __future__ import annotations

from pathlib import Path

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import create_numbered
from tests.support.group_of_workers import Node, Workers
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic, numbers, send, wait_for_lines
from tests.support.worker_process import WorkerProcess


def wait_for_topics(worker: WorkerProcess, name: str, *topics: str) -> None:
    shown = lambda: worker.rest.get(f"/connectors/{name}/topics").json()  # noqa: E731
    wait_for(lambda: shown() == {name: {"topics": list(topics)}}, 30, lambda: f"{topics}: {shown()}")


def reset(worker: WorkerProcess, name: str) -> None:
    assert worker.rest.put(f"/connectors/{name}/topics/reset").status_code == 202
    wait_for_topics(worker, name)


def test_a_source_goes_on_after_a_reset(worker: WorkerProcess, unique: str) -> None:
    create_numbered(worker, unique, 1_000_000, batch="1", **{"pause.ms": "50"})
    wait_for_topics(worker, unique, unique)
    # A task that is paused keeps its process, and writes nothing that could be reported.
    worker.rest.put(f"/connectors/{unique}/pause")
    worker.wait_for_tasks(unique, "PAUSED")
    reset(worker, unique)
    worker.rest.put(f"/connectors/{unique}/resume")
    wait_for_topics(worker, unique, unique)


def test_a_sink_goes_on_after_a_reset(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 1))
    create_sink(worker, unique, unique, file)
    wait_for_lines(file, 1)
    wait_for_topics(worker, unique, unique)
    reset(worker, unique)
    send(bootstrap, unique, numbers(1, 1))
    wait_for_lines(file, 2)
    wait_for_topics(worker, unique, unique)


def test_a_reset_reaches_the_tasks_of_all_workers(broker: EmbeddedBroker) -> None:
    """Whichever worker serves it."""
    workers = Workers(broker.bootstrap_servers)
    try:
        nodes = [workers.start(), workers.start()]
        workers.put("c", 2)
        owners = {task["worker_id"] for task in workers.wait_for_tasks("c", 2)}
        assert owners == {node.address for node in nodes}
        tasks = {node: next(task for task in node.launcher.launched if not task.await_stopped(0)) for node in nodes}
        for runs, serves in (nodes, nodes[::-1]):
            for node, task in tasks.items():
                task.use("t" if node is runs else "u")
            wait_for(lambda: [shown(node) for node in nodes] == [["t", "u"]] * 2, 30, "both topics")
            assert serves.http.put("/connectors/c/topics/reset").status_code == 202
            wait_for(lambda: [shown(node) for node in nodes] == [[], []], 30, "the reset")
            wait_for(lambda: all(not task.reported_topics for task in tasks.values()), 30, "its word to all tasks")
            tasks[runs].use("t")
            wait_for(lambda: [shown(node) for node in nodes] == [["t"]] * 2, 30, "the topic in use")
            assert serves.http.put("/connectors/c/topics/reset").status_code == 202
            wait_for(lambda: [shown(node) for node in nodes] == [[], []], 30, "the reset")
            wait_for(lambda: all(not task.reported_topics for task in tasks.values()), 30, "its word to all tasks")
    finally:
        workers.close()


def shown(node: Node) -> list[str]:
    answer = node.http.get("/connectors/c/topics")
    topics: list[str] = answer.json()["c"]["topics"] if answer.status_code == 200 else []
    return topics
