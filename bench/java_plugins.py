# SPDX-License-Identifier: Apache-2.0
"""The same Java plugins in both engines: Kafka's file source, MirrorMaker 2's source, Debezium's source and sink."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from bench.engines import Engine, Headrace
from bench.measure import FILE_SOURCE, file_source, write_lines
from bench.processes import watched
from bench.sinks import full_topic
from bench.topics import Growth, await_first, await_growth, count_records, temporary_topic
from headrace import KAFKA_VERSION
from headrace.java.store import PluginStore
from tests.faults import debezium
from tests.support.postgres import Postgres

_IDLE: Final = 5
_KAFKAS: Final = tuple(f"org.apache.kafka:connect-{name}:{KAFKA_VERSION}" for name in ("file", "mirror"))
_BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"


def measure(engine: Engine, lines: int, progress: Callable[[str], None]) -> Iterator[tuple[str, float]]:
    """Yield each figure as it is measured, behind a run of the same kind, which lets the JVMs compile.

    Rates are records/s after the first transaction, and for the sink rows/s from the request on; `first_record_s` is
    that of a worker's second connector, and `task_mb` the PSS of an idle file source with its host.
    """
    plugins = engine.directory / "java-plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    for coordinate in (*_KAFKAS, *debezium.PLUGINS):
        PluginStore(plugins).install(coordinate)
    engine.more |= {"plugin.path": str(plugins)}
    with engine, debezium.captured_postgres() as postgres:
        for name, part in (
            ("file", partial(_file, engine, lines)),
            ("first_record_s", partial(_first_record, engine)),
            ("task_mb", partial(_memory, engine)),
            ("mirror", partial(_mirror, engine, lines)),
        ):
            progress(f"java-plugins, {name}")
            yield name, part()
        yield from _captured(engine, postgres, lines // 5, progress)


def _java(engine: Engine, class_name: str) -> str:
    """Return the name of a class in a jar, also where headrace has one of its own."""
    return f"java:{class_name}" if isinstance(engine, Headrace) else class_name


def _java_file_source(engine: Engine, file: Path, topic: str) -> dict[str, str]:
    return {**file_source(file, topic), "connector.class": _java(engine, FILE_SOURCE), "batch.size": "2000"}


def _file(engine: Engine, lines: int) -> float:
    rate = 0.0
    for count in (lines // 5, lines):
        file = write_lines(engine.directory / "lines.txt", count)
        topic = _unique("file")
        with temporary_topic(engine.bootstrap_servers, topic):
            rate = _source_rate(engine, topic, topic, _java_file_source(engine, file, topic), count)
    return rate


def _mirror(engine: Engine, lines: int) -> float:
    rate, servers = 0.0, engine.bootstrap_servers
    for records in (lines // 5, lines):
        with full_topic(servers, records) as topic, temporary_topic(servers, f"a.{topic}"):
            config = {
                "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
                "source.cluster.alias": "a",
                "target.cluster.alias": "b",
                "source.cluster.bootstrap.servers": servers,
                "target.cluster.bootstrap.servers": servers,
                "topics": topic,
                "replication.factor": "1",
                "offset-syncs.topic.replication.factor": "1",
                "sync.topic.acls.enabled": "false",
                **{f"{part}.converter": _BYTES for part in ("key", "value", "header")},
            }
            rate = _source_rate(engine, _unique("mirror"), f"a.{topic}", config, records)
    return rate


def _captured(
    engine: Engine, postgres: Postgres, rows: int, progress: Callable[[str], None]
) -> Iterator[tuple[str, float]]:
    """Yield the rates of a snapshot, of the changes after it, and of the sink that writes them all."""
    postgres.sql(f"""
        CREATE TABLE captured (id bigint PRIMARY KEY, customer int, price numeric(12,2), at timestamptz, note text);
        INSERT INTO captured SELECT n, n % 1000, n / 4.0, now(), repeat('x', 50) FROM generate_series(1, {rows}) n;
        ALTER TABLE captured REPLICA IDENTITY FULL""")
    figures: dict[str, float] = {}
    for run in ("warm-up", "measured"):
        prefix = _unique("cdc").replace("-", "")
        topic = f"{prefix}.public.captured"
        config = debezium.source(postgres, prefix, **{"table.include.list": "public.captured"})
        with temporary_topic(engine.bootstrap_servers, topic):
            with _connector(engine, prefix, config) as sent:
                progress(f"java-plugins, snapshot, {run}")
                figures["snapshot"] = _growth_rate(engine, topic, prefix, sent, rows)
                progress(f"java-plugins, stream, {run}")
                figures["stream"] = _stream_rate(engine, postgres, topic, prefix, rows)
            progress(f"java-plugins, jdbc_sink, {run}")
            figures["jdbc_sink"] = _sink_rate(engine, postgres, topic, rows)
    yield from figures.items()


def _stream_rate(engine: Engine, postgres: Postgres, topic: str, connector: str, rows: int) -> float:
    updates, began = rows // 4, time.monotonic()
    postgres.sql(f"UPDATE captured SET price = price + 1 WHERE id <= {updates}")
    return updates / (_complete(engine, topic, connector, rows + updates).last - began)


def _sink_rate(engine: Engine, postgres: Postgres, topic: str, rows: int) -> float:
    table = _unique("copy").replace("-", "")
    config = debezium.sink(postgres, topic, **{"collection.name.format": table, "batch.size": "2000"})
    name = _unique("sink")
    with _connector(engine, name, config) as sent:
        _await(lambda: postgres.sql(f"SELECT to_regclass('{table}') IS NOT NULL") == [["t"]])
        done = f"SELECT count(*) FROM captured JOIN {table} USING (id, customer, price, note)"
        _await(lambda: postgres.sql(done) == [[str(rows)]])
        return (rows + rows // 4) / (time.monotonic() - sent)


def _first_record(engine: Engine) -> float:
    times = []
    for _ in range(2):
        topic = _unique("first")
        file = write_lines(engine.directory / f"{topic}.txt", 10)
        config = _java_file_source(engine, file, topic)
        with temporary_topic(engine.bootstrap_servers, topic), _connector(engine, topic, config) as sent:
            times.append(await_first(engine.bootstrap_servers, topic) - sent)
    return times[-1]


def _memory(engine: Engine) -> float:
    """Return the PSS that each of some idle connectors adds, in MB."""
    quiet = engine.directory / "quiet.txt"
    quiet.touch()
    with watched(engine.pid) as before:
        pass
    names = [_unique("idle") for _ in range(_IDLE)]
    try:
        for name in names:
            engine.rest.create(name, _java_file_source(engine, quiet, name))
        for name in names:
            engine.rest.wait_running(name, timeout=120)
        time.sleep(10)
        with watched(engine.pid) as after:
            pass
    finally:
        for name in names:
            engine.rest.delete(name)
    return (after.pss_mb - before.pss_mb) / _IDLE


def _source_rate(engine: Engine, name: str, topic: str, config: dict[str, str], records: int) -> float:
    with _connector(engine, name, config) as sent:
        return _growth_rate(engine, topic, name, sent, records)


def _growth_rate(engine: Engine, topic: str, name: str, sent: float, records: int) -> float:
    """Return the records/s that come into a topic, which has to hold so many in the end."""
    growth = _complete(engine, topic, name, records)
    if growth.last <= growth.first:
        return records / (growth.last - sent)
    return (records - growth.first_records) / (growth.last - growth.first)


def _complete(engine: Engine, topic: str, name: str, records: int) -> Growth:
    growth = await_growth(engine.bootstrap_servers, topic, 300, lambda: engine.rest.tasks_running(name), records)
    counted = count_records(engine.bootstrap_servers, topic, records)
    if counted != records:
        raise RuntimeError(f"{engine.name}: {counted} records of {records} in {topic}")
    return growth


@contextmanager
def _connector(engine: Engine, name: str, config: dict[str, str]) -> Iterator[float]:
    """A connector for the length of the block; the time of the request that created it."""
    sent = engine.rest.create(name, {"tasks.max": "1", **config})
    try:
        yield sent
    finally:
        engine.rest.delete(name)


def _await(condition: Callable[[], bool], timeout: float = 300) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("what the sink has to write is not there in time")
        time.sleep(0.1)


def _unique(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:8]}"
