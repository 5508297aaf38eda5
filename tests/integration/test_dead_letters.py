# SPDX-License-Identifier: Apache-2.0
"""Dead letters by commands and REST, on a real worker: shown, redriven once each, stopped in loops, discarded."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from typer.testing import CliRunner

from bench.java_connect import fetch
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.cli.main import app
from tests.integration.quick_java import QuickJavaConnect
from tests.integration.written_letters import P
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.sinks import committed, create_sink, make_topic, numbers, send, wait_for_lines
from tests.support.topics import read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess

QUOTING = """
from headrace.api import ConfigError, Converter, DataError, Transformation

class Quoting(Converter):
    def configure(self, configs, is_key):
        self.token = configs["token"]
    def from_connect_data(self, topic, schema, value):
        raise DataError(f"{self.token} is refused")
    def to_connect_data(self, topic, value):
        raise DataError(f"{self.token} is refused")

class Quote(Transformation):
    def configure(self, configs):
        self.token = configs["token"]
        if configs.get("at.once"):
            raise ConfigError(f"{self.token} is invalid")
    def apply(self, record):
        raise DataError(f"{self.token} is refused")
"""
JSON = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
Run = Callable[..., str]


def set_aside(name: str) -> dict[str, str]:
    prefix = "errors.deadletterqueue."
    return {
        "errors.tolerance": "all",
        f"{prefix}topic.name": f"{name}-dead",
        f"{prefix}topic.replication.factor": "1",
        f"{prefix}context.headers.enable": "true",
    }


@pytest.fixture
def run(worker: WorkerProcess, tmp_path: Path) -> Run:
    def run(*args: str, code: int = 0) -> str:
        environment = {"HEADRACE_URL": str(worker.rest.base_url), "XDG_CONFIG_HOME": str(tmp_path)}
        result = CliRunner().invoke(app, ["dlq", *args], env=environment)
        assert result.exit_code == code, (args, result.stdout, result.stderr)
        return result.stdout + result.stderr

    return run


def shown(run: Run, name: str, *args: str) -> Any:
    return json.loads(run("show", name, "-o", "json", *args))


def test_a_sinks_letters(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, run: Run) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    values = [b"no json %d" % n if n in (3, 7) else b"%d" % n for n in range(10)]
    send(bootstrap, unique, values, key=b"k")
    create_sink(worker, unique, unique, file, **JSON, **set_aside(unique))
    wait_for_lines(file, 8)
    wait_for_values(bootstrap, f"{unique}-dead", 2)

    found = shown(run, unique)
    assert (found["pending"], found["complete"], found["type"]) == (2, True, "sink")
    (group,) = found["groups"]
    assert (group["count"], group["stage"], group["topics"]) == (2, "VALUE_CONVERTER", [unique])
    assert group["exception"] == "org.apache.kafka.connect.errors.DataException"
    letter = found["letters"][0]
    assert (letter["origin"]["topic"], letter["origin"]["partition"], letter["origin"]["offset"]) == (unique, "0", "3")
    record = letter["record"]
    assert (record["topic"], record["offset"], record["key"]["value"]) == (unique, 3, "k")
    assert "error" in record["value"]
    assert "no json 3" in run("show", unique)
    assert f"{unique}-dead  2" in run("ls")

    # The connector cannot read it still: the record comes back, and is not redriven without being asked.
    run("redrive", unique, "--filter", "offset=0", "--yes")
    wait_for(lambda: shown(run, unique)["redriven"] == 1, 60, "the record to come back")
    assert shown(run, unique)["pending"] == 2
    before = read_committed(bootstrap, unique)
    assert "1 were redriven before" in run("redrive", unique, "--filter", "offset=2-", "--dry-run")
    run("redrive", unique, "--filter", "offset=2-", "--yes")
    assert read_committed(bootstrap, unique) == before

    # The connector is mended.
    mended = {name: "org.apache.kafka.connect.storage.StringConverter" for name in ("value.converter",)}
    config = worker.rest.get(f"/connectors/{unique}/config").json()
    assert worker.rest.put(f"/connectors/{unique}/config", json={**config, **mended}).status_code == 200
    worker.wait_for_tasks(unique, "RUNNING")
    out = run("redrive", unique, "--again", "--yes")
    assert "COMPLETED: 2 passed, 2 redriven" in out
    lines = wait_for_lines(file, 10)
    assert sorted(lines[8:]) == ["no json 3", "no json 7"]
    assert wait_for_values(bootstrap, unique, len(values) + 3) == [*values, b"no json 3", b"no json 7", b"no json 3"]
    assert shown(run, unique)["pending"] == 0
    assert "0 dead letters" in run("redrive", unique, "--yes")


def test_an_edited_chain_and_discard(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, run: Run
) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b"1", b"no json", b"neither", b"4"])
    create_sink(worker, unique, unique, file, **JSON, **set_aside(unique))
    wait_for_values(bootstrap, f"{unique}-dead", 2)
    hoist = {"transforms": "h", "transforms.h.type": "HoistField$Value", "transforms.h.field": "line"}
    edit = tmp_path / "edit.json"
    edit.write_text(json.dumps({"file": "ignored", "value.converter": "StringConverter", **hoist}))
    out = run("redrive", unique, "--config", str(edit), "--filter", "offset=0", "--yes")
    assert "only converters and transformations matter" in out
    assert wait_for_values(bootstrap, unique, 5)[-1] == b'{"line":"no json"}'
    assert wait_for_lines(file, 3)[-1] == "{line=no json}"
    assert "1 dead letter of" in run("discard", unique, "--dry-run")
    run("discard", unique, "--yes")
    assert shown(run, unique)["pending"] == 0
    assert len(read_committed(bootstrap, unique)) == 5
    run("redrive", unique, "--to-topic", "no-such-topic", code=1)
    run("show", unique, "--filter", "colour=red", code=2)
    run("show", "no-such-connector", code=3)


def test_letters_of_a_topic_that_connectors_share(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, run: Run
) -> None:
    """One that does not say whose it is could be redriven by each of them."""
    bootstrap, other, dead = broker.bootstrap_servers, f"{unique}-other", f"{unique}-dead"
    for topic in (unique, dead):
        make_topic(bootstrap, topic)
    for name in (unique, other):
        create_sink(worker, name, unique, tmp_path / name, **set_aside(unique))
    origin = (f"{P}topic", unique.encode())
    send(bootstrap, dead, [b"unnamed"], headers=[origin])
    for name in (unique, other):
        send(bootstrap, dead, [name.encode()], headers=[origin, (f"{P}connector.name", name.encode())])
    assert [each["partition"] for each in shown(run, unique)["letters"]] == [0, 0]
    out = run("redrive", unique, "--yes")
    assert f"the letter does not name its connector, and {other} has the same dead letter topic" in out
    run("redrive", other, "--yes")
    assert sorted(wait_for_values(bootstrap, unique, 2), key=str) == [unique.encode(), other.encode()]
    # Now it can be of one connector alone.
    worker.delete(other)
    assert "1 redriven" in run("redrive", unique, "--yes")
    assert wait_for_values(bootstrap, unique, 3)[-1] == b"unnamed"


def test_a_sources_letters(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, run: Run
) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "in.txt"
    make_topic(bootstrap, unique)
    file.write_text("1\nforty\n3\n")
    cast = {"transforms": "age", "transforms.age.type": "Cast$Value", "transforms.age.spec": "int32"}
    source = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": unique}
    worker.create(unique, **source, **cast, **set_aside(unique))
    wait_for_values(bootstrap, unique, 2)
    wait_for_values(bootstrap, f"{unique}-dead", 1)
    found = shown(run, unique)
    assert (found["type"], found["letters"][0]["record"]["value"]["value"]) == ("source", "forty")
    assert found["letters"][0]["origin"]["source_offset"] == '{"position":2}' or found["letters"][0]["origin"]
    # By the connector's own chain it fails again, and stays.
    out = run("redrive", unique, "--yes")
    assert "1 failed, 1 kept" in out and "'forty' is no int32" in out
    edit = tmp_path / "edit.json"
    edit.write_text(json.dumps({"transforms": ""}))
    assert "1 redriven" in run("redrive", unique, "--config", str(edit), "--yes")
    assert wait_for_values(bootstrap, unique, 3) == [b"1", b"3", b"forty"]
    assert shown(run, unique)["pending"] == 0


def test_a_redrive_is_cancelled_when_its_worker_stops(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Each letter is redriven or pending: its last transaction is complete, so no reader waits for the end of one."""
    bootstrap, dead, count = broker.bootstrap_servers, f"{unique}-dead", 50_000
    make_topic(bootstrap, unique)
    make_topic(bootstrap, dead)
    send(bootstrap, dead, numbers(0, count), headers=[("__connect.errors.topic", unique.encode())])
    own_worker.start()
    sink = {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": unique, "file": str(tmp_path / "out")}
    body = {"name": unique, "config": {**sink, **set_aside(unique)}, "initial_state": "STOPPED"}
    assert own_worker.rest.post("/connectors", json=body).status_code == 201
    redrive = f"/connectors/{unique}/dead-letters/redrive"
    assert own_worker.rest.post(redrive).status_code == 202
    wait_for(lambda: (own_worker.rest.get(redrive).json()["counts"] or {}).get("redriven"), 120, "redriven letters")
    assert own_worker.stop() == 0
    assert "The redrive of dead letters is CANCELLED" in own_worker.log
    wait_for(lambda: not open_transactions(bootstrap, unique, dead), 10, "the markers of the last transaction")
    redriven = read_committed(bootstrap, unique)
    assert [each.value for each in redriven] == numbers(0, len(redriven)) and 0 < len(redriven) < count
    assert committed(bootstrap, f"headrace-dead-letters-{unique}", dead) == {0: len(redriven)}


def test_a_redrive_hides_values_of_references(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Those of the connector's configuration, and those of the edited one."""
    bootstrap, secrets = broker.bootstrap_servers, tmp_path / "secrets.properties"
    own, edited = f"${{file:{secrets}:own}}", f"${{file:{secrets}:edited}}"
    # One looks like a reference itself, and is not looked up again.
    secrets.write_text(f"own={edited}\nedited=shut-sesame\n")
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "quoting.py").write_text(QUOTING)
    own_worker.properties |= {
        "plugin.path": str(plugins),
        "config.providers": "file",
        "config.providers.file.class": "FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(tmp_path),
    }
    for topic in (unique, f"{unique}-dead"):
        make_topic(bootstrap, topic)
    quoted = [
        ("__connect.errors.topic", unique.encode()),
        ("__connect.errors.exception.message", f"with {edited}".encode()),
    ]
    send(bootstrap, f"{unique}-dead", [b"1"], headers=quoted)
    own_worker.start()
    sink = {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": unique, "file": str(tmp_path / "out")}
    sink |= {"value.converter": "quoting:Quoting", "value.converter.token": own, **set_aside(unique)}
    body = {"name": unique, "config": sink, "initial_state": "STOPPED"}
    assert own_worker.rest.post("/connectors", json=body).status_code == 201

    def redriven(**config: str) -> dict[str, Any]:
        redrive = f"/connectors/{unique}/dead-letters/redrive"
        answer = own_worker.rest.post(redrive, json={"config": {"value.converter": "StringConverter", **config}})
        assert answer.status_code == 202, answer.text
        wait_for(lambda: own_worker.rest.get(redrive).json()["state"] != "RUNNING", 90, "the end of the redrive")
        found: dict[str, Any] = own_worker.rest.get(redrive).json()
        return found

    shown = own_worker.rest.get(f"/connectors/{unique}/dead-letters").json()
    (letter,), (group,) = shown["letters"], shown["groups"]
    assert letter["record"]["value"]["error"].endswith(f"{own} is refused")
    assert letter["message"] == group["message"] == f"with {own}"
    assert redriven()["failures"] == [f"0:0: DataError: {own} is refused"]
    quote = {"transforms": "q", "transforms.q.type": "quoting:Quote", "transforms.q.token": edited}
    assert redriven(**quote)["failures"] == [f"0:1: DataError: {edited} is refused"]
    failed = redriven(**quote, **{"transforms.q.at.once": "true"})
    assert (failed["state"], failed["error"]) == ("FAILED", f"transforms.q: {edited} is invalid")


def open_transactions(bootstrap: str, *topics: str) -> list[str]:
    """Return the topics, of one partition, whose end is not that for readers of committed records."""

    def ends(isolation_level: str) -> list[int]:
        client = {"bootstrap.servers": bootstrap, "group.id": "none", "isolation.level": isolation_level}
        with closing(Consumer(client)) as consumer:
            return [consumer.get_watermark_offsets(TopicPartition(each, 0), timeout=30)[1] for each in topics]

    both = zip(topics, ends("read_committed"), ends("read_uncommitted"), strict=True)
    return [topic for topic, stable, end in both if stable != end]


def test_letters_that_java_has_written(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, run: Run
) -> None:
    or_skip(fetch)
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b"1", b"no json", b"3"])
    sink = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "topics": unique}
    json_values = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    config = {**sink, "tasks.max": "1", "file": str(file), **json_values, **set_aside(unique)}
    with QuickJavaConnect(bootstrap, tmp_path / "java", group=f"java-{unique}") as java:
        java.rest.create(unique, config)
        wait_for_values(bootstrap, f"{unique}-dead", 1, 120)
        environment = {"HEADRACE_URL": java.rest.url, "XDG_CONFIG_HOME": str(tmp_path)}
        refused = CliRunner().invoke(app, ["dlq", "show", unique], env=environment)
        assert "need headrace's worker" in refused.stderr, refused.stderr
    worker.create(unique, **config)
    found = shown(run, unique)
    (letter,) = found["letters"]
    assert (letter["stage"], letter["exception"]) == (
        "VALUE_CONVERTER",
        "org.apache.kafka.connect.errors.DataException",
    )
    assert (letter["origin"]["topic"], letter["origin"]["offset"], letter["record"]["offset"]) == (unique, "1", 1)
    run("redrive", unique, "--to-topic", unique, "--yes")
    assert wait_for_values(bootstrap, unique, 4) == [b"1", b"no json", b"3", b"no json"]
