# SPDX-License-Identifier: Apache-2.0
"""The topics of a Java Connect cluster are taken over and given back: docs/guide/coming-from-java.md."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench.engines import Engine, Headrace
from bench.java_connect import fetch
from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.quick_java import QuickJavaConnect
from tests.support.debian import or_skip
from tests.support.exactly_once import assert_contiguous
from tests.support.polling import wait_for
from tests.support.sinks import make_topic, wait_for_lines
from tests.support.topics import committed_offsets, values

SOURCE = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1"}
SINK = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max": "1"}
ROUTE = {
    "transforms": "upper",
    "transforms.upper.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.upper.regex": "x-(.*)",
    "transforms.upper.replacement": "$1",
}


def append(file: Path, first: int, count: int) -> None:
    with file.open("a") as appending:
        appending.writelines(f"line {number}\n" for number in range(first, first + count))


def lines(count: int) -> list[bytes]:
    return [b"line %d" % number for number in range(count)]


@pytest.fixture
def engines(broker: EmbeddedBroker, tmp_path: Path, unique: str) -> tuple[Engine, Engine]:
    """Java's worker and headrace's, with one group.id and the same internal topics; neither is started."""
    or_skip(fetch)
    java, own = (
        kind(broker.bootstrap_servers, tmp_path / kind.name, group=f"both-{unique}")
        for kind in (QuickJavaConnect, Headrace)
    )
    for engine in (java, own):
        # What a killed worker leaves open keeps the next one from reading offsets for so long.
        engine.more["producer.transaction.timeout.ms"] = "10000"
        # A worker that was out of its group, as the machine or the broker paused, has its tasks again at once.
        engine.more["scheduled.rebalance.max.delay.ms"] = "0"
    return java, own


def test_topics_are_taken_over_from_java_and_given_back(
    engines: tuple[Engine, Engine], broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    java, own = engines
    file, output, bootstrap = tmp_path / "input", tmp_path / "output", broker.bootstrap_servers
    source, sink, halted = unique, f"{unique}-sink", f"{unique}-halted"
    make_topic(bootstrap, unique)
    source_config = {**SOURCE, **ROUTE, "file": str(file), "topic": f"x-{unique}", "name": source}

    def assert_exactly_once(engine: Engine, count: int) -> None:
        """All lines are there once and in order; offsets, configuration and states are the same to both."""
        running(engine, source)
        running(engine, sink)
        assert arrived(engine, source, bootstrap, unique, count) == lines(count)
        # A sink is at-least-once, but each stop here is orderly, after the offsets' commit.
        assert wait_for_lines(output, count) == [line.decode() for line in lines(count)]
        offset = {"partition": {"filename": str(file)}, "offset": {"position": file.stat().st_size}}
        wait_for(lambda: engine.rest.get(f"/connectors/{source}/offsets") == {"offsets": [offset]}, 30, f"{offset}")
        assert engine.rest.get(f"/connectors/{source}/config") == source_config
        assert state(engine, halted) == "STOPPED"

    append(file, 0, 100)
    with java:
        java.rest.create(source, source_config)
        java.rest.create(sink, {**SINK, "file": str(output), "topics": unique})
        java.rest.create(halted, {**SOURCE, "file": str(file), "topic": f"{unique}-other"}, "STOPPED")
        assert_exactly_once(java, 100)

    append(file, 100, 100)
    with own:
        assert_exactly_once(own, 200)
        append(file, 200, 100)
        assert_exactly_once(own, 300)
        # Java's task keeps what exceeds a small one until the file grows again.
        source_config["batch.size"] = "5000"
        httpx2.put(f"{own.rest.url}/connectors/{source}/config", json=source_config).raise_for_status()
        append(file, 300, 100)
        assert_exactly_once(own, 400)

    append(file, 400, 100)
    with java:
        assert_exactly_once(java, 500)
        append(file, 500, 100)
        assert_exactly_once(java, 600)
    committed = committed_offsets(bootstrap, f"{java.group}-offsets", source)
    assert committed == {json.dumps({"filename": str(file)}): {"position": file.stat().st_size}}


def test_a_killed_worker_of_either_kind_is_fenced_by_the_other(
    engines: tuple[Engine, Engine], broker: EmbeddedBroker, unique: str
) -> None:
    """Java's worker, then headrace's, then Java's is killed while records are sent: each number is there once."""
    java, own = engines
    bootstrap, sent = broker.bootstrap_servers, 0
    make_topic(bootstrap, unique)
    config = {"connector.class": "org.apache.kafka.connect.tools.VerifiableSourceConnector", "tasks.max": "1"}
    for engine in (java, own, java):
        with engine:
            if not sent:
                engine.rest.create(unique, {**config, "name": unique, "topic": unique, "throughput": "200"})
            running(engine, unique)
            sent = len(arrived(engine, unique, bootstrap, unique, sent + 300))
            os.kill(engine.pid, signal.SIGKILL)
    with own:
        running(own, unique)
        seen = arrived(own, unique, bootstrap, unique, sent + 300)
        assert_contiguous(seen, len(seen))


def state(engine: Engine, connector: str) -> str:
    return str(status(engine, connector).get("connector", {}).get("state"))


def running(engine: Engine, connector: str) -> None:
    """Wait until its task is RUNNING on this engine."""
    wanted = [("RUNNING", engine.rest.worker_id)]
    wait_for(lambda: tasks(engine, connector) == wanted, 90, lambda: f"{status(engine, connector)}")


def arrived(engine: Engine, connector: str, bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    """Return the values of a topic once there are ``count`` or more."""
    seen: list[bytes | None] = []

    def enough() -> bool:
        tasks(engine, connector)
        seen[:] = values(bootstrap, topic)
        return len(seen) >= count

    wait_for(enough, what=lambda: f"{count} records: {len(seen)} are there. {status(engine, connector)}")
    return seen


def tasks(engine: Engine, connector: str) -> list[tuple[str, str]]:
    """Return its tasks' states and workers, after a restart of failed ones.

    Java's task fails for good if the machine or the broker pauses for longer than its transaction may take.
    """
    found = status(engine, connector).get("tasks", [])
    if any(task["state"] == "FAILED" for task in found):
        restart = f"{engine.rest.url}/connectors/{connector}/restart"
        httpx2.post(restart, params={"includeTasks": "true", "onlyFailed": "true"})
    return [(task["state"], task["worker_id"]) for task in found]


def status(engine: Engine, connector: str) -> dict[str, Any]:
    found: dict[str, Any] = engine.rest.get(f"/connectors/{connector}/status") or {}
    return found
