# SPDX-License-Identifier: Apache-2.0
"""Dead letters that a test has written, and their redrives by real workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Producer

from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

P = "__connect.errors."
JSON = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
CHAIN = {
    "value.converter": "StringConverter",
    "transforms": "h",
    "transforms.h.type": "HoistField$Value",
    "transforms.h.field": "line",
}
"""An edited chain, by which a letter becomes what JSON reads: its text in the field ``line``."""


def send_letters(bootstrap: str, dead: str, topic: str, values: Sequence[bytes]) -> None:
    """Send a letter about a record of ``topic`` for each value; the stages of their failures take turns."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number, value in enumerate(values):
        stage = (b"VALUE_CONVERTER", b"TRANSFORMATION")[number % 2]
        producer.produce(dead, value, headers=[(P + "topic", topic.encode()), (P + "stage", stage)])
        producer.poll(0)
    assert producer.flush(60) == 0


def begin_redrive(worker: WorkerProcess, name: str, body: Mapping[str, Any]) -> None:
    def accepted() -> bool:
        return worker.rest.post(f"/connectors/{name}/dead-letters/redrive", json=body).status_code == 202

    wait_for(accepted, 60, "the redrive to begin")


def redrive_job(worker: WorkerProcess, name: str) -> dict[str, Any]:
    found: dict[str, Any] = worker.rest.get(f"/connectors/{name}/dead-letters/redrive").json()
    return found


def passed(job: Mapping[str, Any]) -> int:
    return int((job["counts"] or {}).get("passed", 0))
