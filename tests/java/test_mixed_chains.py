# SPDX-License-Identifier: Apache-2.0
"""Chains with plugins in Java and in Python on a real worker: the bytes in the topics are those of headrace's own."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from headrace import KAFKA_VERSION
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.java.store import PluginStore
from tests.support.debian import or_skip
from tests.support.sinks import (
    Journal,
    create_journal_sink,
    make_topic,
    numbers,
    send,
    wait_for_committed,
    wait_for_lines,
)
from tests.support.topics import Read, read_committed, wait_for_values
from tests.support.worker_process import PLUGINS, WorkerProcess

KAFKA: Final = "org.apache.kafka.connect"
POSTGRES: Final = "io.debezium.connector.postgresql.PostgresConnector"
FILE_SOURCE: Final = f"{KAFKA}.file.FileStreamSourceConnector"
FILE_SINK: Final = f"{KAFKA}.file.FileStreamSinkConnector"
JSON: Final = f"{KAFKA}.json.JsonConverter"
DEBEZIUM_VERSION: Final = "3.3.1.Final"
INSTALLED: Final = (
    *(f"org.apache.kafka:connect-{name}:{KAFKA_VERSION}" for name in ("transforms", "json", "file")),
    f"io.debezium:debezium-connector-postgres:{DEBEZIUM_VERSION}",
)
LINES: Final = [*["one", "", "größer", '{"a": 1}', "\u2028 and \U0001f600"] * 6, "the last"]
"""More than the records that cross one by one."""
ERRORS: Final = "__connect.errors."
P: Final = "errors.deadletterqueue."


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> PluginStore:
    made = PluginStore(tmp_path_factory.mktemp("mixed") / "plugins")
    for coordinate in INSTALLED:
        or_skip(lambda coordinate=coordinate: made.install(coordinate))  # type: ignore[misc]
    return made


@pytest.fixture(scope="module")
def worker(
    broker: EmbeddedBroker, store: PluginStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A worker that finds the jars."""
    path = {"plugin.path": f"{PLUGINS},{store.directory}", "group.id": "mixed"}
    with WorkerProcess(tmp_path_factory.mktemp("mixed-worker"), broker.bootstrap_servers, **path) as running:
        running.await_answer(path="/connectors")
        yield running


def java(name: str) -> str:
    """The name by which a worker uses the class of a jar, where headrace has it built in."""
    return f"java:{KAFKA}.{name}"


def of_java(config: Mapping[str, str], *aliases: str) -> dict[str, str]:
    """A configuration whose transformations, predicates and converters with these aliases are those of the jars."""
    types = {f"{prefix}.{each}.type" for prefix in ("transforms", "predicates") for each in aliases} | {*aliases}
    return {name: f"java:{text}" if name in types else text for name, text in config.items()}


def json_converters(schemas: bool = True) -> dict[str, str]:
    return {
        "key.converter": JSON,
        "value.converter": JSON,
        "key.converter.schemas.enable": str(schemas).lower(),
        "value.converter.schemas.enable": str(schemas).lower(),
    }


CHAIN: Final = {
    "transforms": "hoist,origin,header,mask,key,untouched,none,name",
    "transforms.hoist.type": f"{KAFKA}.transforms.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.origin.type": f"{KAFKA}.transforms.InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "file",
    "transforms.header.type": f"{KAFKA}.transforms.InsertHeader",
    "transforms.header.header": "number",
    "transforms.header.value.literal": "7",
    "transforms.mask.type": f"{KAFKA}.transforms.MaskField$Value",
    "transforms.mask.fields": "origin",
    "transforms.mask.replacement": "***",
    "transforms.mask.predicate": "numbered",
    "transforms.key.type": f"{KAFKA}.transforms.ValueToKey",
    "transforms.key.fields": "line",
    "transforms.untouched.type": f"{KAFKA}.transforms.MaskField$Value",
    "transforms.untouched.fields": "line",
    "transforms.untouched.predicate": "numbered",
    "transforms.untouched.negate": "true",
    "transforms.none.type": f"{KAFKA}.transforms.Filter",
    "transforms.none.predicate": "tombstone",
    "transforms.name.type": f"{KAFKA}.transforms.SetSchemaMetadata$Value",
    "transforms.name.schema.name": "lines",
    "transforms.name.schema.version": "3",
    "predicates": "numbered,tombstone",
    "predicates.numbered.type": f"{KAFKA}.transforms.predicates.HasHeaderKey",
    "predicates.numbered.name": "number",
    "predicates.tombstone.type": f"{KAFKA}.transforms.predicates.RecordIsTombstone",
    "header.converter": JSON,
    **json_converters(),
}
LATE: Final = {
    "transforms": "time",
    "transforms.time.type": java("transforms.TimestampConverter$Value"),
    "transforms.time.target.type": "Timestamp",
    "transforms.time.format": "yyyy-MM-dd",
}
EVEN: Final = {
    "predicates": "even",
    "predicates.even.type": "failing_transforms.Multiple",
    "predicates.even.of": "2",
}
SCHEMA_AND_7: Final = b'{"schema":{"type":"int8","optional":false},"payload":7}'


def written(worker: WorkerProcess, broker: EmbeddedBroker, name: str, count: int, **config: str) -> list[Read]:
    """Create a source, wait for its records in the topic of its name, and delete it."""
    worker.create(name, **{"tasks.max": "1", "exactly.once.support": "required", "topic": name, **config})
    wait_for_values(broker.bootstrap_servers, name, count, 120)
    worker.wait_for_tasks(name)
    worker.delete(name)
    found = read_committed(broker.bootstrap_servers, name)
    assert len(found) == count
    return found


def contents(records: list[Read]) -> list[tuple[Any, ...]]:
    return [(each.key, each.value, each.headers) for each in records]


def test_plugins_of_jars_are_listed_with_type_and_version(worker: WorkerProcess) -> None:
    def listed(**query: str) -> list[tuple[str, str, str | None]]:
        answer = worker.rest.get("/connector-plugins", params=query).json()
        return [(each["class"], each["type"], each.get("version")) for each in answer]

    connectors, everything = listed(), listed(connectorsOnly="false")
    assert {kind for _, kind, _ in connectors} == {"source", "sink"}
    assert (POSTGRES, "source", DEBEZIUM_VERSION) in connectors
    assert set(connectors) < set(everything)
    for name in ("ExtractNewRecordState", "ByLogicalTableRouter"):
        assert (f"io.debezium.transforms.{name}", "transformation", DEBEZIUM_VERSION) in everything


@pytest.mark.parametrize(
    "aliases",
    [
        ("hoist", "header", "mask", "numbered", "name"),
        ("origin", "key", "untouched", "none", "tombstone", "key.converter", "header.converter"),
        ("hoist", "origin", "header", "mask", "key", "untouched", "none", "name", "numbered", "tombstone",
         "key.converter", "value.converter", "header.converter"),
    ],
    ids=["half", "the other half", "all"],
)  # fmt: skip
@pytest.mark.parametrize("source", [FILE_SOURCE, f"java:{FILE_SOURCE}"], ids=["Python source", "Java source"])
def test_the_bytes_are_the_same_as_without_java(
    source: str, aliases: tuple[str, ...], worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.write_text("".join(f"{line}\n" for line in LINES))
    own = {"connector.class": FILE_SOURCE, "file": str(file), **CHAIN}
    expected = contents(written(worker, broker, f"{unique}-own", len(LINES), **own))
    mixed = {**of_java(own, *aliases), "connector.class": source}
    assert contents(written(worker, broker, unique, len(LINES), **mixed)) == expected
    payloads = [json.loads(value)["payload"] for _, value, _ in expected]
    assert payloads == [{"line": line, "origin": "***"} for line in LINES]
    assert [headers for *_, headers in expected] == [[("number", SCHEMA_AND_7)]] * len(LINES)


def test_records_of_a_source_stay_in_java(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Up to their bytes: no time of Python's is in the year 10000."""
    file = tmp_path / "lines"
    file.write_text("10000-01-01\n" * 10)
    config = {"connector.class": f"java:{FILE_SOURCE}", **LATE, **json_converters(schemas=False)}
    worker.create(unique, **config, topic=unique, file=str(file))
    assert wait_for_values(broker.bootstrap_servers, unique, 10, 120) == [b"253402300800000"] * 10
    worker.delete(unique)


def test_records_of_a_sink_stay_in_java(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """In batches of any size."""
    out, bootstrap = tmp_path / "out.txt", broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b"10000-01-01"])
    config = {"connector.class": f"java:{FILE_SINK}", "errors.tolerance": "all", **LATE}
    worker.create(unique, **config, topics=unique, file=str(out))
    assert [line[:3] for line in wait_for_lines(out, 1, 120)] == ["Sat"]
    send(bootstrap, unique, [b"10000-01-01"] * 5000)
    assert {line[:3] for line in wait_for_lines(out, 5001, 120)} == {"Sat"}
    worker.delete(unique)


def test_steps_in_python_of_a_java_source(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """They have no counterparts in Java: a predicate of one of Java's transformations, and a transformation."""
    file, bootstrap = tmp_path / "lines", broker.bootstrap_servers
    file.write_text("".join(f"{number}\n" for number in range(100)))
    config = {
        "connector.class": f"java:{FILE_SOURCE}",
        "transforms": "note,spread,hoist",
        "transforms.note.type": java("transforms.InsertHeader"),
        "transforms.note.header": "even",
        "transforms.note.value.literal": "yes",
        "transforms.note.predicate": "even",
        "transforms.spread.type": "spreading_transform.Spread",
        "transforms.spread.each": "50",
        "transforms.hoist.type": java("transforms.HoistField$Value"),
        "transforms.hoist.field": "line",
        **EVEN,
        **json_converters(schemas=False),
    }
    worker.create(unique, **of_java(config, "value.converter"), topic=unique, file=str(file))
    for topic, first in ((f"{unique}-0", 0), (f"{unique}-1", 50)):
        wait_for_values(bootstrap, topic, 50, 120)
        notes = {number: [] if number % 2 else [("even", b"yes")] for number in range(first, first + 50)}
        expected = [(None, b'{"line":"%d"}' % number, note) for number, note in notes.items()]
        assert contents(read_committed(bootstrap, topic)) == expected
    worker.delete(unique)


def test_steps_in_python_of_a_java_sink(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    out, bootstrap = tmp_path / "out.txt", broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 1000))
    config = {
        "connector.class": f"java:{FILE_SINK}",
        "transforms": "odd,swell",
        "transforms.odd.type": java("transforms.Filter"),
        "transforms.odd.predicate": "even",
        "transforms.odd.negate": "true",
        "transforms.swell.type": "failing_transforms.Swell",
        "transforms.swell.every": "100",
        "transforms.swell.bytes": "3",
        **EVEN,
    }
    worker.create(unique, **config, topics=unique, file=str(out))
    expected = ["xxx" if number % 100 == 0 else str(number) for number in range(0, 1000, 2)]
    assert wait_for_lines(out, 500, 120) == expected
    worker.delete(unique)


def test_debeziums_transformations_of_a_source_in_python(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    config = {
        "connector.class": "changes_source.ChangesConnector",
        "rows": "4",
        "transforms": "route,unwrap,where",
        "transforms.route.type": "io.debezium.transforms.ByLogicalTableRouter",
        "transforms.route.topic.regex": "(.*)-shard",
        "transforms.route.topic.replacement": "$1",
        "transforms.route.key.enforce.uniqueness": "false",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.add.fields": "op,source.lsn",
        "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
        "transforms.where.type": "InsertField$Value",
        "transforms.where.static.field": "where",
        "transforms.where.static.value": "here",
        "topic": f"{unique}-shard",
        **json_converters(schemas=False),
    }
    found = written(worker, broker, unique, 6, **config)
    rows = [(json.loads(each.key or b""), json.loads(each.value or b"")) for each in found]
    gone = ("false", "true")
    assert rows == [
        ({"id": row}, {"id": row, "item": f"item {row}", "__deleted": gone[op == "d"], "__op": op,
                       "__source_lsn": row, "where": "here"})
        for row, op in ((0, "c"), (1, "c"), (1, "d"), (2, "c"), (3, "c"), (3, "d"))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sink", "aliases"),
    [
        (FILE_SINK, ("value", "text", "value.converter", "key.converter")),
        (f"java:{FILE_SINK}", ("text",)),
        (f"java:{FILE_SINK}", ("value", "text", "value.converter", "key.converter")),
    ],
    ids=["Python sink", "Java sink", "Java sink and chain"],
)
def test_sinks(
    sink: str, aliases: tuple[str, ...], worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    out, bootstrap = tmp_path / "out.txt", broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [json.dumps({"line": number}).encode() for number in range(20)], key=b'{"k": 1}')
    config = {
        "transforms": "value,text",
        "transforms.value.type": f"{KAFKA}.transforms.ExtractField$Value",
        "transforms.value.field": "line",
        "transforms.text.type": f"{KAFKA}.transforms.Cast$Value",
        "transforms.text.spec": "string",
        **json_converters(schemas=False),
    }
    mixed = {**of_java(config, *aliases), "connector.class": sink}
    worker.create(unique, **mixed, **{"tasks.max": "1", "topics": unique, "file": str(out)})
    assert wait_for_lines(out, 20, 120) == [str(number) for number in range(20)]
    wait_for_committed(bootstrap, unique, unique, {0: 20})
    worker.delete(unique)


def test_a_java_header_converter_of_a_sink_in_python(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, [b"a"], headers=[("number", SCHEMA_AND_7)])
    journal = Journal(tmp_path / "journal")
    create_journal_sink(worker, unique, unique, journal, **{"header.converter": f"java:{JSON}"})
    journal.wait_for_values(["a"], 120)
    assert journal.records()[0]["headers"] == [["number", 7]]
    worker.delete(unique)


@pytest.mark.parametrize("prefix", ["", "java:"], ids=["Python", "Java"])
def test_the_header_converter_of_a_java_sink_reads_headers(
    prefix: str, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """One header of a batch that Java converts is no JSON."""
    out, bootstrap = tmp_path / "out.txt", broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 400), headers=[("number", SCHEMA_AND_7)])
    send(bootstrap, unique, [b"bad"], headers=[("number", b"{no json")])
    errors = {"errors.tolerance": "all", f"{P}topic.name": f"{unique}-dead", f"{P}topic.replication.factor": "1",
              f"{P}context.headers.enable": "true"}  # fmt: skip
    config = {"connector.class": f"java:{FILE_SINK}", "header.converter": f"{prefix}{JSON}", **errors}
    worker.create(unique, **config, topics=unique, file=str(out))
    assert wait_for_lines(out, 400, 120) == [str(number) for number in range(400)]
    (letter,) = wait_for_values(bootstrap, f"{unique}-dead", 1) and read_committed(bootstrap, f"{unique}-dead")
    headers = dict(letter.headers)
    assert letter.value == b"bad"
    assert (headers[f"{ERRORS}stage"], headers[f"{ERRORS}class.name"]) == (b"HEADER_CONVERTER", JSON.encode())
    worker.delete(unique)


@pytest.mark.parametrize(
    ("java_part", "class_name", "stage", "bad"),
    [
        ("number", f"{KAFKA}.transforms.Cast$Value", "TRANSFORMATION", b'"no number"'),
        ("value.converter", JSON, "VALUE_CONVERTER", b"{no json"),
    ],
)
def test_dead_letters_of_a_java_sink_name_stage_and_class(
    java_part: str, class_name: str, stage: str, bad: bytes,
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path,
) -> None:  # fmt: skip
    out, bootstrap = tmp_path / "out.txt", broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b"1", bad, b"2"])
    config = {
        "connector.class": f"java:{FILE_SINK}",
        "transforms": "number",
        "transforms.number.type": f"{KAFKA}.transforms.Cast$Value",
        "transforms.number.spec": "int32",
        "errors.tolerance": "all",
        f"{P}topic.name": f"{unique}-dead",
        f"{P}topic.replication.factor": "1",
        f"{P}context.headers.enable": "true",
        **json_converters(schemas=False),
    }
    worker.create(unique, **of_java(config, java_part), topics=unique, file=str(out))
    wait_for_values(bootstrap, f"{unique}-dead", 1, 120)
    assert wait_for_lines(out, 2) == ["1", "2"]
    (letter,) = read_committed(bootstrap, f"{unique}-dead")
    headers = {name: (value or b"").decode() for name, value in letter.headers}
    assert letter.value == bad
    assert (headers[f"{ERRORS}stage"], headers[f"{ERRORS}class.name"]) == (stage, class_name)
    assert headers[f"{ERRORS}exception.class.name"] == "org.apache.kafka.connect.errors.DataException"
    trace = headers[f"{ERRORS}exception.stacktrace"]
    assert f"at {class_name.partition('$')[0]}" in trace, trace
    worker.delete(unique)


def test_dead_letters_of_a_source(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    file, bootstrap = tmp_path / "lines", broker.bootstrap_servers
    file.write_text("1\nno number\n2\n")
    config = {
        "connector.class": f"java:{FILE_SOURCE}",
        "file": str(file),
        "topic": unique,
        "transforms": "number",
        "transforms.number.type": java("transforms.Cast$Value"),
        "transforms.number.spec": "int32",
        "errors.tolerance": "all",
        f"{P}topic.name": f"{unique}-dead",
        f"{P}topic.replication.factor": "1",
        f"{P}context.headers.enable": "true",
        **json_converters(schemas=False),
    }
    worker.create(unique, **config)
    assert wait_for_values(bootstrap, unique, 2, 120) == [b"1", b"2"]
    wait_for_values(bootstrap, f"{unique}-dead", 1)
    (letter,) = read_committed(bootstrap, f"{unique}-dead")
    headers = {name: (value or b"").decode() for name, value in letter.headers}
    assert letter.value == b'"no number"'  # as JSON, since Kafka never had it
    assert headers[f"{ERRORS}class.name"] == f"{KAFKA}.transforms.Cast$Value"
    assert json.loads(headers[f"{ERRORS}source.partition"]) == {"filename": str(file)}
    worker.delete(unique)


def test_a_killed_source_and_offsets_that_an_operator_sets(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file, bootstrap = tmp_path / "lines", broker.bootstrap_servers
    lines = [f"line {number:05}" for number in range(6000)]
    file.write_text("".join(f"{line}\n" for line in lines))
    config = {"connector.class": f"java:{FILE_SOURCE}", "batch.size": "100", "exactly.once.support": "required"}
    worker.create(unique, **config, file=str(file), topic=unique)
    wait_for_values(bootstrap, unique, 300, 120)
    worker.task_process().kill()
    assert wait_for_values(bootstrap, unique, 6000, 120) == [line.encode() for line in lines]

    place, partition = f"/connectors/{unique}/offsets", {"filename": str(file)}
    worker.stop_connector(unique)
    at = {"partition": partition, "offset": {"position": file.stat().st_size}}
    assert worker.rest.get(place).json()["offsets"] == [at]
    refused = worker.rest.patch(place, json={"offsets": [{"partition": partition, "offset": {"position": -1}}]})
    assert refused.status_code == 400 and "non-negative" in refused.text, refused.text
    back = {"partition": partition, "offset": {"position": file.stat().st_size - 2 * len("line 00000\n")}}
    assert worker.rest.patch(place, json={"offsets": [back]}).is_success
    worker.rest.put(f"/connectors/{unique}/resume")
    again = wait_for_values(bootstrap, unique, 6002, 120)
    assert again[6000:] == [b"line 05998", b"line 05999"]
    worker.delete(unique)


def test_the_preview_of_a_java_source(worker: WorkerProcess, unique: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("one\ntwo\n")
    config = {"name": unique, "connector.class": f"java:{FILE_SOURCE}", "file": str(file), "topic": unique}
    shown = _preview(worker, {**config, **of_java(CHAIN, "hoist", "numbered", "value.converter")}, records=2)
    assert (shown["end"], shown["error"], shown["tasks"]) == ("records", None, 1), shown
    assert [each["polled"]["value"]["value"] for each in shown["records"]] == ["one", "two"]
    first = shown["records"][0]
    outcomes = [(step["transform"], step["outcome"]) for step in first["steps"]]
    assert outcomes[:2] == [("hoist", "changed"), ("origin", "changed")]
    assert first["sourceOffset"] == {"position": 4}
    value = json.loads(base64.b64decode(first["result"]["value"]["bytes"]))
    assert value["payload"] == {"line": "one", "origin": "***"}


def test_the_preview_of_a_java_sink(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, [b"1.9", b'"no number"'])
    out = tmp_path / "out.txt"
    config = {
        "name": unique,
        "connector.class": f"java:{FILE_SINK}",
        "topics": unique,
        "file": str(out),
        "transforms": "number",
        "transforms.number.type": java("transforms.Cast$Value"),
        "transforms.number.spec": "int32",
        **json_converters(schemas=False),
    }
    one, two = _preview(worker, config)["records"]
    assert (one["outcome"], one["steps"][0]["after"]["value"]["value"]) == ("put", 1)
    assert two["outcome"] == "fails the task"
    assert not out.exists()


def _preview(worker: WorkerProcess, config: Mapping[str, str], **query: Any) -> dict[str, Any]:
    path = f"/connector-plugins/{config['connector.class']}/config/preview"
    answer = worker.rest.post(path, json=dict(config), params=query)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown
