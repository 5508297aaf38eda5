# SPDX-License-Identifier: Apache-2.0
"""SparkSink on a real worker: files of several formats, each record once, and what it says of mistakes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.admin.consumer_groups import ConsumerGroups
from headrace.kafka.admin.topic_admin import TopicSpec
from tests.integration.refused_sinks import refusal
from tests.support.polling import wait_for
from tests.support.sinks import committed, make_topic, send, wait_for_committed
from tests.support.spark_sinks import (
    ORIGIN,
    Numbers,
    change_offsets,
    create_spark_sink,
    files,
    json_rows,
    kill_task,
    offset,
    parquet_rows,
    task_pid,
    wait_for_rows,
)
from tests.support.topics import replace_topic
from tests.support.worker_process import WorkerProcess

JSON_WITH_SCHEMA = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "true",
}


def events(first: int, count: int) -> list[bytes | None]:
    return [
        json.dumps({"id": n, "region": "eu" if n % 2 else "us", "ts": f"2026-01-0{1 + n % 3}T10:00:00Z"}).encode()
        for n in range(first, first + count)
    ]


def points(count: int, **more: int) -> list[bytes | None]:
    """Structs of x and label, and of ``more``, as JsonConverter has them with their schemas."""
    fields = [{"field": "x", "type": "int32", "optional": False}, {"field": "label", "type": "string"}]
    fields += [{"field": name, "type": "int32"} for name in more]
    schema = {"type": "struct", "optional": False, "fields": fields}
    return [
        json.dumps({"schema": schema, "payload": {"x": n, "label": f"n{n}", **more}}).encode() for n in range(count)
    ]


def failure(worker: WorkerProcess, name: str, seconds: float = 60) -> str:
    worker.wait_for_tasks(name, "FAILED", seconds=seconds)
    trace: str = worker.status(name)["tasks"][0]["trace"]
    worker.delete(name)
    return trace


def test_parquet_in_directories_by_expressions(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique, 2)
    for partition in (0, 1):
        send(bootstrap, unique, events(100 * partition, 100), partition)
    create_spark_sink(
        worker,
        unique,
        unique,
        **{
            "spark.format": "parquet",
            "path": str(tmp_path),
            "value.schema": "id BIGINT, region STRING, ts TIMESTAMP",
            "partition.by": "date(ts) AS day, region",
            "include.columns": ORIGIN,
            "spark.option.compression": "gzip",
        },
    )
    rows = wait_for_rows(lambda: parquet_rows(tmp_path), 200, worker, unique)
    wait_for_committed(bootstrap, unique, unique, {0: 100, 1: 100})
    assert sorted(row["id"] for row in rows) == list(range(200))
    for row in rows:
        n = row["id"]
        assert (row["kafka_topic"], row["kafka_partition"], row["kafka_offset"]) == (unique, n // 100, n % 100)
        assert (row["region"], str(row["day"])) == ("eu" if n % 2 else "us", f"2026-01-0{1 + n % 3}")
        assert row["ts"].isoformat().startswith(f"2026-01-0{1 + n % 3}T10:00:00")
    assert {file.parent.relative_to(tmp_path).as_posix() for file in files(tmp_path, ".parquet")} == {
        f"day=2026-01-0{day}/region={region}" for day in (1, 2, 3) for region in ("eu", "us")
    }
    assert all(file.name.startswith(f"part-{unique}+{unique}+") for file in files(tmp_path, ".gz.parquet"))
    assert [entry.name for entry in tmp_path.rglob("files-*")] == []
    worker.delete(unique)


def test_structs_become_json_and_tombstones_are_left_out(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [*points(50), None, *points(3), *points(2, y=5)], key=b"k")
    config = {"spark.format": "json", "path": str(tmp_path), "behavior.on.null.values": "ignore"}
    more = {"include.columns": "key,offset,timestamp", **JSON_WITH_SCHEMA}
    create_spark_sink(worker, unique, unique, **config, **more)
    rows = wait_for_rows(lambda: json_rows(tmp_path), 55, worker, unique)
    assert [row["x"] for row in rows] == [*range(50), 0, 1, 2, 0, 1]
    assert [row["kafka_offset"] for row in rows] == [*range(50), *range(51, 56)]
    # A field that is new begins another file.
    assert [row.get("y") for row in rows] == [None] * 53 + [5, 5]
    assert len(files(tmp_path, f"{54:020}-{55:020}.json")) == 1
    assert rows[7]["label"] == "n7"
    assert rows[0]["kafka_key"] == "k"
    assert rows[0]["kafka_timestamp"].startswith("20")
    wait_for_committed(bootstrap, unique, unique, {0: 56})
    worker.delete(unique)


def test_a_topic_goes_where_its_name_says(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, topics = broker.bootstrap_servers, [f"{unique}-a", f"{unique}-b"]
    for topic in topics:
        make_topic(bootstrap, topic)
        send(bootstrap, topic, [*(f"{topic} {n}, and more".encode() for n in range(10)), None])
    path = str(tmp_path / "${topic}" / "data")
    options = {"spark.option.header": "true", "include.columns": "offset", "behavior.on.null.values": "write"}
    create_spark_sink(worker, unique, ",".join(topics), **{"spark.format": "csv", "path": path, **options})

    def rows(topic: str) -> list[dict[str, Any]]:
        return [row for file in files(tmp_path / topic, ".csv") for row in csv.DictReader(file.open())]

    for topic in topics:
        found = wait_for_rows(lambda topic=topic: rows(topic), 11, worker, unique)  # type: ignore[misc]
        assert [row["value"] for row in found] == [*(f"{topic} {n}, and more" for n in range(10)), ""]
        assert found[10]["kafka_offset"] == "10"
    worker.delete(unique)


def test_what_is_read_again_is_not_written_again(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """The group's offsets are gone, and what comes again comes in other portions; unless an operator wants it to."""
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, points(1000))
    config = {"spark.format": "json", "path": str(tmp_path), "include.columns": "offset", **JSON_WITH_SCHEMA}
    portions = {"flush.size": "600", "rotate.interval.ms": "1000", "consumer.override.max.poll.records": "100"}
    create_spark_sink(worker, unique, unique, **config, **portions)
    wait_for_rows(lambda: json_rows(tmp_path), 1000, worker, unique)
    wait_for_committed(bootstrap, unique, unique, {0: 1000})
    before = {file.name: file.stat().st_mtime_ns for file in files(tmp_path, ".json")}
    worker.stop_connector(unique)
    ConsumerGroups({"bootstrap.servers": bootstrap}).delete_group(f"connect-{unique}")
    send(bootstrap, unique, points(7))
    worker.rest.put(f"/connectors/{unique}/resume")
    rows = wait_for_rows(lambda: json_rows(tmp_path), 1007, worker, unique)
    assert [row["kafka_offset"] for row in rows] == list(range(1007))
    wait_for_committed(bootstrap, unique, unique, {0: 1007})
    after = {file.name: file.stat().st_mtime_ns for file in files(tmp_path, ".json")}
    assert before.items() <= after.items()
    # Now an operator wants it: what the topic still has is written anew, once the tasks are at it.
    inner = max(int(name.split("+")[3].split("-")[0]) for name in before)
    assert 0 < inner < 1000
    refused = change_offsets(worker, unique, offset(unique, inner + 1))
    assert refused.status_code == 400
    assert f"go back to {inner} or to 1000" in refused.text
    admin = AdminClient({"bootstrap.servers": bootstrap})  # its futures end as long as it lives
    trimmed = admin.delete_records([Position(unique, 0, inner - 5)])
    assert [future.result().low_watermark for future in trimmed.values()] == [inner - 5]
    reset = change_offsets(worker, unique)
    assert (reset.status_code, "However" in reset.text) == (200, False)
    assert len(json_rows(tmp_path)) == 1007
    worker.rest.put(f"/connectors/{unique}/resume")
    wait_for(lambda: len(again(tmp_path)) >= 1007 - inner, 60, lambda: f"new files: {files(tmp_path, '.json')}")
    assert [row["kafka_offset"] for row in again(tmp_path)] == list(range(inner, 1007))
    assert [row["kafka_offset"] for row in json_rows(tmp_path)] == list(range(1007))
    wait_for_committed(bootstrap, unique, unique, {0: 1007})
    # Who removes a connector does not want its files to be written again.
    assert worker.rest.delete(f"/connectors/{unique}?includeOffsets=true").status_code == 204
    wait_for(lambda: committed(bootstrap, f"connect-{unique}", unique) == {}, 60, "the end of the offsets")
    (record,) = tmp_path.glob("_headrace/*/*/0/0*")
    assert json.loads(record.read_text())["end"] is None


def again(path: Path) -> list[dict[str, Any]]:
    """What is in files that were written in the place of others."""
    return [json.loads(line) for file in files(path, "+1.json") for line in file.read_text().splitlines()]


def test_a_topic_that_is_deleted_and_created_again_is_written_from_its_start(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Its records have the offsets of others that are written already. While the task runs, and while it does not."""
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, events(0, 20))
    more = {"value.schema": "id BIGINT", "consumer.override.metadata.max.age.ms": "1000"}
    create_spark_sink(worker, unique, unique, **{"spark.format": "json", "path": str(tmp_path)}, **more)
    wait_for_rows(lambda: json_rows(tmp_path), 20, worker, unique)
    wait_for_committed(bootstrap, unique, unique, {0: 20})
    replace_topic(bootstrap, TopicSpec(unique, 1, 1, {}))
    send(bootstrap, unique, events(20, 15))
    wait_for_rows(lambda: json_rows(tmp_path), 35, worker, unique)
    worker.stop_connector(unique)
    replace_topic(bootstrap, TopicSpec(unique, 1, 1, {}))
    send(bootstrap, unique, events(35, 10))
    worker.rest.put(f"/connectors/{unique}/resume")
    rows = wait_for_rows(lambda: json_rows(tmp_path), 45, worker, unique)
    wait_for_committed(bootstrap, unique, unique, {0: 10})
    assert sorted(row["id"] for row in rows) == list(range(45))
    worker.delete(unique)


def test_any_file_system_of_hadoops(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Here one that leads to a directory of this machine, but not as a path does."""
    bootstrap, place = broker.bootstrap_servers, tmp_path / "data"
    place.mkdir()
    own_worker.properties["spark.hadoop.fs.viewfs.mounttable.test.link./data"] = place.as_uri()
    own_worker.start()
    numbers = Numbers(bootstrap, unique, 2, per_second=100)
    make_topic(bootstrap, unique, 2)
    config = {"spark.format": "json", "path": "viewfs://test/data/a b", "value.schema": "n INT, tens INT"}
    with numbers.flowing():
        create_spark_sink(own_worker, unique, unique, **config, **{"partition.by": "tens", "include.columns": ORIGIN})
        for count in (100, 250):
            wait_for_rows(lambda: json_rows(place), count, own_worker, unique)
            kill_task(own_worker, unique)
    wait_for_rows(lambda: json_rows(place), numbers.sent, own_worker, unique)
    numbers.assert_exactly_once(json_rows(place))
    assert {file.parent.parent for file in files(place, ".json")} == {place / "a b"}


def test_a_table_shows_its_columns(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    """By its class's name a format of Spark's own is as strange to the sink as one that a package brings."""
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique, 2)
    for partition in (0, 1):
        send(bootstrap, unique, points(100), partition)
    config = {"spark.format": "org.apache.spark.sql.json", "include.columns": ORIGIN, **JSON_WITH_SCHEMA}
    places = {
        f"{unique}-path": {"path": str(tmp_path / f"{unique}-path")},
        # One of Spark's catalog.
        f"{unique}-table": {
            "table": f"table_{unique.replace('-', '_')}",
            "spark.option.path": str(tmp_path / f"{unique}-table"),
        },
    }
    for name, place in places.items():
        create_spark_sink(worker, name, unique, **config, **place)
    for name in places:
        wait_for_rows(lambda name=name: json_rows(tmp_path / name), 200, worker, name)  # type: ignore[misc]
        wait_for_committed(bootstrap, name, unique, {0: 100, 1: 100})
        # It is not the sink that remembers, so that an operator has to see to the rows.
        changed = change_offsets(worker, name)
        assert (changed.status_code, "need to be manually reset" in changed.text) == (200, True)
    send(bootstrap, unique, points(5), 1)
    for name in places:
        worker.rest.put(f"/connectors/{name}/resume")
    for name in places:
        path = tmp_path / name
        rows = wait_for_rows(lambda path=path: json_rows(path), 205, worker, name)  # type: ignore[misc]
        wait_for_committed(bootstrap, name, unique, {0: 100, 1: 105})
        found = sorted((row["kafka_partition"], row["kafka_offset"]) for row in rows)
        assert found == [*((0, n) for n in range(100)), *((1, n) for n in range(105))]
        assert json_rows(path) == rows
        worker.delete(name)


def test_flush_size_bounds_batches(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b"line %d" % n for n in range(1000)])
    config = {"spark.format": "text", "path": str(tmp_path), "flush.size": "300", "rotate.interval.ms": "3600000"}
    worker.create(
        unique,
        **{"connector.class": "SparkSink", "topics": unique, "consumer.override.max.poll.records": "100", **config},
    )
    wait_for(lambda: len(files(tmp_path, ".txt")) >= 3, 60, lambda: worker.log[-3000:])
    lines = [len(file.read_text().splitlines()) for file in files(tmp_path, ".txt")]
    # A consumer's batches may be smaller than asked for.
    assert len(lines) == 3
    assert all(300 <= count < 400 for count in lines)
    # What is held back is not committed.
    wait_for_committed(bootstrap, unique, unique, {0: sum(lines)})
    worker.delete(unique)


def test_what_spark_runs_of_a_task_is_reported_on_request(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    make_topic(broker.bootstrap_servers, unique)
    create_spark_sink(worker, unique, unique, **{"spark.format": "json", "path": str(tmp_path)})
    worker.wait_for_tasks(unique)
    plain = worker.status(unique)
    assert "spark" not in plain["tasks"][0]
    pid = task_pid(worker, unique)
    (task,) = worker.rest.get(f"/connectors/{unique}/status?expand=spark").json()["tasks"]
    spark = task.pop("spark")
    assert task == plain["tasks"][0]
    assert spark["app_id"].startswith("local-")
    assert (spark["executor"], spark["attempt"], spark["pid"]) == ("driver", 0, pid)
    assert spark["job_id"] >= 0
    assert spark["host"]
    assert pid in {process.pid for process in worker.task_processes()}
    listed = worker.rest.get("/connectors?expand=spark").json()[unique]["status"]["tasks"]
    assert listed[0]["spark"] == spark
    worker.delete(unique)


def test_mistakes_are_reported_in_sparks_words(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, place = broker.bootstrap_servers, tmp_path / "data"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b'{"id": 1}', b"no JSON"])
    config = {"spark.format": "json", "path": str(place)}
    jdbc = {"spark.format": "jdbc", "table": "t", "spark.option.url": "jdbc:postgresql://127.0.0.1:1/none"}
    file = tmp_path / "file"
    file.touch()
    typed = {**config, "value.schema": "id BIGINT"}
    for wrong, expected in (
        ({**config, "spark.format": "delta"}, "io.delta:delta-spark"),
        ({**config, "partition.by": "id id id"}, "PARSE_SYNTAX_ERROR"),
        ({**typed, "partition.by": "nowhere"}, "Invalid value 'nowhere' for configuration partition.by: [UNRES"),
        ({**typed, "value.schema": "id NUMBR"}, "Invalid value 'id NUMBR' for configuration value.schema: "),
        ({**config, "path": f"{file}/below"}, f"file:{file} is no directory"),
        (jdbc, "spark.jars.packages=org.postgresql:postgresql:"),
    ):
        assert expected in refusal(worker, f"{unique}-0", unique, **wrong)
    # The columns of later records are not known yet.
    create_spark_sink(worker, f"{unique}-1", unique, **config, **{"partition.by": "nowhere"})
    create_spark_sink(worker, f"{unique}-2", unique, **typed)
    assert "UNRESOLVED_COLUMN" in failure(worker, f"{unique}-1")
    expected = f"The value at offset 1 of {unique}-0 is no JSON that fits value.schema: no JSON"
    assert expected in failure(worker, f"{unique}-2")
    # Of a batch that failed nothing is there, nor has a look at the place left anything.
    assert files(place, "") == []


def test_a_place_that_cannot_be_written_to_is_tried_again_for_some_time(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, place = broker.bootstrap_servers, tmp_path / "place"
    make_topic(bootstrap, unique)
    config = {"spark.format": "json", "path": str(place), "retry.backoff.ms": "100", **JSON_WITH_SCHEMA}
    create_spark_sink(worker, unique, unique, **config, **{"max.retries": "-1"})
    create_spark_sink(worker, f"{unique}-2", unique, **config, **{"max.retries": "2"})
    place.touch()
    send(bootstrap, unique, points(10))
    assert "Given up after 2 retries" in failure(worker, f"{unique}-2")
    wait_for(lambda: "cannot be listed: Not a directory" in worker.log, 60, "a line of the log")
    assert worker.task_states(unique) == ["RUNNING"]
    place.unlink()
    wait_for_rows(lambda: json_rows(place), 10, worker, unique)
    worker.delete(unique)
