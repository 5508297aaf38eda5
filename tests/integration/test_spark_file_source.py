# SPDX-License-Identifier: Apache-2.0
"""Files that come to a directory, through a real worker and its Spark, into a real topic."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.topics import committed_offsets, read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess, mistakes, once_settled

JSON = "org.apache.kafka.connect.json.JsonConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """With a name that a pattern would be."""
    made = tmp_path / "in [1]"
    made.mkdir()
    return made


def create(worker: WorkerProcess, name: str, directory: Path, format: str, **more: str) -> None:
    config = {
        "connector.class": "SparkFileSource",
        "tasks.max": "1",
        "topic": name,
        "path": str(directory).replace("[", "\\[").replace("]", "\\]"),
        "spark.format": format,
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "poll.interval.ms": "100",
        "file.settle.ms": "0",
    }
    worker.create(name, **config | {key.replace("_", "."): value for key, value in more.items()})


def put(directory: Path, name: str, text: str, age: float = 0) -> Path:
    """A file that appears whole; `age` in seconds."""
    draft = directory / f".{name}"
    draft.write_text(text)
    if age:
        moment = draft.stat().st_mtime - age
        os.utime(draft, (moment, moment))
    return draft.rename(directory / name)


def rows(broker: EmbeddedBroker, topic: str, count: int) -> list[Any]:
    found = wait_for_values(broker.bootstrap_servers, topic, count)
    assert len(found) == count
    return [json.loads(value or b"null") for value in found]


def offset(worker: WorkerProcess, broker: EmbeddedBroker, connector: str) -> dict[str, Any]:
    found = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], connector)
    (one,) = found.values()
    assert isinstance(one, dict)
    return one


def test_each_file_once_in_the_order_of_age_and_name(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, directory: Path
) -> None:
    put(directory, "b.csv", "id,name\n3,c\n4,d\n", age=10)
    put(directory, "a {x}.csv", "id,name\n5,e\n", age=5)
    put(directory, "c.csv", "id,name\n1,a\n2,b\n", age=20)
    put(directory, "empty.csv", "", age=7)
    create(worker, unique, directory, "csv", **{"spark.option.header": "true", "spark.option.inferSchema": "true"})
    expected = [{"id": n, "name": "abcde"[n - 1]} for n in range(1, 6)]
    assert rows(broker, unique, 5) == expected
    put(directory, "d.csv", "id,name,more\n6,f,g\n")
    assert rows(broker, unique, 6)[5] == {"id": 6, "name": "f", "more": "g"}
    worker.delete(unique)
    wait_for(lambda: not worker.status(unique), 30, "the connector's end")
    put(directory, "e.csv", "id,name\n7,g\n")
    create(worker, unique, directory, "csv", **{"spark.option.header": "true", "spark.option.inferSchema": "true"})
    found = rows(broker, unique, 7)
    assert [row["id"] for row in found] == list(range(1, 8))
    assert found[6] == {"id": 7, "name": "g", "more": None}
    worker.delete(unique)


def test_lines_and_whole_files(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, directory: Path) -> None:
    put(directory, "a.txt", "first\nsecond\n")
    texts, files = f"{unique}-texts", f"{unique}-files"
    create(worker, texts, directory, "text", value_converter="org.apache.kafka.connect.storage.StringConverter")
    create(worker, files, directory, "binaryFile", value_converter=BYTES, key_columns="path")
    assert wait_for_values(broker.bootstrap_servers, texts, 2) == [b"first", b"second"]
    assert wait_for_values(broker.bootstrap_servers, files, 1) == [b"first\nsecond\n"]
    (record,) = read_committed(broker.bootstrap_servers, files)
    assert (record.key or b"").endswith(b"/in [1]/a.txt")
    worker.delete(texts)
    worker.delete(files)


def test_avro_needs_no_package(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, directory: Path) -> None:
    for number, type in enumerate(("int", "long"), 1):
        (directory / f"{number}.avro").write_bytes(avro_file(type, [(number, f"näme {number}"), (-5, "x")]))
        os.utime(directory / f"{number}.avro", (1_767_225_600 + number,) * 2)
    create(worker, unique, directory, "avro")
    assert rows(broker, unique, 4) == [
        *({"id": 1, "name": "näme 1"}, {"id": -5, "name": "x"}),
        *({"id": 2, "name": "näme 2"}, {"id": -5, "name": "x"}),
    ]
    assert json.loads(offset(worker, broker, unique)["schema"]) == [["id", "bigint"], ["name", "string"]]
    worker.delete(unique)


def avro_file(type: str, values: list[tuple[int, str]]) -> bytes:
    """Avro's container of one block, with a number of a type and a text in each record."""

    def number(value: int) -> bytes:
        value, encoded = (value << 1) ^ (value >> 63), b""
        while value > 127:
            value, encoded = value >> 7, encoded + bytes([value & 127 | 128])
        return encoded + bytes([value])

    def text(value: str) -> bytes:
        return number(len(value.encode())) + value.encode()

    fields = [{"name": "id", "type": type}, {"name": "name", "type": "string"}]
    schema = json.dumps({"type": "record", "name": "row", "fields": fields})
    block = b"".join(number(id) + text(name) for id, name in values)
    sync = bytes(range(16))
    metadata = number(1) + text("avro.schema") + text(schema) + number(0)
    return b"Obj\x01" + metadata + sync + number(len(values)) + number(len(block)) + block + sync


@pytest.mark.parametrize("policy", ["add", "ignore", "fail"])
def test_columns_that_change_from_file_to_file(
    policy: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, directory: Path
) -> None:
    contents = [{"id": 1, "name": "a"}, {"age": 30, "id": 2}, {"id": 3, "name": "c"}]
    format = {"add": "json", "ignore": "csv", "fail": "parquet"}[policy]
    for number, row in enumerate(contents, 1):
        file, time = directory / f"{number}.{format}", 1_767_225_600 + number
        match format:
            case "parquet":
                pq.write_table(pa.Table.from_pylist([row]), file)
            case "csv":
                file.write_text(f"{','.join(row)}\n{','.join(map(str, row.values()))}\n")
            case _:
                file.write_text(json.dumps(row | {"id": 2.5} if number == 2 else row))
        os.utime(file, (time, time))
    options = {"spark.option.header": "true", "spark.option.inferSchema": "true"} if format == "csv" else {}
    create(worker, unique, directory, format, schema_evolution=policy, **options)
    if policy == "fail":
        worker.wait_for_tasks(unique, "FAILED")
        trace = worker.status(unique)["tasks"][0]["trace"]
        assert "2.parquet has other columns than the files before it" in trace
        assert "age bigint is new; name string is missing" in trace
        assert rows(broker, unique, 1) == [{"id": 1, "name": "a"}]
    elif policy == "ignore":
        names = ["a", None, "c"]
        assert rows(broker, unique, 3) == [{"id": n, "name": names[n - 1]} for n in (1, 2, 3)]
    else:
        assert rows(broker, unique, 3) == [
            {"id": 1, "name": "a"},
            # A number that needs more room gets it, from its file on.
            {"id": 2.5, "name": None, "age": 30},
            {"id": 3.0, "name": "c", "age": None},
        ]
    worker.delete(unique)


@pytest.mark.parametrize("format", ["csv", "json", "parquet", "text"])
def test_kills_in_the_middle_of_a_file_leave_no_gap_and_no_double(
    format: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, directory: Path
) -> None:
    count, half = 24_000, 12_000
    for first in (0, half):
        file = directory / f".{first:05}"
        if format == "parquet":
            pq.write_table(pa.table({"id": range(first, first + half)}), file, row_group_size=700)
        else:
            line = '{"id": %d}\n' if format == "json" else "%d\n"
            file.write_text("".join(line % number for number in range(first, first + half)))
        os.utime(file, (1_767_225_600 + first,) * 2)
        file.rename(directory / file.name[1:])
    schema = {"spark.schema": "id BIGINT"} if format == "csv" else {}
    create(worker, unique, directory, format, batch_max_rows="400", **schema)
    for _ in range(2):
        pid = worker.task_process().pid
        before = len(wait_for_values(broker.bootstrap_servers, unique, 1))
        wait_for_values(broker.bootstrap_servers, unique, min(before + 1_500, count))
        worker.task_process().kill()
        wait_for(lambda pid=pid: worker.task_process().pid != pid, 60, "another process")
    found = rows(broker, unique, count)
    assert [int(row) if format == "text" else row["id"] for row in found] == list(range(count))
    assert "file" not in offset(worker, broker, unique)
    worker.delete(unique)


def test_completed_files_go_after_their_offsets_are_committed(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, directory: Path, tmp_path: Path
) -> None:
    (directory / "sub").mkdir()
    put(directory, "a.json", '{"id": 1}\n', age=9)
    put(directory / "sub", "b.json", '{"id": 2}\n', age=6)
    moved = tmp_path / "out"
    more = {"completed.action": "move", "completed.directory": str(moved), "spark.option.recursiveFileLookup": "true"}
    create(worker, unique, directory, "json", **more)
    assert [row["id"] for row in rows(broker, unique, 2)] == [1, 2]
    wait_for(lambda: {path.name for path in moved.rglob("*.json")} == {"a.json", "b.json"}, 30, "the files' move")
    assert not list(directory.rglob("*.json"))
    # One of the same name is another file.
    put(directory, "a.json", '{"id": 3}\n')
    assert [row["id"] for row in rows(broker, unique, 3)] == [1, 2, 3]
    wait_for(lambda: not list(directory.rglob("*.json")), 30, "its move into the other one's place")
    assert (moved / "a.json").read_text() == '{"id": 3}\n'
    worker.delete(unique)


def test_completed_files_are_deleted_also_by_who_comes_after_a_death(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, directory: Path
) -> None:
    """The task dies between the commit of a file's offset and the next look at the directory, which would delete it."""
    put(directory, "a.json", '{"id": 1}\n', age=9)
    hour = {"poll.interval.ms": "3600000"}
    create(worker, unique, directory, "json", **{"completed.action": "delete", **hour})
    rows(broker, unique, 1)
    assert (directory / "a.json").exists()
    pid = worker.task_process().pid
    worker.task_process().kill()
    wait_for(lambda: not list(directory.glob("*.json")), 60, "the file's end")
    assert worker.task_process().pid != pid
    assert [row["id"] for row in rows(broker, unique, 1)] == [1]
    worker.delete(unique)


def test_splits_share_the_files(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, directory: Path) -> None:
    count = 30  # the directory's name decides which split has which of them: none has none
    for number in range(count):
        put(directory, f"{number}.json", f'{{"id": {number}}}\n')
    create(worker, unique, directory, "json", tasks_max="2", partition_count="3", spark_schema="id BIGINT")
    assert sorted(row["id"] for row in rows(broker, unique, count)) == list(range(count))
    assert worker.task_states(unique) == ["RUNNING"] * 2
    found = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique)
    assert sorted(json.loads(partition)["split"] for partition in found) == ["0/3", "1/3", "2/3"]
    worker.delete(unique)


def test_mistakes_are_reported_before_the_connector_is_created(worker: WorkerProcess, directory: Path) -> None:
    config = {"connector.class": "SparkFileSource", "topic": "never", "path": str(directory), "spark.format": "csv"}
    for change, expected in (
        ({"spark.format": "nosuch"}, "Spark has no such format; add its package to the worker's spark.jars.packages"),
        ({"spark.schema": "id BIGINTEGER"}, "BIGINTEGER"),
        ({"path": "s3a://bucket/in"}, "org.apache.hadoop:hadoop-aws:3"),
        ({"path": "nosuch://bucket/in"}, "Hadoop has no file system for nosuch"),
        ({"completed.directory": "hdfs://127.0.0.1:1/out"}, "files can only be moved where path is as well"),
    ):
        found = mistakes(worker, config | change)
        assert list(found) == list(change) and expected in found[next(iter(change))][0], found


def test_a_directory_that_is_not_there_is_waited_for(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    create(worker, unique, tmp_path / "later", "json")
    worker.wait_for_tasks(unique)
    (tmp_path / "later").mkdir()
    put(tmp_path / "later", "a.json", '{"id": 1}\n')
    assert rows(broker, unique, 1) == [{"id": 1}]
    worker.delete(unique)


def test_a_file_that_has_gone_in_the_middle_fails_the_task_and_an_operator_can_go_on(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, directory: Path
) -> None:
    put(directory, "a.txt", "first\n")
    create(worker, unique, directory, "text", value_converter="org.apache.kafka.connect.storage.StringConverter")
    wait_for_values(broker.bootstrap_servers, unique, 1)
    done = offset(worker, broker, unique)
    gone = done | {"file": "file:/in/gone.txt", "modified": 1, "size": 9, "row": 7}
    _write_offset(worker, unique, gone)
    worker.wait_for_tasks(unique, "FAILED")
    assert "gone.txt is gone, after its first 7 rows were read" in worker.status(unique)["tasks"][0]["trace"]
    _write_offset(worker, unique, done)
    put(directory, "b.txt", "second\n")
    assert wait_for_values(broker.bootstrap_servers, unique, 2) == [b"first", b"second"]
    worker.delete(unique)


def _write_offset(worker: WorkerProcess, name: str, offset: dict[str, Any]) -> None:
    worker.stop_connector(name)
    partition = {"path": worker.rest.get(f"/connectors/{name}/config").json()["path"]}
    change = {"offsets": [{"partition": partition, "offset": offset}]}
    answer = once_settled(lambda: worker.rest.patch(f"/connectors/{name}/offsets", json=change))
    assert answer.is_success, answer.text
    assert worker.rest.put(f"/connectors/{name}/resume").status_code == 202
