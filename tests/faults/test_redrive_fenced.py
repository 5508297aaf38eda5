# SPDX-License-Identifier: Apache-2.0
"""Redrives of one connector on two workers of a group: the second fences the first, each letter is redriven once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.faults.redrives import CHAIN, JSON, begin_redrive, passed, redrive_job, send_letters
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess

COUNT = 12_000
PASSED = 1_000
"""Letters that the first redrive has passed when the second one begins."""


@pytest.fixture
def pair(broker: EmbeddedBroker, unique: str, tmp_path: Path) -> Iterator[Sequence[WorkerProcess]]:
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        own = {"group.id": f"group-{unique}", "scheduled.rebalance.max.delay.ms": "1000"}
        made.append(WorkerProcess(tmp_path / name, broker.bootstrap_servers, **own))
    try:
        for worker in made:
            worker.start(path="/connectors")
        yield made
    finally:
        for worker in made:
            worker.close()


def test_the_second_fences_the_first(
    pair: Sequence[WorkerProcess], broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    first, second = pair
    bootstrap, dead = broker.bootstrap_servers, f"{unique}-dead"
    for topic in (unique, dead):
        make_topic(bootstrap, topic)
    values = [b"%d" % n for n in range(COUNT)]
    send_letters(bootstrap, dead, unique, values)
    queue = {"errors.deadletterqueue.topic.name": dead, "errors.tolerance": "all"}
    create_sink(first, unique, unique, tmp_path / "out", **queue, **JSON)
    begin_redrive(first, unique, {"config": CHAIN})
    wait_for(lambda: passed(redrive_job(first, unique)) >= PASSED, 120, "letters to be passed by the first redrive")
    begin_redrive(second, unique, {"config": CHAIN})
    for worker in pair:
        wait_for(lambda worker=worker: redrive_job(worker, unique)["state"] != "RUNNING", 240, "both to end")  # type: ignore[misc]
    fenced, completed = redrive_job(first, unique), redrive_job(second, unique)
    assert fenced["state"] == "FENCED", fenced
    assert "another redrive of the connector's dead letters has begun, on this or another worker" in fenced["error"]
    assert completed["state"] == "COMPLETED", completed
    # Neither has counted what the other has committed: in all it is each letter once.
    assert passed(fenced) + passed(completed) == COUNT
    found = read_committed(bootstrap, unique)
    assert [each.value for each in found] == [b'{"line":"%s"}' % value for value in values]
    assert [each.offset for each in found] == sorted({each.offset for each in found})
    marks = [dict(each.headers)["headrace.redriven"] or b"" for each in found]
    assert marks == [_mark(unique, dead, offset) for offset in range(COUNT)]
    shown = second.rest.get(f"/connectors/{unique}/dead-letters", params={"limit": 0}).json()
    assert (shown["pending"], shown["complete"]) == (0, True)


def _mark(connector: str, dead: str, offset: int) -> bytes:
    text = f'{{"connector":"{connector}","count":1,"topic":"{dead}","partition":0,"offset":{offset}}}'
    return text.encode()
