# SPDX-License-Identifier: Apache-2.0
"""Files as a table, through a real worker and its Spark, into a real topic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.topics import committed_offsets, wait_for_values
from tests.support.worker_process import WorkerProcess, mistakes

SOURCE = {
    "connector.class": "SparkTableSource",
    "tasks.max": "1",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "poll.interval.ms": "200",
}


def table_source(topic: str, path: Path, format: str, **more: str) -> dict[str, str]:
    config = SOURCE | {"topic": topic, "path": str(path), "spark.format": format}
    return config | {name.replace("_", "."): value for name, value in more.items()}


def rows_of(broker: EmbeddedBroker, topic: str, count: int) -> list[Any]:
    found = wait_for_values(broker.bootstrap_servers, topic, count)
    assert len(found) == count
    return [json.loads(value or b"null") for value in found]


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_a_table_of_files_and_what_comes_to_it(
    format: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    def add(first: int, last: int) -> None:
        _write(tmp_path / f"{first}.{format}", [{"id": n, "name": f"näme, {n}"} for n in range(last, first - 1, -1)])

    add(1, 300)
    more = {"spark_schema": "id BIGINT, name STRING"} if format != "parquet" else {}
    config = table_source(unique, tmp_path, format, mode="incrementing", incrementing_column="ID", **more)
    worker.create(unique, **config | {"batch.max.rows": "100", "query.max.rows": "150"})
    assert rows_of(broker, unique, 300) == [{"id": n, "name": f"näme, {n}"} for n in range(1, 301)]
    add(301, 320)
    assert [row["id"] for row in rows_of(broker, unique, 320)] == list(range(1, 321))
    assert _offsets(worker, broker, unique) == {json.dumps({"table": str(tmp_path)}): {"incrementing": 320}}
    worker.delete(unique)


def test_each_type_keeps_its_digits_in_offsets(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Were a digit lost, the last row would come again with the next one."""
    types = {
        "decimal": pa.decimal128(25, 5),
        "ntz": pa.timestamp("us"),
        "ltz": pa.timestamp("us", "UTC"),
        "text": pa.string(),
        "day": pa.date32(),
    }
    values = {
        "decimal": ["1.00000", "12345678901234567890.12345"],
        "ntz": ["2026-03-29T02:29:59.999999", "2026-03-29T02:30:00.123456"],
        "ltz": ["2026-03-29T02:29:59.999999Z", "2026-03-29T02:30:00.123456Z"],
        "text": ["'", "O'Hara \\ é"],
        "day": ["2026-03-28", "2026-03-29"],
    }
    for kind, type in types.items():
        name, directory = f"{unique}-{kind}", tmp_path / kind
        directory.mkdir()
        pq.write_table(pa.table({"v": pa.array(values[kind]).cast(type)}), directory / "a.parquet")
        config = table_source(name, directory, "parquet", mode="incrementing", incrementing_column="v")
        worker.create(name, **config)
        rows_of(broker, name, 2)
        assert list(_offsets(worker, broker, name).values()) == [{"incrementing": values[kind][-1]}]
        # The last value again, and a larger one: only the latter is new.
        larger = {"decimal": "12345678901234567890.12346", "day": "2026-03-30", "text": "O'Hara \\ éa"}
        more = larger.get(kind, values[kind][-1].replace("123456", "123457"))
        pq.write_table(pa.table({"v": pa.array([values[kind][-1], more]).cast(type)}), directory / "b.parquet")
        rows_of(broker, name, 3)
        assert list(_offsets(worker, broker, name).values()) == [{"incrementing": more}]
        worker.delete(name)


def test_splits_are_read_by_tasks_and_keep_their_places_with_another_number_of_tasks(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    regions = ["eu", "us", "asia"]
    _write(tmp_path / "1.json", [{"id": n, "region": regions[n % 3]} for n in range(90)])
    config = table_source(unique, tmp_path, "json", mode="incrementing", incrementing_column="id")
    config |= {"partition.column": "region", "partition.values": ",".join(regions), "tasks.max": "2"}
    worker.create(unique, **config)
    assert sorted(row["id"] for row in rows_of(broker, unique, 90)) == list(range(90))
    assert worker.task_states(unique) == ["RUNNING"] * 2
    assert worker.rest.put(f"/connectors/{unique}/config", json=config | {"tasks.max": "3"}).status_code == 200
    worker.wait_for_tasks(unique, tasks=3)
    _write(tmp_path / "2.json", [{"id": n, "region": regions[n % 3]} for n in range(90, 99)])
    assert sorted(row["id"] for row in rows_of(broker, unique, 99)) == list(range(99))
    for region in regions:
        offset = _offsets(worker, broker, unique)[json.dumps({"split": f"region={region}", "table": str(tmp_path)})]
        assert offset == {"incrementing": 96 + regions.index(region)}
    worker.delete(unique)


def test_bulk_with_a_transaction_for_all(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    _write(tmp_path / "1.json", [{"id": n} for n in range(50)])
    config = table_source(unique, tmp_path, "json", mode="bulk")
    config |= {"batch.max.rows": "7", "poll.interval.ms": "3600000", "exactly.once.support": "required"}
    answer = worker.rest.post("/connectors", json={"name": unique, "config": config})
    assert answer.status_code == 400
    assert "does not support exactly-once semantics" in answer.text
    worker.create(unique, **config | {"transaction.boundary": "connector"})
    assert sorted(row["id"] for row in rows_of(broker, unique, 50)) == list(range(50))
    assert list(next(iter(_offsets(worker, broker, unique).values()))) == ["completed"]
    worker.delete(unique)


def test_what_cannot_be_read_is_reported_before_the_connector_is_created_and_by_its_task(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    _write(tmp_path / "1.json", [{"id": 1, "price": 1.5}])
    config = table_source(unique, tmp_path, "json", mode="incrementing", incrementing_column="id")
    for change, expected in (
        ({"spark.format": "nosuch"}, "Spark has no such format; add its package to the worker's spark.jars.packages"),
        ({"spark.format": "delta"}, "io.delta:delta-spark_"),
        ({"spark.schema": "id BIGINTEGER"}, "BIGINTEGER"),
        ({"incrementing.column": "nr"}, "the table has no such column; it has id, price"),
        ({"incrementing.column": "price"}, "Column price is of type double"),
        ({"key.columns": "nr"}, "the table has no such column"),
        ({"where": "id >"}, "PARSE_SYNTAX_ERROR"),
        ({"path": "/no/such/path"}, "PATH_NOT_FOUND"),
    ):
        found = mistakes(worker, config | change)
        assert list(found) == list(change), found
        assert expected in found[next(iter(change))][0]
        assert "\n" not in found[next(iter(change))][0]
    answer = worker.rest.post("/connectors", json={"name": unique, "config": config | {"incrementing.column": "nr"}})
    assert answer.status_code == 400 and "it has id, price" in answer.text
    worker.create(unique, **config)
    rows_of(broker, unique, 1)
    # What was right when it was created, and is not any more.
    (tmp_path / "1.json").unlink()
    _write(tmp_path / "1.json", [{"nr": 2, "price": 1.5}])
    assert worker.rest.post(f"/connectors/{unique}/tasks/0/restart").status_code == 204
    worker.wait_for_tasks(unique, "FAILED")
    assert "the table has no such column; it has nr, price" in worker.status(unique)["tasks"][0]["trace"]
    worker.delete(unique)


def test_kills_in_the_middle_leave_no_gap_and_no_double(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    count = 30_000
    # Seven rows have each timestamp, so that batches end between rows of one.
    pq.write_table(
        pa.table({"id": range(count), "at": pa.array([n // 7 for n in range(count)], pa.timestamp("us"))}),
        tmp_path / "1.parquet",
    )
    config = table_source(unique, tmp_path, "parquet", mode="timestamp+incrementing", timestamp_column="at")
    config |= {"incrementing.column": "id", "batch.max.rows": "500", "query.max.rows": "4000"}
    worker.create(unique, **config)
    for _ in range(3):
        pid = worker.task_process().pid
        before = len(wait_for_values(broker.bootstrap_servers, unique, 1))
        wait_for_values(broker.bootstrap_servers, unique, min(before + 2_000, count))
        for process in worker.task_processes():
            process.kill()
        wait_for(lambda pid=pid: worker.task_process().pid != pid, 60, "another process")
    rows = rows_of(broker, unique, count)
    assert [row["id"] for row in rows] == list(range(count))
    assert next(iter(_offsets(worker, broker, unique).values()))["incrementing"] == count - 1
    worker.delete(unique)


def _offsets(worker: WorkerProcess, broker: EmbeddedBroker, connector: str) -> dict[str, Any]:
    return committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], connector)


def _write(file: Path, rows: list[dict[str, Any]]) -> None:
    """In order of the rows, and at one stroke."""
    draft = file.with_name(f".{file.name}")
    match file.suffix:
        case ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), draft)
        case ".json":
            draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case _:
            draft.write_text("".join(",".join(f'"{value}"' for value in row.values()) + "\n" for row in rows))
    draft.rename(file)
