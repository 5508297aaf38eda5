# SPDX-License-Identifier: Apache-2.0
"""Real taps and targets of PyPI, in environments of their own: PostgreSQL over Kafka to files and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.api.errors import ConfigError
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.cli.main import app
from headrace.plugins.singer_environments import install
from scripts.connectors_table import pinned_package
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.postgres import USER, Postgres
from tests.support.sinks import make_topic, send
from tests.support.topics import Read, read_committed, values
from tests.support.worker_process import WorkerProcess

JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "value.converter.decimal.format": "NUMERIC",
}
OUTDATED = ("target-csv", "target-sqlite")
TABLE = """
CREATE TABLE {name} (id integer PRIMARY KEY, amount numeric(10, 2), note text, changed_at timestamptz NOT NULL);
INSERT INTO {name} VALUES (1, 12.50, 'first', '2024-01-01 10:00Z'), (2, 0.10, NULL, '2024-01-02 10:00Z');
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory with all taps and targets; skips where PyPI cannot be reached."""
    directory = tmp_path_factory.mktemp("data")
    packages = {
        "tap-postgres": "meltanolabs-tap-postgres",
        "pipelinewise-tap-postgres": "pipelinewise-tap-postgres",
        "target-jsonl": "target-jsonl",
        "target-postgres": "meltanolabs-target-postgres",
        **dict.fromkeys(OUTDATED),
    }
    for name, package in packages.items():
        pinned = pinned_package(package or name)
        or_skip(lambda name=name, pinned=pinned: install(pinned, name, directory / "singer"))  # type: ignore[misc]
    return directory


@pytest.fixture(scope="module")
def singer_worker(
    broker: EmbeddedBroker, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(
        tmp_path_factory.mktemp("worker"), broker.bootstrap_servers, **{"group.id": "headrace-singer"}
    )
    worker.environment["HEADRACE_DATA_DIR"] = str(home)
    with worker:
        worker.await_answer(path="/connectors")
        yield worker


def rows(broker: EmbeddedBroker, topic: str) -> list[Any]:
    return [json.loads(value or b"null") for value in values(broker.bootstrap_servers, topic)]


def _database(postgres: Postgres) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": postgres.port, "user": USER, "password": "any"}


def _source(postgres: Postgres, tap: str, table: str, topic: str, metadata: dict[str, str]) -> dict[str, str]:
    """A connector that reads a table into a topic, again and again."""
    own: dict[str, Any] = {"dbname": "postgres", "filter_schemas": "public"}
    if tap == "tap-postgres":
        own = {"database": "postgres", "emit_activate_version_messages": True}
    return {
        "connector.class": "SingerSource",
        "tap": tap,
        "singer.config": json.dumps(_database(postgres) | own),
        "streams.include": f"*{table}",
        "streams.metadata": json.dumps({"*": metadata}),
        "stream.topics": f"public-{table}:{topic}",
        "singer.interval.ms": "1000",
        **JSON,
    }


@pytest.mark.parametrize("tap", ["tap-postgres", "pipelinewise-tap-postgres"])
def test_a_table_over_kafka_to_a_target(
    singer_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, tmp_path: Path, tap: str
) -> None:
    table = unique.replace("-", "_")
    postgres.sql(TABLE.format(name=table))
    metadata = {"replication-method": "INCREMENTAL", "replication-key": "changed_at"}
    singer_worker.create(unique, **_source(postgres, tap, table, unique, metadata))
    wait_for(lambda: len(rows(broker, unique)) >= 2, 90, lambda: f"two rows: {singer_worker.status(unique)}")
    postgres.sql(f"INSERT INTO {table} VALUES (3, 99.99, 'third', '2024-01-03 10:00Z')")
    wait_for(
        lambda: any(row["id"] == 3 for row in rows(broker, unique)),
        60,
        lambda: f"the third row: {singer_worker.status(unique)} {singer_worker.log[-3000:]}",
    )
    seen = rows(broker, unique)
    first = next(row for row in seen if row["id"] == 1)
    assert {row["id"] for row in seen} == {1, 2, 3}
    assert (float(first["amount"]), first["note"]) == (12.5, "first")
    assert first["changed_at"] == 1704103200000
    offsets = singer_worker.rest.get(f"/connectors/{unique}/offsets").json()["offsets"]
    assert [each["partition"] for each in offsets] == [{"tap": tap, "streams": "*"}]
    assert "2024-01-03" in offsets[0]["offset"]["state"]
    singer_worker.delete(unique)

    records = read_committed(broker.bootstrap_servers, unique)
    if tap == "tap-postgres":
        config = {"destination_path": str(tmp_path), "do_timestamp_file": False}
        _sink(singer_worker, unique, records, "target-jsonl", config, lambda: _ids_of_files(tmp_path))
    else:
        config = {**_database(postgres), "database": "postgres", "default_target_schema": "copies"}
        _sink(singer_worker, unique, records, "target-postgres", config, lambda: _ids_of_copies(postgres))


@pytest.mark.parametrize("tap", ["tap-postgres", "pipelinewise-tap-postgres"])
def test_a_reader_finds_out_which_rows_are_gone(
    singer_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, tap: str
) -> None:
    """By the versions of rows and the activated ones, both of which a tap can send for a table that it reads whole."""
    table, versions = unique.replace("-", "_"), f"{unique}-versions"
    postgres.sql(TABLE.format(name=table))
    passed_on = {"singer.version.field": "table_version", "singer.versions.topic": versions}
    config = _source(postgres, tap, table, unique, {"replication-method": "FULL_TABLE"})
    singer_worker.create(unique, **config, **passed_on)

    def copied() -> set[int]:
        activated = max((each["version"] for each in rows(broker, versions)), default=0)
        return {row["id"] for row in rows(broker, unique) if activated and (row["table_version"] or 0) >= activated}

    def state() -> str:
        return f"{rows(broker, unique)[-6:]} {rows(broker, versions)[-2:]} {singer_worker.status(unique)}"

    wait_for(lambda: copied() == {1, 2}, 90, lambda: f"the rows: {state()}")
    postgres.sql(f"DELETE FROM {table} WHERE id = 1; INSERT INTO {table} VALUES (3, 1, 'third', now())")
    wait_for(lambda: copied() == {2, 3}, 90, lambda: f"the rows after a deletion: {state()}")
    singer_worker.delete(unique)
    activations = rows(broker, versions)
    assert {(each["stream"], each["topic"]) for each in activations} == {(f"public-{table}", unique)}
    assert 1 in {row["id"] for row in rows(broker, unique)}  # no tombstone, and nothing is removed


@pytest.mark.parametrize("tap", ["tap-postgres", "pipelinewise-tap-postgres"])
def test_rows_that_are_gone_get_tombstones(
    singer_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, unique: str, tap: str
) -> None:
    table = unique.replace("-", "_")
    postgres.sql(TABLE.format(name=table))
    config = _source(postgres, tap, table, unique, {"replication-method": "FULL_TABLE"})
    keys = {"key.converter": JSON["value.converter"], "key.converter.schemas.enable": "false"}
    singer_worker.create(unique, **config, **keys, **{"singer.tombstones": "true"})

    def kept() -> set[int]:
        """The rows that a compacted topic keeps."""
        last = {
            json.loads(each.key or b"")["id"]: each.value for each in read_committed(broker.bootstrap_servers, unique)
        }
        return {row for row, value in last.items() if value is not None}

    wait_for(lambda: kept() == {1, 2}, 90, lambda: f"the rows: {kept()} {singer_worker.status(unique)}")
    postgres.sql(f"DELETE FROM {table} WHERE id = 1; INSERT INTO {table} VALUES (3, 1, 'third', now())")
    wait_for(lambda: kept() == {2, 3}, 90, lambda: f"the rows after a deletion: {kept()}")
    singer_worker.rest.post(f"/connectors/{unique}/restart", params={"includeTasks": "true"})
    postgres.sql(f"DELETE FROM {table} WHERE id = 2; INSERT INTO {table} VALUES (1, 1, 'again', now())")
    wait_for(lambda: kept() == {1, 3}, 90, lambda: f"the rows after a restart: {kept()}")
    singer_worker.delete(unique)


def _ids_of_files(directory: Path) -> list[int]:
    return [json.loads(line)["id"] for file in directory.iterdir() for line in file.read_text().splitlines()]


def _ids_of_copies(postgres: Postgres) -> list[int]:
    tables = postgres.sql("SELECT table_name FROM information_schema.tables WHERE table_schema = 'copies'")
    return [int(row[0]) for [table] in tables for row in postgres.sql(f'SELECT id FROM copies."{table}"')]


def _sink(
    worker: WorkerProcess,
    topic: str,
    records: list[Read],
    target: str,
    config: dict[str, Any],
    ids: Callable[[], list[int]],
) -> None:
    """Each row is in the target, and then the offset of the last one is committed."""
    name = f"{topic}-sink"
    settings = {"target": target, "singer.config": json.dumps(config), **JSON}
    worker.create(name, **{"connector.class": "SingerSink", "topics": topic, **settings})
    wait_for(lambda: len(ids()) >= len(records), 90, lambda: f"{len(records)} rows: {ids()} {worker.status(name)}")
    assert set(ids()) == {1, 2, 3}

    def committed() -> bool:
        offsets = worker.rest.get(f"/connectors/{name}/offsets").json()["offsets"]
        return [each["offset"]["kafka_offset"] > records[-1].offset for each in offsets] == [True]

    wait_for(committed, 60, lambda: f"its offset: {worker.status(name)} {worker.log[-3000:]}")
    worker.delete(name)


@pytest.mark.parametrize("target", OUTDATED)
def test_a_target_that_needs_an_older_python(
    singer_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, target: str
) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, [b'{"id": 1}'])
    config = {"connector.class": "SingerSink", "topics": unique, "target": target, "singer.config": "{}", **JSON}
    singer_worker.create(unique, **config)
    singer_worker.wait_for_tasks(unique, "FAILED")
    first = singer_worker.status(unique)["tasks"][0]["trace"].splitlines()[0]
    assert "module 'collections' has no attribute 'MutableMapping'" in first
    singer_worker.delete(unique)


def test_a_target_that_cannot_be_installed(home: Path) -> None:
    package = pinned_package("target-parquet")
    with pytest.raises(ConfigError, match=f"{package} cannot be installed: error: subprocess-exited-with-error"):
        install(package, None, home / "singer")
    assert not (home / "singer" / "target-parquet").exists()


def test_the_commands(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_DATA_DIR", str(home))

    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["singer", *words])
        return result.exit_code, result.output

    code, listed = run("ls", "--locked")
    assert code == 0
    assert "target-jsonl  0.1.4  target-jsonl\n" in listed
    assert "  singer-python==" in listed
    code, said = run("install", "headrace-no-such-tap")
    assert (code, said.count("\n")) == (2, 1)
    assert "headrace-no-such-tap cannot be installed: ERROR: No matching distribution found" in said
    assert not (home / "singer" / "headrace-no-such-tap").exists()
    assert run("install", "six", "--name", "six")[1].startswith("Error: six has no executable named six")
    assert run("install", "tap-x/../..")[0] == 2
    assert run("rm", "../..")[0] == 2
    assert run("install", "target-jsonl==0.1.4")[1] == "target-jsonl 0.1.4 is installed, with target-jsonl\n"
    assert len(list((home / "singer" / "target-jsonl").glob("venv-*"))) == 1
    assert run("rm", "target-jsonl")[1] == "target-jsonl is removed\n"
    assert "target-jsonl" not in run("ls")[1]
