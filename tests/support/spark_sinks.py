# SPDX-License-Identifier: Apache-2.0
"""SparkSink connectors, what they have written, and the moments at which it is worth killing them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pyarrow.dataset as ds
from confluent_kafka import KafkaError, Producer

from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess, once_settled

ORIGIN = "topic,partition,offset"


def create_spark_sink(worker: WorkerProcess, name: str, topics: str, **config: str) -> None:
    """One task that writes every half second, unless ``config`` says otherwise."""
    defaults = {
        "connector.class": "SparkSink",
        "tasks.max": "1",
        "topics": topics,
        "rotate.interval.ms": "500",
        "consumer.override.max.poll.records": "1000",
    }
    worker.create(name, **{**defaults, **config})


def walked(path: Path) -> Iterator[Path]:
    """All files below, though directories come and go meanwhile."""
    for directory, _, names in os.walk(path):
        yield from (Path(directory) / name for name in names)


def files(path: Path, suffix: str) -> list[Path]:
    """What a reader finds."""
    hidden = {"_headrace", "_temporary"}
    return sorted(file for file in walked(path) if hidden.isdisjoint(file.parts) and file.name.endswith(suffix))


def json_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files(path, ".json") for line in file.read_text().splitlines()]


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    """With the columns that the directories are named by."""
    found = [str(file) for file in files(path, ".parquet")]
    if not found:
        return []
    dataset = ds.dataset(found, format="parquet", partitioning="hive", partition_base_dir=str(path))
    return list(dataset.to_table().to_pylist())


def wait_for_rows(
    rows: Callable[[], list[dict[str, Any]]], count: int, worker: WorkerProcess, connector: str, seconds: float = 60
) -> list[dict[str, Any]]:
    def state() -> str:
        return f"{worker.log[-3000:]}\n{count} rows: {len(rows())} are there; {worker.status(connector)}"

    wait_for(lambda: len(rows()) >= count, seconds, state, pause=0.1)  # each look reads all files
    return rows()


def task_pid(worker: WorkerProcess, connector: str) -> int:
    """Of the process that runs its one task."""

    def pid() -> int | None:
        (task,) = worker.rest.get(f"/connectors/{connector}/status?expand=spark").json().get("tasks") or [{}]
        return (task.get("spark") or {}).get("pid")

    return wait_for(pid, 60, lambda: f"a process of {connector}: {worker.status(connector)}")


def kill_task(worker: WorkerProcess, connector: str) -> None:
    """SIGKILL; a successor is there when this returns."""
    pid = task_pid(worker, connector)
    psutil.Process(pid).kill()
    wait_for(lambda: task_pid(worker, connector) != pid, 60, "another process")


def change_offsets(worker: WorkerProcess, connector: str, *offsets: dict[str, Any]) -> httpx2.Response:
    """Stop a connector, if it runs, and give it other offsets, or none; it stays stopped."""
    worker.stop_connector(connector)
    method, body = ("PATCH", {"json": {"offsets": list(offsets)}}) if offsets else ("DELETE", {})
    headers = {"Accept": "application/json"}
    return once_settled(
        lambda: worker.rest.request(method, f"/connectors/{connector}/offsets", headers=headers, **body)
    )


def offset(topic: str, offset: int, partition: int = 0) -> dict[str, Any]:
    return {"partition": {"kafka_topic": topic, "kafka_partition": partition}, "offset": {"kafka_offset": offset}}


class Numbers:
    """Sends JSON with 0, 1, 2, ... in the background, to the partitions of a topic in turn."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, per_second: int = 400) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
        self._topic = topic
        self._partitions = partitions
        self._pause = 1 / per_second
        self._over = threading.Event()
        self._reports: list[KafkaError | None] = []
        self.sent = 0

    @contextmanager
    def flowing(self) -> Iterator[None]:
        # Of a partition that it does not know yet, the client says that there is none.
        wait_for(lambda: len(self._partitions_with_leaders()) == self._partitions, 60, "the topic")
        thread = threading.Thread(target=self._send, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()
        assert len(self._reports) == self.sent, f"{len(self._reports)} of {self.sent} were delivered to the broker"
        assert [error for error in self._reports if error is not None] == []

    def assert_exactly_once(self, rows: list[dict[str, Any]]) -> None:
        """Record by record: each number is there, once, and so is each place in the topic."""
        assert sorted(row["n"] for row in rows) == list(range(self.sent))
        places = {(row["kafka_partition"], row["kafka_offset"]) for row in rows}
        assert len(places) == self.sent
        for partition in range(self._partitions):
            count = len(range(partition, self.sent, self._partitions))
            assert {offset for where, offset in places if where == partition} == set(range(count))

    def _partitions_with_leaders(self) -> list[int]:
        found = self._producer.list_topics(self._topic, 10).topics[self._topic].partitions
        return [number for number, partition in found.items() if partition.leader >= 0]

    def _send(self) -> None:
        while not self._over.wait(self._pause):
            value = b'{"n":%d,"tens":%d}' % (self.sent, self.sent // 10 % 3)
            at = self.sent % self._partitions
            self._producer.produce(self._topic, value, partition=at, on_delivery=lambda e, _: self._reports.append(e))
            self.sent += 1
            self._producer.poll(0)
        self._producer.flush(60)
