# SPDX-License-Identifier: Apache-2.0
"""`headrace topics` on a real worker: the list, the first and last records, and new ones as they come."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.cli.main import app
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic, numbers, send
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration


def run(worker: WorkerProcess, *args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, [*args, "--url", str(worker.rest.base_url)])
    assert result.exit_code == code, (args, result.stdout, result.stderr)
    return result.stderr if code else result.stdout


def test_topics_and_their_records(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    make_topic(broker.bootstrap_servers, unique, 2)
    send(
        broker.bootstrap_servers, unique, numbers(0, 20), key=b"k", headers=[("h", b"12")], timestamp=1_700_000_000_000
    )
    create_sink(worker, unique, unique, tmp_path / "out")
    *shown, size, unit = run(worker, "topics", "ls", unique).split()
    assert shown == [
        *("TOPIC", "CONNECTOR", "DIRECTION", "PARTITIONS", "RECORDS", "SIZE"),
        *(unique, unique, "reads", "2", "20"),
    ]
    assert unit == "B" and 20 < int(size.replace(",", "")) < 1024
    (listed,) = json.loads(run(worker, "topics", "ls", unique, "-o", "json"))
    assert listed["bytes"] == sum(log.stat().st_size for log in broker.data_dir.rglob(f"{unique}-*/*.log"))
    assert unique in run(worker, "topics", "ls", "-o", "name").splitlines()
    first = run(worker, "topics", "head", unique, "-n", "2").splitlines()
    assert [line[23:] for line in first] == ["  0:0  k  0  [h=12]", "  0:1  k  1  [h=12]"]
    last = run(worker, "topics", "tail", unique, "--json").splitlines()
    assert [json.loads(line)["value"]["value"] for line in last] == [str(n) for n in range(10, 20)]
    found = run(worker, "topics", "head", unique, "--from-offset", "18", "--partition", "0", "--raw")
    assert [line.split()[2:] for line in found.splitlines()] == [
        ["0:18", "k", "18", "[h=12]"],
        ["0:19", "k", "19", "[h=12]"],
    ]
    as_json = json.loads(run(worker, "topics", "tail", unique, "--json", "-n", "1", "--decode", "json"))
    assert (as_json["key"]["value"], as_json["value"]["value"]) == ("k", 19)
    assert run(worker, "topics", "tail", unique, "--partition", "1") == ""
    since = run(worker, "topics", "head", unique, "--since", "2023-11-14T22:13:20Z", "-n", "20")
    assert len(since.splitlines()) == 20
    assert run(worker, "topics", "head", unique, "--since", "2023-11-14T22:13:21Z") == ""
    assert "a time with its zone" in run(worker, "topics", "head", unique, "--since", "noon", code=1)
    assert "--from-offset" in run(worker, "topics", "head", unique, "--since", "noon", "--from-offset", "1", code=2)


def test_the_connector_is_found_if_it_is_the_only_one(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    make_topic(broker.bootstrap_servers, unique)
    assert "No connector" in run(worker, "topics", "head", unique, code=3)
    for name in ("a", "b"):
        create_sink(worker, f"{unique}-{name}", unique, tmp_path / name)
    assert f"is used by {unique}-a, {unique}-b" in run(worker, "topics", "head", unique, code=2)
    assert run(worker, "topics", "head", unique, "--connector", f"{unique}-a") == ""
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    worker.create(f"{unique}-c", **{"connector.class": "FileStreamSource", "file": str(lines), "topic": unique})
    wait_for(lambda: worker.rest.get(f"/connectors/{unique}-c/topics").json()[f"{unique}-c"]["topics"], 60)
    wait_for(lambda: run(worker, "topics", "head", unique).endswith("  null  one\n"), 60)


def test_tail_follows(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, numbers(0, 3))
    create_sink(worker, unique, unique, tmp_path / "out")
    command = [sys.executable, "-m", "headrace", "topics", "tail", unique, "-f", "-n", "1"]
    following = subprocess.Popen([*command, "--url", str(worker.rest.base_url)], stdout=subprocess.PIPE, text=True)
    assert following.stdout is not None
    watchdog = threading.Timer(120, following.terminate)
    watchdog.start()
    try:
        assert following.stdout.readline().split()[-1] == "2"
        for n in (3, 4, 5):
            send(broker.bootstrap_servers, unique, numbers(n, 1))
            assert following.stdout.readline().split()[-1] == str(n)
    finally:
        watchdog.cancel()
        following.terminate()
        following.wait(30)
