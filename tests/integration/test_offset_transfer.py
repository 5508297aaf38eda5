# SPDX-License-Identifier: Apache-2.0
"""Offsets that are exported from a worker and imported by another one, of headrace and of Java, both ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner

from bench.engines import Engine, Headrace
from bench.java_connect import fetch
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.cli.main import app
from tests.integration.quick_java import QuickJavaConnect
from tests.support.debian import or_skip
from tests.support.polling import PATIENCE, wait_for
from tests.support.sinks import make_topic, numbers, send, wait_for_lines
from tests.support.topics import read_committed

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


@pytest.fixture(scope="module")
def engines(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Engine]]:
    """A worker of each kind, in groups of their own on one Kafka cluster."""
    or_skip(fetch)
    directory = tmp_path_factory.mktemp("engines")
    started = [
        kind(broker.bootstrap_servers, directory / kind.name, group=f"transfer-{kind.name}")
        for kind in (Headrace, QuickJavaConnect)
    ]
    try:
        for engine in started:
            engine.more["offset.flush.interval.ms"] = "500"  # of sinks, whose offsets are waited for
            engine.launch()
        for engine in started:
            engine.rest.await_answer("/connectors", lambda _: True, 90 * PATIENCE)
        yield {engine.name: engine for engine in started}
    finally:
        for engine in started:
            engine.stop()


class Worker:
    """Runs commands for one worker; each must exit with `code`."""

    def __init__(self, engine: Engine, home: Path) -> None:
        self.engine = engine
        self._environment = {"HEADRACE_URL": engine.rest.url, "XDG_CONFIG_HOME": str(home)}
        self._home = home

    def run(self, *args: str, code: int = 0) -> tuple[str, str]:
        result = CliRunner().invoke(app, list(args), env=self._environment)
        assert result.exit_code == code, (args, result.stdout, result.stderr)
        return result.stdout, result.stderr

    def create(self, name: str, state: str = "RUNNING", **config: str) -> None:
        file = self._home / f"{name}.json"
        content = {"name": name, "config": {"tasks.max": "1", **config}, "initial_state": state}
        file.write_text(json.dumps({key: each for key, each in content.items() if each != "RUNNING"}))
        self.run("connectors", "create", "-f", str(file), "--wait")

    def offsets(self, name: str) -> list[dict[str, dict[str, object]]]:
        found: list[dict[str, dict[str, object]]] = json.loads(self.run("offsets", "get", name, "-o", "json")[0])[
            "offsets"
        ]
        return found

    def wait_for_offset(self, name: str, offset: dict[str, int]) -> None:
        wait_for(
            lambda: [each["offset"] for each in self.offsets(name)] == [offset],
            90,
            lambda: f"{offset}, not {self.offsets(name)}",
        )

    def state(self, name: str) -> str:
        return str(self.engine.rest.get(f"/connectors/{name}/status")["connector"]["state"])


@pytest.fixture(params=[("java", "headrace"), ("headrace", "java")], ids="-".join)
def pair(request: pytest.FixtureRequest, engines: dict[str, Engine], tmp_path: Path) -> tuple[Worker, Worker]:
    """The worker that exports and the one that imports."""
    one, other = (Worker(engines[name], tmp_path) for name in request.param)
    return one, other


def values(broker: EmbeddedBroker, topic: str) -> list[bytes | None]:
    return [record.value for record in read_committed(broker.bootstrap_servers, topic)]


def test_a_source(pair: tuple[Worker, Worker], broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    """It continues on the other cluster with the next line, in each state that it can be in before."""
    here, there = pair
    lines, file = tmp_path / "lines", tmp_path / "o.json"
    lines.write_text("one\ntwo\n")
    config = {"connector.class": SOURCE, "file": str(lines)}
    for topic in (unique, f"{unique}-copy"):
        make_topic(broker.bootstrap_servers, topic)
    here.create(unique, topic=unique, **config)
    here.wait_for_offset(unique, {"position": 8})
    here.run("connectors", "stop", unique, "--wait")
    here.run("offsets", "export", unique, "-f", str(file))

    lines.write_text("one\ntwo\nthree\nfour\n")
    copy = f"{unique}-copy"
    there.create(copy, "STOPPED", topic=copy, **config)
    there.run("offsets", "diff", copy, str(file), code=1)
    there.run("offsets", "import", copy, "-f", str(file), "--yes")
    assert there.offsets(copy) == here.offsets(unique) == json.loads(file.read_text())["offsets"]
    assert there.run("offsets", "diff", copy, str(file)) == ("", "")
    assert "already" in there.run("offsets", "import", copy, "-f", str(file), "--yes")[1]
    there.run("connectors", "resume", copy, "--wait")
    there.wait_for_offset(copy, {"position": 19})
    assert values(broker, copy) == [b"three", b"four"]

    # Back to line three, without stopping it by hand: only from there on is repeated.
    assert "STOPPED" in there.run("offsets", "import", copy, "-f", str(file), "--yes", code=1)[1]
    out = there.run("offsets", "import", copy, "-f", str(file), "--yes", "--stop")[0]
    said = "repeats up to 11 bytes" if there.engine.name == "headrace" else "unknown: position is 11 lower"
    assert said in out
    wait_for(lambda: values(broker, copy) == [b"three", b"four"] * 2, 90, lambda: f"twice: {values(broker, copy)}")
    there.wait_for_offset(copy, {"position": 19})
    there.run("connectors", "pause", copy, "--wait")
    there.run("offsets", "import", copy, "-f", str(file), "--yes", "--stop")
    wait_for(lambda: there.state(copy) == "PAUSED", 60, "PAUSED again")
    there.wait_for_offset(copy, {"position": 8})
    for worker, name in ((here, unique), (there, copy)):
        worker.run("connectors", "delete", name, "--yes", "--wait")


def test_a_sink(pair: tuple[Worker, Worker], broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    here, there = pair
    bootstrap, file, copy = broker.bootstrap_servers, tmp_path / "o.json", f"{unique}-copy"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 10))
    here.create(unique, topics=unique, file=str(tmp_path / "here"), **{"connector.class": SINK})
    here.wait_for_offset(unique, {"kafka_offset": 10})
    here.run("connectors", "stop", unique, "--wait")
    here.run("offsets", "export", unique, "-f", str(file))
    send(bootstrap, unique, numbers(10, 5))

    there.create(copy, "STOPPED", topics=unique, file=str(tmp_path / "there"), **{"connector.class": SINK})
    there.run("offsets", "import", copy, "-f", str(file), "--yes")
    assert there.offsets(copy) == here.offsets(unique) == json.loads(file.read_text())["offsets"]
    there.run("connectors", "resume", copy, "--wait")
    assert wait_for_lines(tmp_path / "there", 5, 90) == [str(number) for number in range(10, 15)]
    there.wait_for_offset(copy, {"kafka_offset": 15})

    assert "repeats up to 5 records" in there.run("offsets", "import", copy, "-f", str(file), "--yes", "--stop")[0]
    assert wait_for_lines(tmp_path / "there", 10, 90)[5:] == [str(number) for number in range(10, 15)]
    for worker, name in ((here, unique), (there, copy)):
        worker.run("connectors", "delete", name, "--yes", "--wait")


@pytest.mark.parametrize("kind", ["headrace", "java"])
def test_what_is_said_of_a_change_is_what_happens(
    engines: dict[str, Engine], kind: str, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Of a sink whose topic lost its first records: by what headrace's workers know, and what Java's do not."""
    worker, bootstrap, file = Worker(engines[kind], tmp_path), broker.bootstrap_servers, tmp_path / "out"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 10))
    worker.create(unique, topics=unique, file=str(file), **{"connector.class": SINK})
    worker.wait_for_offset(unique, {"kafka_offset": 10})
    worker.run("connectors", "stop", unique, "--wait")
    delete_records(bootstrap, unique, 4)

    partition = json.dumps({"kafka_topic": unique, "kafka_partition": 0})

    def said(offset: int) -> str:
        given = ("--partition", partition, "--offset", json.dumps({"kafka_offset": offset}), "--dry-run")
        return worker.run("offsets", "set", unique, *given)[0].splitlines()[1].split("  ")[-1].strip()

    reset = worker.run("offsets", "reset", unique, "--yes")[0].splitlines()[1].split("  ")[-1].strip()
    if kind == "headrace":
        begins = "begins at the first record, 4 (auto.offset.reset=earliest)"
        assert reset == f"repeats up to 6 records: {begins}"
        assert said(11) == f"none: 11 is beyond the end, 10; {begins}"
        assert said(2) == f"none: 2 is before the first record, 4; {begins}"
        assert said(10) == "skips up to 6 records"
    else:
        assert reset == "unknown: where it begins is for auto.offset.reset and Kafka to say"
    worker.run("connectors", "resume", unique, "--wait")
    assert wait_for_lines(file, 16, 90)[10:] == [str(number) for number in range(4, 10)]
    worker.run("connectors", "delete", unique, "--yes", "--wait")


def delete_records(bootstrap: str, topic: str, before: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, before)]).values():
        future.result(30)
