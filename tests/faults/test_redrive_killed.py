# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of a worker that redrives dead letters, at several points: each letter is redriven once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 30_000
POINTS = (1, 9_000, 18_000)
"""Letters that a redrive has passed when its worker is killed."""
P = "__connect.errors."


def test_each_letter_is_redriven_once(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, dead = broker.bootstrap_servers, f"{unique}-dead"
    for topic in (unique, dead):
        make_topic(bootstrap, topic)
    values = [b"%d" % n for n in range(COUNT)]
    _send_letters(bootstrap, dead, unique, values)
    own_worker.start()
    queue = {"errors.deadletterqueue.topic.name": dead, "errors.tolerance": "all"}
    create_sink(own_worker, unique, unique, tmp_path / "out", **queue)
    kills = 0
    # At first every second letter stays, and is written again in the transactions of the others.
    for body in ({"filter": ["stage=VALUE_CONVERTER"]}, {}):
        for point in POINTS:
            _begin(own_worker, unique, body)
            if _passes(own_worker, unique, point):
                kills += 1
                own_worker.kill()
                own_worker.start(path=f"/connectors/{unique}")
        _begin(own_worker, unique, body)
        wait_for(lambda: _job(own_worker, unique)["state"] != "RUNNING", 180, "the redrive's end")
        assert _job(own_worker, unique)["state"] == "COMPLETED", _job(own_worker, unique)
    assert kills >= 3
    assert Counter(wait_for_values(bootstrap, unique, len(values))) == Counter(values)
    found = own_worker.rest.get(f"/connectors/{unique}/dead-letters", params={"limit": 0}).json()
    assert (found["pending"], found["complete"]) == (0, True)


def _send_letters(bootstrap: str, dead: str, topic: str, values: Sequence[bytes]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number, value in enumerate(values):
        stage = (b"VALUE_CONVERTER", b"TRANSFORMATION")[number % 2]
        producer.produce(dead, value, headers=[(P + "topic", topic.encode()), (P + "stage", stage)])
        producer.poll(0)
    assert producer.flush(60) == 0


def _begin(worker: WorkerProcess, name: str, body: dict[str, Any]) -> None:
    def accepted() -> bool:
        return worker.rest.post(f"/connectors/{name}/dead-letters/redrive", json=body).status_code == 202

    wait_for(accepted, 60, "the redrive to begin")


def _job(worker: WorkerProcess, name: str) -> dict[str, Any]:
    found: dict[str, Any] = worker.rest.get(f"/connectors/{name}/dead-letters/redrive").json()
    return found


def _passes(worker: WorkerProcess, name: str, point: int) -> bool:
    """Wait until so many letters are passed; return False if the redrive has ended before."""

    def there() -> bool:
        job = _job(worker, name)
        return job["state"] != "RUNNING" or ((job["counts"] or {}).get("passed", 0) >= point)

    wait_for(there, 180, f"{point} letters to be passed")
    return _job(worker, name)["state"] == "RUNNING"
