# SPDX-License-Identifier: Apache-2.0
"""A broker and a worker with a handful of connectors, whose names, records and errors are the same at each run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import make_topic
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess

_COUNT: Final = 40
_NO_JSON: Final = {7: b"Invoice 1008, to be corrected", 23: b"1024;Hartmann;118.90"}
"""Values that the sinks' converter cannot read, by offset."""
_BEGUN_MS: Final = 1_780_300_800_000
"""The time of the first invoice: 2026-06-01 08:00 UTC."""
_CUSTOMERS: Final = ("Hartmann", "Lindqvist", "Moreau", "Okafor", "Tanaka")
_JSON: Final = {
    "value.converter": "JsonConverter",
    "value.converter.schemas.enable": "false",
    "value.converter.decimal.format": "NUMERIC",
}
_WORKER: Final = {
    "group.id": "headrace",
    "plugin.path": "",
    # The name that the pages show; a single worker has no other that would call it by this name.
    "rest.advertised.host.name": "worker-1",
    "rest.advertised.port": "8083",
    **_JSON,
}
_ORDERS: Final = {"connector.class": "OrdersSource", "topic": "orders", **_JSON}
CONNECTORS: Final = {
    "orders": {**_ORDERS, "throughput": "20", "transforms": "renamed", **{
        "transforms.renamed.type": "ReplaceField$Value",
        "transforms.renamed.renames": "id:number",
    }},
    "orders-archive": {"connector.class": "FileStreamSink", "topics": "orders", "file": "orders.txt"},
    "invoices-archive": {
        "connector.class": "FileStreamSink",
        "topics": "invoices",
        "file": "invoices.txt",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "invoices-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
        **_JSON,
    },
    "ledger": {"connector.class": "FileStreamSink", "topics": "invoices", "file": "ledger.txt", **_JSON},
    "clicks": {"connector.class": "VerifiableSource", "topic": "clicks", "throughput": "5"},
}  # fmt: skip
FAILED: Final = "ledger"
LETTERS: Final = "invoices-archive"


@contextmanager
def scene(place: Path) -> Iterator[WorkerProcess]:
    """Run broker and worker, with their files in ``place``; yield the worker once all connectors are as described."""
    with EmbeddedBroker(place / "broker", port=0) as broker:
        brokers = broker.bootstrap_servers
        worker = WorkerProcess(place, brokers, **_WORKER)
        # In its own directory, where connectors write files whose paths are relative.
        worker.prefix = ("sh", "-c", 'cd "$0" && exec "$@"', str(place))
        with worker:
            worker.await_answer(path="/connectors")
            _write_invoices(brokers)
            for name, config in CONNECTORS.items():
                worker.create(name, **config)
            for name in CONNECTORS:
                worker.wait_for_tasks(name, "FAILED" if name == FAILED else "RUNNING")
            worker.rest.put("/connectors/clicks/pause").raise_for_status()
            wait_for(lambda: worker.status("clicks")["connector"]["state"] == "PAUSED", 60, "the pause")
            wait_for(lambda: len(read_committed(brokers, "invoices-dead")) == len(_NO_JSON), 60, "the dead letters")
            yield worker


def _write_invoices(brokers: str) -> None:
    for topic in ("invoices", "invoices-dead"):
        make_topic(brokers, topic, **{"retention.ms": "-1"})  # the invoices are older than what brokers keep
    producer = Producer({"bootstrap.servers": brokers})
    for offset in range(_COUNT):
        at = _BEGUN_MS + offset * 61_000
        producer.produce("invoices", _invoice(offset), str(1001 + offset), partition=0, timestamp=at)
    assert producer.flush(30) == 0


def _invoice(offset: int) -> bytes:
    customer = _CUSTOMERS[offset % len(_CUSTOMERS)]
    amount = round(18.9 + offset * 37.45 % 400, 2)
    invoice = {"number": 1001 + offset, "customer": customer, "amount": amount, "paid": offset % 3 == 0}
    return _NO_JSON.get(offset, json.dumps(invoice).encode())
