# SPDX-License-Identifier: Apache-2.0
"""SparkSink under SIGKILL: what is in the files is what is in the topic, record by record, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import committed, make_topic
from tests.support.spark_sinks import (
    ORIGIN,
    Numbers,
    create_spark_sink,
    files,
    kill_task,
    parquet_rows,
    walked,
)
from tests.support.worker_process import WorkerProcess

CONFIG = {
    "spark.format": "parquet",
    "value.schema": "n BIGINT, tens INT",
    "partition.by": "tens",
    "include.columns": ORIGIN,
    "flush.size": "150",
}


def pending(path: Path) -> set[str]:
    """Batches that are being written."""
    return {entry.name for entry in path.glob("_headrace/*/*/*/files-*")}


def written(path: Path) -> set[str]:
    """Files that Spark has begun."""
    return {file.name for file in walked(path) if "_headrace" in file.parts and "part-" in file.name}


def records(path: Path) -> set[str]:
    """Numbers of the log's records."""
    return {f"{entry.parent}/{entry.name}" for entry in path.glob("_headrace/*/*/*/0*")}


def visible(path: Path) -> set[str]:
    return {entry.name for entry in files(path, ".parquet")}


PER_SECOND = 150
"""Records that are sent: the fewer, the fewer files have to be read in the end, and batches come as often."""
HALVES = {
    **{name: value for name, value in CONFIG.items() if name != "value.schema"},
    "transforms": "q",
    "transforms.q.type": "SparkSql",
    "transforms.q.query": "SELECT partition, offset, value.*, explode(array(0, 1)) AS half FROM records",
    "transforms.q.value.schema": CONFIG["value.schema"],
}
"""A query makes two rows of each record."""
MOMENTS: dict[str, Callable[[Path], set[str]]] = {
    "a batch is begun": pending,
    "Spark writes": written,
    "it is in the log": records,
    "its files are moved": visible,
}


def wait_for_moment(path: Path, what: Callable[[Path], set[str]]) -> None:
    """Until something new is seen: then offsets of it are not committed yet, and it may be half done."""
    before = what(path)
    wait_for(lambda: what(path) - before, 60, f"something new, as {what.__name__}", pause=0.02)


def named(path: Path) -> int:
    """How many records are written, by the names of their files: to read them all takes long."""
    batches = {name.split("+", 2)[2].split(".")[0] for name in visible(path)}
    spans = (batch.partition("+")[2].split("-") for batch in batches)
    return sum(int(last) - int(first) + 1 for first, last in spans)


def run_to_the_end(worker: WorkerProcess, numbers: Numbers, bootstrap: str, name: str, path: Path) -> None:
    wait_for(
        lambda: named(path) >= numbers.sent,
        120,
        lambda: f"{named(path)} of {numbers.sent}: {worker.rest.get(f'/connectors/{name}/health').text}",
    )
    numbers.assert_exactly_once(parquet_rows(path))
    wait_for(lambda: sum(committed(bootstrap, f"connect-{name}", name, 2).values()) == numbers.sent, 60, "the offsets")
    # Even when all is over, and what was left behind by the dead has been cleared away by their successors.
    numbers.assert_exactly_once(parquet_rows(path))


def test_the_tasks_process_is_killed(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Of two connectors, one of which has a query in its chain: rows of one record are never parted."""
    numbers = Numbers(broker.bootstrap_servers, unique, 2, PER_SECOND)
    make_topic(broker.bootstrap_servers, unique, 2)
    plain, halves, by_query = tmp_path / "plain", tmp_path / "halves", f"{unique}-halves"
    with numbers.flowing():
        create_spark_sink(worker, by_query, unique, **HALVES, path=str(halves))
        create_spark_sink(worker, unique, unique, **CONFIG, path=str(plain))
        for moment, (name, path) in zip(MOMENTS.values(), cycle([(unique, plain), (by_query, halves)]), strict=False):
            # First of all a batch of the last one's successor: then the next moment is not that of its beginning.
            wait_for_moment(path, visible)
            wait_for_moment(path, moment)
            kill_task(worker, name)
    run_to_the_end(worker, numbers, broker.bootstrap_servers, unique, plain)
    wait_for(lambda: named(halves) >= numbers.sent, 120, lambda: f"{named(halves)} of {numbers.sent}")
    rows = parquet_rows(halves)
    assert len(rows) == 2 * numbers.sent
    for half in (0, 1):
        numbers.assert_exactly_once([row for row in rows if row["half"] == half])
    worker.delete(by_query)
    worker.delete(unique)


def test_the_worker_is_killed(own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    numbers = Numbers(broker.bootstrap_servers, unique, 2, PER_SECOND)
    make_topic(broker.bootstrap_servers, unique, 2)
    out = tmp_path / "out"
    own_worker.start()
    with numbers.flowing():
        create_spark_sink(own_worker, unique, unique, **CONFIG, path=str(out))
        for moment in (written, records):
            wait_for_moment(out, moment)
            own_worker.kill()
            wait_for(lambda: own_worker.leftovers() == [], 30, lambda: f"the end of {own_worker.leftovers()}")
            own_worker.start()
    run_to_the_end(own_worker, numbers, broker.bootstrap_servers, unique, out)


def test_the_broker_is_killed(
    worker_of_own_broker: WorkerProcess, own_broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    worker, bootstrap, out = worker_of_own_broker, own_broker.bootstrap_servers, tmp_path / "out"
    numbers = Numbers(bootstrap, unique, 2, PER_SECOND)
    make_topic(bootstrap, unique, 2)
    with numbers.flowing():
        create_spark_sink(worker, unique, unique, **CONFIG, path=str(out))
        wait_for_moment(out, visible)
        # Its offset is not committed then, whatever comes of the commit; nothing else of a batch needs the broker.
        wait_for_moment(out, records)
        own_broker.kill()
        own_broker.start()
    run_to_the_end(worker, numbers, bootstrap, unique, out)
    worker.wait_for_tasks(unique)
