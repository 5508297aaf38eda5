# SPDX-License-Identifier: Apache-2.0
"""Previews of sinks: the records that are read, what would be written of them, and that nothing is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from confluent_kafka.admin import AdminClient

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.connectors.spark_sink.spark_types import spark_type
from headrace.inspection.readable_json import ReadableJson
from tests.integration.previews import ends, ends_at_rest, preview
from tests.support.polling import wait_for
from tests.support.sinks import make_topic, send
from tests.support.worker_process import WorkerProcess


def test_a_sinks_records_are_read_without_a_group_and_not_put(
    previewing: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    make_topic(broker.bootstrap_servers, unique, 2)
    send(broker.bootstrap_servers, unique, [b'{"n": 1}', b"no json", None], key=b"k")
    send(broker.bootstrap_servers, unique, [b'{"n": 2}'], partition=1)
    file = tmp_path / "lines.txt"
    config = {
        "name": unique,
        "connector.class": "FileStreamSink",
        "topics": f"{unique}-absent,{unique}",
        "file": str(file),
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{unique}-letters",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
        "transforms": "n",
        "transforms.n.type": "ExtractField$Value",
        "transforms.n.field": "n",
    }
    before = ends_at_rest(broker)
    answer = preview(previewing, config, timeout=30)
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert (shown["type"], shown["end"], shown["error"]) == ("sink", "end", None)
    by_offset = {(each["consumed"]["partition"], each["consumed"]["offset"]): each for each in shown["records"]}
    assert {where: each["outcome"] for where, each in by_offset.items()} == {
        (0, 0): "put",
        (0, 1): "dead letter",
        (0, 2): "put",
        (1, 0): "put",
    }
    assert (
        by_offset[0, 0]["consumed"]["value"]["value"] == {"n": 1} and by_offset[0, 0]["result"]["value"]["value"] == 1
    )
    bad = by_offset[0, 1]
    assert bad["error"]["stage"] == "VALUE_CONVERTER" and "error" in bad["consumed"]["value"]
    assert sorted(shown["dryRun"]["rows"]) == ["1", "2", "null"]
    last = preview(previewing, config, records=1, fromEnd="true", timeout=30).json()
    assert (last["end"], len(last["records"])) == ("records", 1)
    spark = {name: text for name, text in config.items() if name != "file"}
    spark |= {"connector.class": "SparkSink", "spark.format": "parquet", "path": str(tmp_path / "table")}
    spark |= {"transforms": "", "behavior.on.null.values": "fail"}
    refused = preview(previewing, spark, timeout=30).json()["error"]
    assert refused["stage"] == "SparkSinkConnector.dry_run" and "has no value" in refused["message"]
    rows = preview(previewing, {**spark, "behavior.on.null.values": "ignore"}, timeout=30)
    assert rows.status_code == 200, rows.text
    written = {"rows": [{"value": '{"n":1}'}, {"value": '{"n":2}'}], "schema": "value STRING"}
    assert {**rows.json()["dryRun"], "rows": sorted(rows.json()["dryRun"]["rows"], key=str)} == written
    assert not file.exists() and not (tmp_path / "table").exists()
    assert ends(broker) == before
    assert broker_groups(broker, f"connect-{unique}") == []


def test_topics_of_a_sink_are_found_by_its_pattern(
    previewing: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    fitting = [f"{unique}-1", f"{unique}-22"]
    for topic in (*fitting, f"{unique}-x", f"other-{unique}-1"):
        make_topic(broker.bootstrap_servers, topic, 1)
        send(broker.bootstrap_servers, topic, [topic.encode()])
    file = tmp_path / "lines.txt"
    config = {"name": unique, "connector.class": "FileStreamSink", "topics.regex": f"{unique}-\\d+", "file": str(file)}
    shown = preview(previewing, config, timeout=30).json()
    assert [record["consumed"]["topic"] for record in shown["records"]] == fitting
    assert shown["dryRun"]["rows"] == fitting
    none = preview(previewing, {**config, "topics.regex": f"{unique}-none"}, timeout=30).json()
    assert (none["end"], none["records"], none["error"], none["dryRun"]) == ("end", [], None, None)
    assert not file.exists() and broker_groups(broker, f"connect-{unique}") == []


def test_rows_for_spark_are_those_that_it_writes(
    previewing: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    def send_row(fields: list[dict[str, Any]], row: dict[str, Any]) -> None:
        schema = {"type": "struct", "fields": fields}
        value = json.dumps({"schema": schema, "payload": row}).encode()
        send(broker.bootstrap_servers, unique, [value], key=b"k")

    make_topic(broker.bootstrap_servers, unique, 1)
    moment = {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
    fields = [
        {"field": "id", "type": "int64"},
        {"field": "name", "type": "string", "optional": True},
        {"field": "tags", "type": "array", "items": {"type": "string"}},
        moment,
    ]
    send_row(fields, {"id": 1, "name": "a", "tags": ["x", "y"], "at": 1_700_000_000_001})
    send_row(fields, {"id": 2, "name": None, "tags": [], "at": 0})
    table = tmp_path / "table"
    config = {
        "name": unique,
        "connector.class": "SparkSink",
        "topics": unique,
        "spark.format": "parquet",
        "path": str(table),
        "include.columns": "key,offset",
        "flush.size": "2",
        "value.converter": "JsonConverter",
    }
    shown = preview(previewing, config, timeout=30).json()
    assert (shown["error"], shown["notes"]) == (None, []) and not table.exists()
    previewing.create(unique, **{name: text for name, text in config.items() if name != "name"})
    (file,) = wait_for(lambda: list(table.glob("*.parquet")), 120, lambda: previewing.log[-3000:])
    written = pq.read_table(file)
    assert shown["dryRun"]["rows"] == [ReadableJson(8192).value(row) for row in written.to_pylist()]
    named = ", ".join(f"{field.name} {spark_type(field.type)}" for field in written.schema)
    assert shown["dryRun"]["schema"] == named
    assert shown["dryRun"]["schema"].startswith("id BIGINT, name STRING, tags ARRAY<STRING>, at TIMESTAMP, kafka_key")
    send_row(
        [{"field": "id", "type": "int32"}, *fields[1:3], {"field": "new", "type": "boolean"}],
        {"id": 3, "tags": [], "new": True},
    )
    differing = preview(previewing, config, records=1, fromEnd="true", timeout=30).json()
    assert differing["notes"] == [
        f"id is INT, and BIGINT in {file}",
        f"{file} has no column new BOOLEAN",
        f"{file} has the column at TIMESTAMP, which these records have not",
    ]
    previewing.delete(unique)


def broker_groups(broker: EmbeddedBroker, name: str) -> list[str]:
    """The consumer group of that name, if there is one."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    return [each.group_id for each in admin.list_consumer_groups().result(30).valid if each.group_id == name]
