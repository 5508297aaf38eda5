# SPDX-License-Identifier: Apache-2.0
"""A topic into Parquet files and into a table of PostgreSQL by SparkSink: JSON of 100 bytes, three typed columns."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds
from confluent_kafka import Producer

from bench.engines import Engine
from bench.topics import temporary_topic
from tests.support.postgres import Postgres, fetched_driver, found_postgres

RECORDS = 500_000
_TABLE = "events"
_LOOK_S = 0.02
_CONFIG = {
    "connector.class": "SparkSink",
    "tasks.max": "1",
    "value.schema": "id BIGINT, region STRING, note STRING",
    "flush.size": "50000",
    "rotate.interval.ms": "1000",
    "max.retries": "0",
}


@dataclass(frozen=True, slots=True)
class SparkSinkRates:
    """Records/s after the first batch; seconds from the request to the last record."""

    parquet: float
    parquet_s: float
    postgres: float
    postgres_s: float


def rates(engine: Engine) -> SparkSinkRates:
    """Each target is written to twice: the first connector, which is not measured, lets the JVM compile."""
    engine.directory.mkdir(parents=True, exist_ok=True)
    engine.more |= {"spark.jars": fetched_driver()}
    topic = f"spark-sink-{uuid.uuid4().hex[:8]}"
    with Postgres(found_postgres()) as postgres, temporary_topic(engine.bootstrap_servers, topic), engine:
        _fill(engine.bootstrap_servers, topic)
        for _ in range(2):
            parquet, parquet_s = _parquet(engine, topic)
        for _ in range(2):
            table, table_s = _postgres(engine, topic, postgres)
    return SparkSinkRates(parquet, parquet_s, table, table_s)


def _fill(bootstrap_servers: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "queue.buffering.max.messages": 0, "linger.ms": 20})
    for start in range(0, RECORDS, 10_000):
        values = (
            b'{"id":%010d,"region":"region-%d","note":"%s"}' % (n + 10**9, n % 7, b"x" * 54)
            for n in range(start, min(start + 10_000, RECORDS))
        )
        producer.produce_batch(topic, [{"value": value} for value in values])
        producer.poll(0)
    if producer.flush(120):
        raise RuntimeError("the topic to read from could not be filled")


def _parquet(engine: Engine, topic: str) -> tuple[float, float]:
    path = engine.directory / f"parquet-{uuid.uuid4().hex[:8]}"
    measured = _run(engine, topic, lambda: _named(path), {"spark.format": "parquet", "path": str(path)})
    found = ds.dataset([str(file) for file in path.glob("part-*.parquet")], format="parquet").count_rows()
    shutil.rmtree(path)
    return _checked(found, measured)


def _postgres(engine: Engine, topic: str, postgres: Postgres) -> tuple[float, float]:
    postgres.sql(f"DROP TABLE IF EXISTS {_TABLE}; CREATE TABLE {_TABLE} (id bigint, region text, note text)")
    config = {"spark.format": "jdbc", "table": _TABLE, **postgres.options()}
    measured = _run(engine, topic, lambda: int(postgres.sql(f"SELECT count(*) FROM {_TABLE}")[0][0]), config)
    return _checked(int(postgres.sql(f"SELECT count(DISTINCT id) FROM {_TABLE}")[0][0]), measured)


def _named(path: Path) -> int:
    """Return the number of records by the files' names."""
    ranges = (file.name.split(".")[0].split("+")[3].split("-")[:2] for file in path.glob("part-*.parquet"))
    return sum(int(last) - int(first) + 1 for first, last in ranges)


def _run(engine: Engine, topic: str, written: Callable[[], int], config: dict[str, str]) -> tuple[float, float]:
    name = f"spark-sink-{uuid.uuid4().hex[:8]}"
    sent = engine.rest.create(name, {**_CONFIG, "topics": topic, **config})
    first, first_count, deadline = 0.0, 0, time.monotonic() + 300
    try:
        while (count := written()) < RECORDS:
            now = time.monotonic()
            if count and not first:
                first, first_count = now, count
            if now > deadline:
                raise RuntimeError(f"{count} of {RECORDS} records are written after 300 s")
            time.sleep(_LOOK_S)
        last = time.monotonic()
    finally:
        engine.rest.delete(name)
    return (RECORDS - first_count) / (last - first) if first else RECORDS / (last - sent), last - sent


def _checked(found: int, measured: tuple[float, float]) -> tuple[float, float]:
    if found != RECORDS:
        raise RuntimeError(f"{found} rows of {RECORDS} records")
    return measured
