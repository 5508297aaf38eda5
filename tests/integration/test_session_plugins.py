# SPDX-License-Identifier: Apache-2.0
"""What plugins bring for Spark: formats written in Python, and functions for queries that no connector names."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import make_topic, send
from tests.support.spark_sinks import create_spark_sink
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 50


def test_formats_written_in_python(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    """One that a plugin registers is written, and read as one that Spark finds by the name of its module."""
    bootstrap, shelf = broker.bootstrap_servers, tmp_path / "shelf"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b'{"n":%d}' % n for n in range(COUNT)])
    out = {"spark.format": "shelf", "path": str(shelf), "value.schema": "n BIGINT"}
    create_spark_sink(worker, f"{unique}-out", unique, **out)

    def written() -> list[int]:
        return [int(line) for file in shelf.glob("*.txt") for line in file.read_text().splitlines()]

    wait_for(lambda: len(written()) >= COUNT, 60, lambda: f"{worker.status(f'{unique}-out')}\n{worker.log[-3000:]}")
    assert sorted(written()) == list(range(COUNT))
    worker.delete(f"{unique}-out")
    query = f"SELECT under_fire('{tmp_path}', 'note:49', CAST(value.n AS STRING)) AS value FROM records"
    config = {
        "connector.class": "SparkTableSource",
        "spark.format": "bookcase",
        "path": str(shelf),
        "tasks.max": "1",
        "topic": f"{unique}-in",
        "mode": "incrementing",
        "incrementing.column": "n",
        "transforms": "q",
        "transforms.q.type": "SparkSql",
        "transforms.q.query": query,
    }
    worker.create(f"{unique}-in", **config)
    found = [json.loads(value or b"") for value in wait_for_values(bootstrap, f"{unique}-in", COUNT)]
    assert found == list(range(COUNT))
    assert (tmp_path / "note-0").exists(), "a function of the query that a plugin has registered"
    worker.delete(f"{unique}-in")
