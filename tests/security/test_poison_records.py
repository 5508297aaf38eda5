# SPDX-License-Identifier: Apache-2.0
"""A client that may write to internal topics writes invalid records: the worker continues, and starts with them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from random import Random

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.clients import client_config
from tests.support.mutated_records import CONFIG_RECORDS, OFFSET_RECORDS, STATUS_RECORDS, Record, mutated
from tests.support.polling import wait_for
from tests.support.topics import values
from tests.support.worker_process import WorkerProcess, once_settled

CONFIG = {"connector.class": "VerifiableSource", "tasks.max": "1", "throughput": "20"}
DEEP = b"[" * 100_000
BY_HAND: Sequence[tuple[str, Record]] = (
    ("config", (b"target-state-good", b'{"state":["x"]}')),
    ("config", (b"connector-good", DEEP)),
    ("config", (b"commit-good", b'{"tasks":' + b"9" * 100_000 + b"}")),
    ("config", (b"session-key", b'{"key":{},"algorithm":[],"creation-timestamp":"\\ud800"}')),
    ("status", (b"status-task-good-0", b'{"state":["x"],"generation":{}}')),
    ("status", (b"status-connector-good", DEEP)),
    ("status", (b"status-connector-\xed\xa0\x80", b'{"state":"RUNNING","worker_id":"\\ud800","generation":1}')),
    ("offset", (DEEP, DEEP)),
    ("offset", (b'["good",{"id":"\\ud800"}]', b'{"seqno":NaN}')),
)
CASES = 150
"""Of each topic."""


def poison(worker: WorkerProcess, broker: EmbeddedBroker, seed: int) -> None:
    random = Random(seed)
    kinds = (("config", CONFIG_RECORDS), ("status", STATUS_RECORDS), ("offset", OFFSET_RECORDS))
    producer = client_config.producer({"bootstrap.servers": broker.bootstrap_servers})
    wanted = [*BY_HAND, *((kind, mutated(random, records)) for kind, records in kinds for _ in range(CASES))]
    for kind, (key, value) in wanted:
        producer.produce(worker.properties[f"{kind}.storage.topic"], value, key)
    assert producer.flush(30) == 0


def is_well(worker: WorkerProcess, broker: EmbeddedBroker, name: str) -> None:
    """It is healthy, the connector of before writes on, and one that is made now runs."""
    assert worker.launched.poll() is None, worker.log[-3000:]
    worker.wait_for_tasks("good")
    before = len(values(broker.bootstrap_servers, worker.properties["group.id"]))
    worker.create(name, **{**CONFIG, "topic": name})
    worker.wait_for_tasks(name)
    once_settled(lambda: worker.rest.delete(f"/connectors/{name}"))
    wait_for(lambda: len(values(broker.bootstrap_servers, worker.properties["group.id"])) > before, 60, "records")
    health = worker.rest.get("/health")
    assert (health.status_code, health.json()["message"]) == (
        200,
        "Worker has completed startup and is ready to handle requests.",
    )
    for expand in ("status", "info"):
        assert "good" in worker.rest.get("/connectors", params={"expand": expand}).json()


def test_mutated_records_in_all_internal_topics(broker: EmbeddedBroker, tmp_path: Path) -> None:
    group = f"g-{uuid.uuid4().hex[:8]}"
    with WorkerProcess(tmp_path, broker.bootstrap_servers, **{"group.id": group}) as worker:
        worker.create("good", **{**CONFIG, "topic": group})
        worker.wait_for_tasks("good")
        poison(worker, broker, 1)
        is_well(worker, broker, f"{group}-behind")
        assert worker.stop() == 0
        poison(worker, broker, 2)
        worker.start()
        is_well(worker, broker, f"{group}-after")
        seen = values(broker.bootstrap_servers, group)
        assert len(seen) == len(set(seen)), "records were doubled"
