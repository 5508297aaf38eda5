# SPDX-License-Identifier: Apache-2.0
"""examples/log-lines-to-kafka does what its README says."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.topics import read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess

KEPT = {f"topic.creation.default.{name}": value for name, value in (("partitions", "1"), ("replication.factor", "1"))}
KEPT["topic.creation.default.retention.ms"] = "-1"
"""The lines' own time may be long ago."""
EXAMPLE = Path(__file__).parents[2] / "examples" / "log-lines-to-kafka"


def test_warnings_and_errors_become_json(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    connector = json.loads((EXAMPLE / "connector.json").read_text())
    config = connector["config"] | {"file": str(EXAMPLE / "shop.log"), "topic": unique, **KEPT}
    worker.create(unique, **config)
    wait_for_values(broker.bootstrap_servers, unique, 3)
    records = read_committed(broker.bootstrap_servers, unique)
    reported = (EXAMPLE / "README.md").read_text().partition("```json\n")[2].partition("\n```")[0]
    assert json.loads(records[0].value or b"") == json.loads(reported)
    assert [record.key for record in records] == [b"checkout", b"catalog", b"checkout"]
    assert [json.loads(record.value or b"")["ms"] for record in records] == [870, 1520, None]
    assert records[0].timestamp == 1_795_255_201_000
