# SPDX-License-Identifier: Apache-2.0
"""examples/kafka-to-parquet runs as it is, but for where it reads and writes."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.sinks import make_topic, send
from tests.support.spark_sinks import files, parquet_rows, wait_for_rows
from tests.support.worker_process import ROOT, WorkerProcess

EXAMPLE = ROOT / "examples" / "kafka-to-parquet"


def orders(count: int) -> list[bytes | None]:
    made = (
        {"id": n, "region": ("eu", "us")[n % 2], "amount": n + 0.5, "changed_at": f"2026-01-0{1 + n % 2}T10:00:00Z"}
        for n in range(count)
    )
    return [json.dumps(order).encode() for order in made]


def test_orders_are_found_by_day_and_region(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    example = json.loads((EXAMPLE / "connector.json").read_text())
    config = {**example["config"], "topics": unique, "path": str(tmp_path), "rotate.interval.ms": "1000"}
    assert config.keys() == example["config"].keys()
    make_topic(broker.bootstrap_servers, unique, 2)
    send(broker.bootstrap_servers, unique, orders(100))
    worker.create(unique, **config)
    rows = wait_for_rows(lambda: parquet_rows(tmp_path), 100, worker, unique)
    assert sorted((row["id"], str(row["amount"]), str(row["day"]), row["region"]) for row in rows) == [
        (n, f"{n}.50", f"2026-01-0{1 + n % 2}", ("eu", "us")[n % 2]) for n in range(100)
    ]
    directories = {file.parent.relative_to(tmp_path).as_posix() for file in files(tmp_path, ".parquet")}
    assert directories == {"day=2026-01-01/region=eu", "day=2026-01-02/region=us"}
    worker.delete(unique)


def test_the_orders_of_the_readme_fit_the_schema() -> None:
    """Its sample has the fields that the example reads."""
    sample = next(line for line in (EXAMPLE / "README.md").read_text().splitlines() if line.startswith('{"id"'))
    schema = json.loads((EXAMPLE / "connector.json").read_text())["config"]["value.schema"]
    assert list(json.loads(sample)) == [column.split()[0] for column in schema.split(", ")]
