# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of all processes around a tap of Singer: its task's, its own, its guard, the worker."""

from __future__ import annotations

import json
import random
import re
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_contiguous
from tests.support.polling import wait_for
from tests.support.processes import alive, command_of
from tests.support.topics import Read, committed_offsets, read_committed, values, wait_for_values
from tests.support.worker_process import PLUGINS, WorkerProcess

COUNT = 4000
TAP, TABLE_TAP = PLUGINS / "numbered_tap.py", PLUGINS / "table_tap.py"
NAME = sys.executable.rpartition("/")[2]
ALLOWED = {"singer.commands.allowed": f"{sys.executable},no-such-tap"}


def create(worker: WorkerProcess, name: str, **props: str) -> None:
    worker.create(
        name,
        **{
            "connector.class": "SingerSource",
            "tasks.max": "1",
            "singer.command": f"{sys.executable} {TAP}",
            "singer.config": json.dumps(
                {"count": COUNT, "batch": 7, "slow": 0.004, "streams": [name], "habit": "warns"}
            ),
            "singer.exactly.once": "true",
            "exactly.once.support": "required",
            "transforms": "number",
            "transforms.number.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
            "transforms.number.field": "n",
            **props,
        },
    )


def taps(name: str) -> list[psutil.Process]:
    """The processes of the connector's tap whose state or settings are its own: first the guard, then the tap."""
    found = []
    for process in psutil.process_iter():
        line = command_of(process)
        if (str(TAP) in line or str(TABLE_TAP) in line) and alive(process) and "--discover" not in line:
            found.append(process)
    return sorted(found, key=lambda each: "guard.py" not in command_of(each))


def kill(worker: WorkerProcess, what: str, name: str) -> None:
    if what == "worker":
        left = taps(name)
        worker.kill()
        wait_for(lambda: not worker.leftovers(), 20, lambda: f"the end of {worker.leftovers()}")
        wait_for(lambda: not any(map(alive, left)), 20, "the end of the tap")
        worker.start()
        return
    if what == "task":
        left = taps(name)
        worker.task_process().kill()
        wait_for(lambda: not any(map(alive, left)), 20, "the end of the tap")
        return
    running = wait_for(lambda: taps(name), 60, "a tap that runs")
    with suppress(psutil.Error):
        running[0 if what == "guard" else -1].kill()


@pytest.mark.parametrize("boundary", ["connector", "poll"])
def test_each_number_once_whatever_is_killed(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, boundary: str
) -> None:
    own_worker.properties.update(ALLOWED)
    own_worker.start()
    # Three records held for seven: those before the STATE are in the open transaction.
    held = {"singer.held.records": "3"} if boundary == "connector" else {}
    create(own_worker, unique, **{"transaction.boundary": boundary, **held})
    chance = random.Random(unique)
    seen = 0
    for what in ("tap", "task", "guard", "worker", "task", "tap"):
        seen = len(wait_for_values(broker.bootstrap_servers, unique, min(COUNT - 1, seen + 200), 90))
        time.sleep(chance.random() / 5)
        kill(own_worker, what, unique)
    assert_contiguous(wait_for_values(broker.bootstrap_servers, unique, COUNT, 120), COUNT)
    offsets = committed_offsets(broker.bootstrap_servers, own_worker.properties["offset.storage.topic"], unique)
    partition = json.dumps({"tap": NAME, "streams": "*"}, sort_keys=True)
    assert json.loads(offsets[partition]["state"]) == {"bookmarks": {unique: COUNT - 1}}
    assert len(values(broker.bootstrap_servers, unique)) == COUNT
    assert re.search(rf"WARN.*\[{unique}\|task-0\] {NAME}: WARNING few numbers are left", own_worker.log)
    own_worker.delete(unique)
    wait_for(lambda: not taps(unique), 20, "the end of the tap")


def test_rows_that_are_gone_whatever_is_killed(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """In the end a compacted topic would have the rows of the table, and no row is ever said twice to be gone."""
    own_worker.properties.update(ALLOWED)
    own_worker.start()
    file, chance = tmp_path / "table.json", random.Random(unique)

    def change_table() -> set[int]:
        rows = chance.sample(range(400), 300)
        text = json.dumps({"rows": [{"id": each} for each in rows], "slow": 0.003, "batch": 50, "activate": "both"})
        file.with_suffix(".new").write_text(text)
        file.with_suffix(".new").rename(file)
        return set(rows)

    change_table()
    config = {"singer.command": f"{sys.executable} {TABLE_TAP}", "singer.config": json.dumps({"table": str(file)})}
    json_keys = {
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
    }
    more = {"catalog": "none", "singer.interval.ms": "100", "stream.topics": f"rows:{unique}", "transforms": ""}
    create(own_worker, unique, **config, **json_keys, **more, **{"singer.tombstones": "true"})
    history: list[Read] = []

    def latest() -> set[int]:
        history[:] = read_committed(broker.bootstrap_servers, unique)
        last = {json.loads(each.key or b"")["id"]: each.value for each in history}
        return {row for row, value in last.items() if value is not None}

    wait_for(latest, 90, lambda: f"rows: {own_worker.status(unique)}")
    for what in ("tap", "task", "worker", "task", "guard", "tap"):
        change_table()
        seen = len(history)
        wait_for(lambda seen=seen: latest() and len(history) > seen + 200, 60, "more rows")  # type: ignore[misc]
        time.sleep(chance.random())
        kill(own_worker, what, unique)
    rows = change_table()
    wait_for(lambda: latest() == rows, 90, lambda: f"the rows of the table: {latest() ^ rows}")
    gone: set[int] = set()
    for each in history:
        row = json.loads(each.key or b"")["id"]
        assert each.value is not None or row not in gone, f"{row} is said to be gone twice, at {each.offset}"
        gone = gone - {row} if each.value is not None else gone | {row}
    assert sum(each.value is None for each in history) > 100
    own_worker.delete(unique)
    wait_for(lambda: not taps(unique), 20, "the end of the tap")


def test_bad_taps_fail_their_own_tasks_alone(own_worker: WorkerProcess, unique: str) -> None:
    own_worker.properties.update(ALLOWED)
    own_worker.start()
    bad = {
        "garbage": "a line is no JSON",
        "long line": "a line is longer than 16777216 bytes",
        "dies": "ended with code 1; it said: no such database",
        "missing": "there is no executable no-such-tap on this machine",
    }
    for number, (habit, text) in enumerate(bad.items()):
        name = f"{unique}-{number}"
        config = {"singer.config": json.dumps({"count": 1, "habit": habit}), "catalog": "none", "singer.retries": "0"}
        create(own_worker, name, **config, **({"singer.command": "no-such-tap"} if habit == "missing" else {}))
        own_worker.wait_for_tasks(name, "FAILED")
        first = own_worker.status(name)["tasks"][0]["trace"].splitlines()[0]
        assert text in first, first
        own_worker.delete(name)
    wait_for(lambda: not taps(unique), 20, "the ends of all taps")
