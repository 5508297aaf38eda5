# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of a worker that redrives dead letters, at several points: each letter is redriven once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.faults.redrives import CHAIN, JSON, begin_redrive, passed, redrive_job, send_letters
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess


@dataclass(frozen=True)
class Load:
    """Letters, the numbers of them that a redrive has passed when its worker is killed, and an edited chain."""

    count: int
    points: Sequence[int]
    chain: Mapping[str, str]
    written: Callable[[bytes], bytes]
    """Returns what is written for a letter's value."""


# A batch through plugins' code takes a process of its own, seconds long: there are few.
LOADS = (
    Load(30_000, (1, 9_000, 18_000), {}, lambda value: value),
    Load(6_000, (1, 1_000, 2_000), CHAIN, lambda value: b'{"line":"%s"}' % value),
)


@pytest.mark.parametrize("load", LOADS, ids=["as they were", "by an edited chain"])
def test_each_letter_is_redriven_once(
    load: Load, own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, dead = broker.bootstrap_servers, f"{unique}-dead"
    for topic in (unique, dead):
        make_topic(bootstrap, topic)
    values = [b"%d" % n for n in range(load.count)]
    send_letters(bootstrap, dead, unique, values)
    own_worker.start()
    queue = {"errors.deadletterqueue.topic.name": dead, "errors.tolerance": "all"}
    create_sink(own_worker, unique, unique, tmp_path / "out", **queue, **JSON)
    edit = {"config": load.chain} if load.chain else {}
    kills = 0
    # At first every second letter stays, and is written again in the transactions of the others.
    for selected in ({"filter": ["stage=VALUE_CONVERTER"]}, {}):
        body = {**selected, **edit}
        for point in load.points:
            begin_redrive(own_worker, unique, body)
            if _passes(own_worker, unique, point):
                kills += 1
                own_worker.kill()
                own_worker.start(path=f"/connectors/{unique}")
        begin_redrive(own_worker, unique, body)
        wait_for(lambda: redrive_job(own_worker, unique)["state"] != "RUNNING", 180, "the redrive's end")
        assert redrive_job(own_worker, unique)["state"] == "COMPLETED", redrive_job(own_worker, unique)
    assert kills >= 3
    assert Counter(wait_for_values(bootstrap, unique, len(values))) == Counter(map(load.written, values))
    found = own_worker.rest.get(f"/connectors/{unique}/dead-letters", params={"limit": 0}).json()
    assert (found["pending"], found["complete"]) == (0, True)


def _passes(worker: WorkerProcess, name: str, point: int) -> bool:
    """Wait until so many letters are passed; return False if the redrive has ended before."""

    def there() -> bool:
        job = redrive_job(worker, name)
        return job["state"] != "RUNNING" or passed(job) >= point

    wait_for(there, 180, f"{point} letters to be passed")
    return redrive_job(worker, name)["state"] == "RUNNING"
