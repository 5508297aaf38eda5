# SPDX-License-Identifier: Apache-2.0
"""From a table to files: dates, timestamps, times and decimals stay what they are, in each form of JSON."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.postgres import Postgres
from tests.support.sinks import make_topic, send
from tests.support.spark_sinks import create_spark_sink, files, parquet_rows, wait_for_rows
from tests.support.worker_process import ROOT, WorkerProcess

EXAMPLES = ROOT / "examples"
UTC = datetime.UTC
MORE_ORDERS = """
    INSERT INTO orders VALUES (200, 'us', 0.01, '1969-12-31 23:59:59.999999+00'), (-5, 'eu', -7, '1901-01-01 00:00+00'),
      (70000, 'us', 99999999.99, '2026-03-01 00:30:00.123456+02'), (4, 'eu', 1, '2024-02-29 12:00+00');
    UPDATE orders SET changed_at = '2026-01-02 10:00:00.123456+00' WHERE id = 1"""
SCHEMALESS = {"value.converter.schemas.enable": "false"}
AS_TEXT = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
COLUMNS = "id BIGINT, d DATE, ts TIMESTAMP_NTZ, seen TIMESTAMP, t INT, price DECIMAL(12,2)"
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}


def example(name: str, **changed: str) -> dict[str, str]:
    """The connector's file, but for where it reads and writes."""
    config: dict[str, str] = json.loads((EXAMPLES / name / "connector.json").read_text())["config"]
    assert config.keys() >= {key.replace("_", ".") for key in changed}
    return config | {key.replace("_", "."): value for key, value in changed.items()}


def test_the_examples_one_after_the_other(
    jdbc_worker: WorkerProcess, postgres: Postgres, unique: str, tmp_path: Path
) -> None:
    postgres.sql((EXAMPLES / "postgresql-to-kafka" / "orders.sql").read_text() + MORE_ORDERS)
    source = example("postgresql-to-kafka", topic=unique, spark_option_url=postgres.jdbc_url)
    sink = example("kafka-to-parquet", topics=unique, path=str(tmp_path), rotate_interval_ms="1000")
    jdbc_worker.create(unique, **source)
    jdbc_worker.create(f"{unique}-files", **sink)
    rows = wait_for_rows(lambda: parquet_rows(tmp_path), 7, jdbc_worker, f"{unique}-files")
    table = postgres.sql("SELECT id, region, amount, changed_at, date(changed_at) FROM orders ORDER BY id")
    found = sorted((row["id"], row["region"], row["amount"], row["changed_at"], str(row["day"])) for row in rows)
    assert found == [
        (int(id), region, Decimal(amount), datetime.datetime.fromisoformat(changed_at), day)
        for id, region, amount, changed_at, day in table
    ]
    directories = {file.parent.relative_to(tmp_path).as_posix() for file in files(tmp_path, ".parquet")}
    assert directories == {f"day={day}/region={region}" for _, region, _, _, day in table}
    assert {"day=1969-12-31/region=us", "day=1901-01-01/region=eu", "day=2026-02-28/region=us"} < directories
    jdbc_worker.delete(unique)
    jdbc_worker.delete(f"{unique}-files")
    postgres.sql("DROP TABLE orders")


@pytest.fixture
def table(unique: str, postgres: Postgres) -> Iterator[str]:
    name = "times_" + unique.replace("-", "_")
    postgres.sql(f"""
        CREATE TABLE {name} (id bigint, d date, ts timestamp, seen timestamptz, t time, price numeric(12,2));
        INSERT INTO {name} VALUES
          (1, '1960-02-29', '1969-12-31 23:59:59.999999', '1901-12-13 20:45:51.5+02', '00:00', -0.01),
          (2, '2026-10-25', '2026-03-29 02:30:00.123456', '2026-10-25 02:30:00.000001+02',
            '23:59:59.999', 9999999999.99),
          (3, '2150-01-01', '2038-01-19 03:14:08', '2262-04-12 00:00:00.654321+00', '12:30:00.250', 1.10),
          (4, NULL, NULL, NULL, NULL, NULL)""")
    yield name
    postgres.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize(
    ("source", "sink", "digits"),
    [
        ({}, JSON, 3),
        (SCHEMALESS, AS_TEXT | {"value.schema": COLUMNS}, 3),
        (SCHEMALESS, JSON | SCHEMALESS | {"value.schema": COLUMNS}, 3),
        (SCHEMALESS | {"timestamp.granularity": "micros_iso_datetime_string"}, AS_TEXT | {"value.schema": COLUMNS}, 6),
    ],
    ids=["with schemas", "milliseconds", "milliseconds as data", "text"],
)
def test_dates_and_times_are_those_of_the_table(
    jdbc_worker: WorkerProcess,
    postgres: Postgres,
    unique: str,
    table: str,
    tmp_path: Path,
    source: dict[str, str],
    sink: dict[str, str],
    digits: int,
) -> None:
    own = {"connector.class": "SparkTableSource", "spark.format": "jdbc", "table": table, "topic": unique}
    own |= {"mode": "incrementing", "incrementing.column": "id", "value.converter.decimal.format": "NUMERIC"}
    jdbc_worker.create(unique, **postgres.options(), **own, **JSON, **source)
    sink_name, path = f"{unique}-files", str(tmp_path)
    create_spark_sink(jdbc_worker, sink_name, unique, path=path, **{"spark.format": "parquet"}, **sink)
    rows = wait_for_rows(lambda: parquet_rows(tmp_path), 4, jdbc_worker, sink_name)
    lost = 10 ** (6 - digits)
    wanted = []
    for id, d, ts, seen, t, price in postgres.sql(f"SELECT * FROM {table} ORDER BY id"):
        times = [_cut(text, lost) for text in (ts, seen)]
        wanted.append(
            {
                "id": int(id),
                "d": datetime.date.fromisoformat(d) if d else None,
                "ts": times[0],
                "seen": times[1],
                "t": _millis(t) if t else None,
                "price": Decimal(price) if price else None,
            }
        )
    found = sorted(rows, key=lambda row: int(row["id"]))
    if not sink.get("value.schema"):
        # Connect's Timestamp is an instant: one without a zone is that of UTC.
        for row in wanted:
            row["ts"] = row["ts"] and row["ts"].replace(tzinfo=UTC)
    assert found == wanted
    jdbc_worker.delete(unique)
    jdbc_worker.delete(sink_name)


def test_json_inside_json_and_what_does_not_fit(
    jdbc_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    schema = "`a b` STRUCT<seen: TIMESTAMP, days: ARRAY<DATE>, n: INT>, m MAP<STRING, TIMESTAMP>, plain STRING"
    make_topic(broker.bootstrap_servers, unique)
    values: list[dict[str, Any]] = [
        {"a b": {"seen": -1, "days": [0, "2026-01-02", None], "n": 1}, "m": {"x": 1000, "y": None}, "plain": "1"},
        {"a b": None, "m": None},
    ]
    send(broker.bootstrap_servers, unique, [json.dumps(value).encode() for value in values])
    config = {**AS_TEXT, "spark.format": "parquet", "path": str(tmp_path), "value.schema": schema}
    create_spark_sink(jdbc_worker, unique, unique, **config)
    rows = wait_for_rows(lambda: parquet_rows(tmp_path), 2, jdbc_worker, unique)
    before = datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)
    days = [datetime.date(1970, 1, 1), datetime.date(2026, 1, 2), None]
    entries = [("x", datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)), ("y", None)]
    first = {"a b": {"seen": before, "days": days, "n": 1}, "m": entries, "plain": "1"}
    assert rows == [first, {"a b": None, "m": None, "plain": None}]

    send(broker.bootstrap_servers, unique, [b'{"m": {"x": 1}}', b'{"m": {"x": "soon"}}', b'{"m": {"x": 2}}'])
    jdbc_worker.wait_for_tasks(unique, "FAILED")
    trace = jdbc_worker.status(unique)["tasks"][0]["trace"]
    assert f"The value at offset 3 of {unique}-0 is no JSON that fits value.schema" in trace, trace
    jdbc_worker.delete(unique)


def _cut(text: str, micros: int) -> datetime.datetime | None:
    """The table's timestamp, in UTC if it has a zone, without the digits that Connect's Timestamp lacks."""
    if not text:
        return None
    moment = datetime.datetime.fromisoformat(text)
    return moment.replace(microsecond=moment.microsecond // micros * micros)


def _millis(text: str) -> int:
    time = datetime.time.fromisoformat(text)
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1000 + time.microsecond // 1000
