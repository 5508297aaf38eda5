# SPDX-License-Identifier: Apache-2.0
"""Previews by workers of every kind: a follower of a group, a standalone worker, and one that is stopped meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.previews import STUBBORN, lines_config, marked, preview, runs_a_job, sandboxes
from tests.support.polling import wait_for
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess


@pytest.fixture
def follower(broker: EmbeddedBroker, tmp_path: Path, unique: str) -> Iterator[tuple[WorkerProcess, WorkerProcess]]:
    """A worker that does not lead its group, and the one that does."""
    workers = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        workers.append(WorkerProcess(tmp_path / name, broker.bootstrap_servers, **{"group.id": unique}))

    def roles() -> list[WorkerProcess]:
        answers = {each.rest.put("/connectors/none/pause?forward=false").status_code: each for each in workers}
        return [answers[409], answers[404]] if answers.keys() == {404, 409} else []

    try:
        for each in workers:
            each.launch()
        for each in workers:
            each.await_answer(path="/connectors")
        found = wait_for(roles, 60, "a leader and a follower")
        yield found[0], found[1]
    finally:
        for each in workers:
            each.close()


def test_a_follower_previews_by_itself(
    follower: tuple[WorkerProcess, WorkerProcess], broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    asked, leader = follower
    file = tmp_path / "lines.txt"
    file.write_text("one\ntwo\n")
    config = lines_config(unique, file)
    leader.create(unique, **{name: text for name, text in config.items() if name != "name"})
    wait_for_values(broker.bootstrap_servers, unique, 2)
    committed = {"offsets": [{"partition": {"filename": str(file)}, "offset": {"position": 8}}]}
    wait_for(lambda: asked.rest.get(f"/connectors/{unique}/offsets").json() == committed, 60, "the offsets")
    asked.stop_connector(unique)
    # The leader may remove a task's status before its worker has ended it, which would still copy the next line.
    wait_for(lambda: not any(each.task_processes() for each in follower), 60, "the ends of the tasks' processes")
    with file.open("a") as appending:
        appending.write("three\n")
    answer = asked.rest.post(f"/connectors/{unique}/preview", params={"records": 1})
    assert answer.status_code == 200, answer.text
    assert [record["polled"]["value"]["value"] for record in answer.json()["records"]] == ["three"]

    mark = f"mark-{unique}"
    with ThreadPoolExecutor() as pool:
        hanging = {"name": f"{unique}-hangs", "connector.class": STUBBORN, "hang": "poll", "mark": mark}
        answering = pool.submit(preview, asked, hanging, timeout=12)
        wait_for(lambda: marked(mark), 12, "the child of the connector")
        assert sandboxes(asked) and not sandboxes(leader)
        assert answering.result().json()["end"] == "killed"
    assert not marked(mark)


def test_a_standalone_worker(broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    lines, connector, offsets = tmp_path / "lines.txt", tmp_path / "lines.properties", tmp_path / "offsets.json"
    lines.write_text("one\n")
    config = lines_config(unique, lines)
    connector.write_text("".join(f"{name}={text}\n" for name, text in config.items()))
    properties = {"offset.storage.file.filename": str(offsets), "exactly.once.source.support": "disabled"}
    worker = WorkerProcess(tmp_path, broker.bootstrap_servers, **properties)
    worker.command = ("standalone", str(connector))
    with worker:
        wait_for_values(broker.bootstrap_servers, unique, 1)
        wait_for(lambda: worker.rest.get(f"/connectors/{unique}/offsets").json()["offsets"], 60, "the offsets")
        worker.stop_connector(unique)
        with lines.open("a") as appending:
            appending.write("two\n")
        before = worker.rest.get(f"/connectors/{unique}/offsets").json()
        for answer, records in (
            (worker.rest.post(f"/connectors/{unique}/preview", params={"records": 1}), ["two"]),
            (preview(worker, {**config, "name": f"{unique}-new"}, records=2), ["one", "two"]),
        ):
            assert answer.status_code == 200, answer.text
            assert [record["polled"]["value"]["value"] for record in answer.json()["records"]] == records
        assert worker.rest.get(f"/connectors/{unique}/offsets").json() == before
        assert not sandboxes(worker)


def test_an_orderly_stop_ends_a_preview_and_answers_it(broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    mark = f"mark-{unique}"
    config = {"name": unique, "connector.class": STUBBORN, "hang": "poll", "mark": mark}
    with WorkerProcess(tmp_path, broker.bootstrap_servers, **{"group.id": unique}) as worker:
        worker.await_answer(path="/connectors")
        with ThreadPoolExecutor() as pool:
            answering = pool.submit(preview, worker, config, timeout=60)
            wait_for(lambda: marked(mark), 50, "the child of the connector")
            assert sandboxes(worker)
            assert worker.stop() == 0
            answer = answering.result()
        assert not marked(mark) and not any(map(runs_a_job, worker.leftovers()))
        assert answer.status_code == 200, answer.text
        shown = answer.json()
        assert (shown["end"], shown["stage"], len(shown["records"])) == ("killed", "SourceTask.poll", 1)
        assert shown["error"]["message"] == "The preview was cancelled, since the worker stops"
