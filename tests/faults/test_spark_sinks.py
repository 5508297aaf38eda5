# SPDX-License-Identifier: Apache-2.0
"""SparkSink under SIGKILL: what is in the files is what is in the topic, record by record, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headrace.kafka.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import committed, make_topic
from tests.support.spark_sinks import (
    ORIGIN,
    Numbers,
    create_spark_sink,
    files,
    kill_task,
    parquet_rows,
    wait_for_rows,
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


MOMENTS: dict[str, Callable[[Path], set[str]]] = {
    "a batch is begun": pending,
    "Spark writes": written,
    "it is in the log": records,
    "its files are moved": visible,
}


def wait_for_moment(path: Path, what: Callable[[Path], set[str]]) -> None:
    """Until something new is seen: then offsets of it are not committed yet, and it may be half done."""
    before = what(path)
    wait_for(lambda: what(path) - before, 60, f"something new, as {what.__name__}")


def wait_for_progress(bootstrap: str, name: str) -> None:
    """Until offsets are committed that were not."""
    before = committed(bootstrap, f"connect-{name}", name, 2)
    wait_for(lambda: committed(bootstrap, f"connect-{name}", name, 2) != before, 60, "a commit")


def run_to_the_end(worker: WorkerProcess, numbers: Numbers, bootstrap: str, name: str, path: Path) -> None:
    rows = wait_for_rows(lambda: parquet_rows(path), numbers.sent, worker, name, 120)
    numbers.assert_exactly_once(rows)
    wait_for(lambda: sum(committed(bootstrap, f"connect-{name}", name, 2).values()) == numbers.sent, 60, "the offsets")
    # Even when all is over, and what was left behind by the dead has been cleared away by their successors.
    numbers.assert_exactly_once(parquet_rows(path))


def test_the_tasks_process_is_killed(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    numbers = Numbers(broker.bootstrap_servers, unique, 2)
    make_topic(broker.bootstrap_servers, unique, 2)
    with numbers.flowing():
        create_spark_sink(worker, unique, unique, **CONFIG, path=str(tmp_path))
        for moment in MOMENTS.values():
            wait_for_progress(broker.bootstrap_servers, unique)
            wait_for_moment(tmp_path, moment)
            kill_task(worker, unique)
    run_to_the_end(worker, numbers, broker.bootstrap_servers, unique, tmp_path)
    worker.delete(unique)


def test_the_worker_is_killed(own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    numbers = Numbers(broker.bootstrap_servers, unique, 2)
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


def test_the_broker_is_killed(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    numbers = Numbers(broker.bootstrap_servers, unique, 2)
    make_topic(broker.bootstrap_servers, unique, 2)
    with numbers.flowing():
        create_spark_sink(worker, unique, unique, **CONFIG, path=str(tmp_path))
        for moment in (pending, records):
            wait_for_moment(tmp_path, moment)
            broker.kill()
            broker.start()
    run_to_the_end(worker, numbers, broker.bootstrap_servers, unique, tmp_path)
    worker.wait_for_tasks(unique)
    worker.delete(unique)
