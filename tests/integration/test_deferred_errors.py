# SPDX-License-Identifier: Apache-2.0
"""A Java sink task that keeps an error of `put` and throws it at the next `put`, as Debezium's JDBC sink does.

Headrace and Java's Connect run the same jar: both have to put the refused records again after a restart.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench.engines import Engine, Headrace
from bench.java_connect import fetch
from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.quick_java import QuickJavaConnect
from tests.java.java_connectors import compiled
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.sinks import committed, lines, make_topic, numbers, send, wait_for_committed, wait_for_lines

ROUTE = {"transforms": "r", "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter"}
ROUTE |= {"transforms.r.regex": ".*", "transforms.r.replacement": "elsewhere"}


@pytest.fixture(scope="module", params=[Headrace, QuickJavaConnect], ids=lambda kind: kind.name)
def deferring(
    request: pytest.FixtureRequest, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """A worker with `DeferringSink`."""
    or_skip(fetch)
    kind: type[Engine] = request.param
    directory = tmp_path_factory.mktemp(kind.name)
    compiled("DeferringSink", directory)
    engine = kind(broker.bootstrap_servers, tmp_path_factory.mktemp("worker"), group=f"deferring-{kind.name}")
    # The next `put` comes after the next commit at the latest.
    engine.more |= {"plugin.path": str(directory), "plugin.discovery": "only_scan", "offset.flush.interval.ms": "2000"}
    with engine:
        yield engine


def test_no_refused_record_is_committed(deferring: Engine, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    """Refused are the first batch of a task, and one after others; topics are renamed meanwhile."""
    bootstrap, file, refuse = broker.bootstrap_servers, tmp_path / "out", tmp_path / "refuse"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 5))
    refuse.touch()
    config = {"connector.class": "DeferringSink", "tasks.max": "1", "topics": unique, **ROUTE}
    deferring.rest.create(unique, {**config, "file": str(file), "refuse": str(refuse)})
    await_state(deferring, unique, "FAILED")
    assert committed(bootstrap, f"connect-{unique}", unique) in ({}, {0: 0})

    refuse.unlink()
    restart(deferring, unique)
    assert wait_for_lines(file, 5) == [f"{number}" for number in range(5)]
    refuse.touch()
    send(bootstrap, unique, numbers(5, 5))
    await_state(deferring, unique, "FAILED")
    assert committed(bootstrap, f"connect-{unique}", unique) == {0: 5}

    refuse.unlink()
    restart(deferring, unique)
    assert wait_for_lines(file, 10) == [f"{number}" for number in range(10)]
    deferring.rest.stop(unique)
    wait_for_committed(bootstrap, unique, unique, {0: 10})
    assert len(lines(file)) == 10
    deferring.rest.remove(unique)


def await_state(engine: Engine, name: str, state: str) -> None:
    def status() -> dict[str, Any]:
        return engine.rest.get(f"/connectors/{name}/status") or {"tasks": []}

    wait_for(lambda: [task["state"] for task in status()["tasks"]] == [state], 60, lambda: str(status()))


def restart(engine: Engine, name: str) -> None:
    httpx2.post(f"{engine.rest.url}/connectors/{name}/tasks/0/restart").raise_for_status()
    await_state(engine, name, "RUNNING")
