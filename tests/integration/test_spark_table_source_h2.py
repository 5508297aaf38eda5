# SPDX-License-Identifier: Apache-2.0
"""SparkTableSource over another database: H2, whose names need quotes and whose clock is finer than Spark's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.postgres import h2_url
from tests.support.topics import committed_offsets, wait_for_values
from tests.support.worker_process import WorkerProcess, mistakes

SOURCE = {
    "connector.class": "SparkTableSource",
    "spark.format": "jdbc",
    "tasks.max": "1",
    "table": '"Orders"',
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "poll.interval.ms": "200",
}
FINE = {"mode": "timestamp", "timestamp.column": "changed"}
SPLIT = {
    **{"mode": "timestamp+incrementing", "timestamp.column": "seen", "incrementing.column": "nr"},
    **{"partition.column": "Nr", "partition.count": "2", "where": "\"order\" <> 'c'", "key.columns": "order"},
}


class Script:
    """What each connection runs: it makes the table, and sees to it that all rows are there."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._statements = [
            'CREATE TABLE IF NOT EXISTS "Orders" ("Nr" BIGINT PRIMARY KEY, "order" VARCHAR(9), "changed" TIMESTAMP(9), '
            '"seen" TIMESTAMP(6) WITH TIME ZONE)'
        ]

    def add(self, number: int, order: str, changed: str, seen: str) -> None:
        row = f"({number}, '{order}', TIMESTAMP '{changed}', TIMESTAMP WITH TIME ZONE '{seen}')"
        self._statements.append(f'MERGE INTO "Orders" VALUES {row}')
        draft = self.file.with_suffix(".draft")
        draft.write_text("".join(f"{statement};\n" for statement in self._statements))
        draft.rename(self.file)


def rows(broker: EmbeddedBroker, topic: str, count: int) -> list[int]:
    found = wait_for_values(broker.bootstrap_servers, topic, count)
    return [json.loads(value or b"null")["Nr"] for value in found]


def offsets(worker: WorkerProcess, broker: EmbeddedBroker, connector: str) -> list[Any]:
    found = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], connector)
    return [found[partition] for partition in sorted(found)]


def test_names_in_quotes_moments_with_zones_and_times_that_are_finer_than_sparks(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    script = Script(tmp_path / "orders.sql")
    script.add(1, "a", "2024-03-31 02:30:00.123456700", "2024-10-27 02:30:00.000001+02:00")
    script.add(2, "b", "2024-03-31 02:30:00.123456800", "2024-10-27 02:30:00.000001+01:00")
    script.add(3, "c", "2024-03-31 02:30:00.123457900", "2024-10-27 02:30:00.000001+01:00")
    source = SOURCE | {"spark.option.url": h2_url(unique, script.file)}
    found = mistakes(
        jdbc_worker, source | FINE | {"mode": SPLIT["mode"], "incrementing.column": "Nr", "topic": "never"}
    )
    assert list(found) == ["timestamp.column"] and "its seconds have 9 digits" in found["timestamp.column"][0]
    fine, split = f"{unique}-fine", f"{unique}-split"
    jdbc_worker.create(fine, **source | FINE | {"topic": fine})
    jdbc_worker.create(split, **source | SPLIT | {"topic": split})
    assert rows(broker, fine, 3) == [1, 2, 3]
    assert sorted(rows(broker, split, 2)) == [1, 2]
    # What is new comes, and nothing again: the last row is later than its place says, by nanoseconds.
    script.add(4, "d", "2024-03-31 02:30:00.123458100", "2024-10-27 02:30:00.000002+01:00")
    assert rows(broker, fine, 4) == [1, 2, 3, 4]
    assert sorted(rows(broker, split, 3)) == [1, 2, 4]
    assert offsets(jdbc_worker, broker, fine) == [{"timestamp": "2024-03-31T02:30:00.123458"}]
    assert offsets(jdbc_worker, broker, split) == [
        {"timestamp": "2024-10-27T01:30:00.000002Z", "incrementing": 4},
        {"timestamp": "2024-10-27T00:30:00.000001Z", "incrementing": 1},
    ]
    for name in (fine, split):
        jdbc_worker.delete(name)
