# SPDX-License-Identifier: Apache-2.0
"""Previews of sinks into a real PostgreSQL: what its table lacks, and that nothing is written."""

from __future__ import annotations

import json
from typing import Any

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.previews import preview
from tests.support.polling import wait_for
from tests.support.postgres import Postgres
from tests.support.sinks import make_topic, send
from tests.support.worker_process import WorkerProcess

NOT_COMPARED = "the columns are not compared with those of "


def test_the_columns_of_a_table_are_compared(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str
) -> None:
    table = "rows_" + unique.replace("-", "_")
    postgres.sql(f"CREATE TABLE {table} (id bigint, name integer, added date)")
    before = postgres.sql("SELECT tablename FROM pg_tables ORDER BY 1")
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, [json.dumps({"id": 1, "name": "a", "new": True}).encode()])
    config = {
        "name": unique,
        "connector.class": "SparkSink",
        "topics": unique,
        "spark.format": "jdbc",
        "table": table,
        "value.schema": "id INT, name STRING, new BOOLEAN",
        **postgres.options(),
    }

    def shown(**more: str) -> list[str]:
        """Preview until Spark for previews has started."""
        answers: list[dict[str, Any]] = []

        def answered() -> bool:
            answer = preview(jdbc_worker, {**config, **more}, timeout=60)
            assert answer.status_code == 200, answer.text
            answers.append(answer.json())
            return not any("Spark" in note and NOT_COMPARED in note for note in answers[-1]["notes"])

        wait_for(answered, 180, lambda: str(answers[-1:]))
        assert answers[-1]["dryRun"]["rows"] == [{"id": 1, "name": "a", "new": True}]
        notes: list[str] = answers[-1]["notes"]
        return [note for note in notes if table in note or NOT_COMPARED in note]

    assert shown() == [
        f"name is STRING, and INT in {table}",
        f"{table} has no column new BOOLEAN",
        f"{table} has the column added DATE, which these records have not",
    ]
    # Without auto.create the validation refuses it, once the worker's Spark has started.
    (refused,) = shown(table=f"{table}_absent", **{"auto.create": "true"})
    assert refused.startswith(f"{NOT_COMPARED}{table}_absent: ") and "does not exist" in refused
    assert postgres.sql("SELECT tablename FROM pg_tables ORDER BY 1") == before
    assert postgres.sql(f"SELECT count(*) FROM {table}") == [["0"]]
