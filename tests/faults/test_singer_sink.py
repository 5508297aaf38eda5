# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of all processes around a target of Singer: its own, its guard, its task's, the worker.

Each record is in the target's data, and offsets are committed only when it is (invariant 9).
"""

from __future__ import annotations

import json
import random
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.plugins.singer_environments import install
from scripts.connectors_table import pinned_package
from tests.faults.flowing_numbers import Numbers
from tests.faults.tap_runs import RESTARTS
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.processes import alive, command_of
from tests.support.sinks import lines, make_topic
from tests.support.worker_process import PLUGINS, WorkerProcess

TARGET = PLUGINS / "file_target.py"
KILLS = ("target", "task", "guard", "worker", "target", "task")
REAL_KILLS = ("target", "task", "target")
PROGRESS = 200


def create(worker: WorkerProcess, name: str, **props: str) -> None:
    worker.create(
        name,
        **{
            "connector.class": "SingerSink",
            "tasks.max": "1",
            "topics": name,
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "transforms": "row",
            "transforms.row.type": "org.apache.kafka.connect.transforms.HoistField$Value",
            "transforms.row.field": "n",
            **props,
        },
    )


def prepare(worker: WorkerProcess, **properties: str) -> None:
    """A target that dies while it is written to fails its task: what restarts it is the worker's policy."""
    worker.properties.update({**RESTARTS, **properties})
    worker.start()


def targets(worker: WorkerProcess, program: str) -> list[psutil.Process]:
    """The processes of the target: first the guard, then the target."""
    found = []
    for process in psutil.process_iter():
        line = command_of(process)
        if program in line and "headrace-singer-" in line and alive(process):
            found.append(process)
    return sorted(found, key=lambda each: "guard.py" not in command_of(each))


def kill(worker: WorkerProcess, what: str, program: str) -> None:
    if what in ("target", "guard"):
        running = wait_for(lambda: targets(worker, program), 60, "a target that runs")
        with suppress(psutil.Error):
            running[0 if what == "guard" else -1].kill()
        return
    left = targets(worker, program)
    if what == "task":
        worker.task_process().kill()
    else:
        worker.kill()
        wait_for(lambda: not worker.leftovers(), 30, lambda: f"the end of {worker.leftovers()}")
        worker.start()
    wait_for(lambda: not any(map(alive, left)), 20, "the end of the target")


def kill_all(worker: WorkerProcess, numbers: Numbers, kills: tuple[str, ...], program: str, seed: str) -> None:
    """Kill at random points in time, each time when the sink has written and committed more."""
    chance = random.Random(seed)
    for what in (*kills, ""):
        written, offset = len(set(numbers.written())), numbers.offset
        wait_for(
            lambda written=written, offset=offset: (  # type: ignore[misc]
                len(set(numbers.written())) > written + PROGRESS and numbers.offset > offset
            ),
            120,
            lambda: f"more than {numbers.offset} of {numbers.sent}: {worker.log[-3000:]}",
        )
        if what:
            time.sleep(chance.random())
            kill(worker, what, program)


@pytest.mark.parametrize("flush", ["end", "state"])
def test_at_least_once_whatever_is_killed(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, flush: str
) -> None:
    prepare(own_worker, **{"singer.commands.allowed": sys.executable})
    make_topic(broker.bootstrap_servers, unique)
    file = tmp_path / "rows"
    numbers = Numbers(broker.bootstrap_servers, unique, partial(lines, file))
    config = {"singer.config": json.dumps({"file": str(file), "eager": flush == "state"}), "singer.flush": flush}
    with numbers.flowing():
        create(own_worker, unique, **config, **{"singer.command": f"{sys.executable} {TARGET}"})
        kill_all(own_worker, numbers, KILLS, str(TARGET), unique)
    numbers.assert_all_written()
    own_worker.delete(unique)
    wait_for(lambda: not targets(own_worker, str(TARGET)), 20, "the end of the target")


def rows_of_files(directory: Path) -> list[str]:
    rows = []
    for file in directory.glob("*.jsonl"):
        for line in lines(file):
            with suppress(ValueError):  # a line that is being written, or was when its target was killed
                rows.append(json.loads(line)["n"])
    return rows


def test_a_target_of_pypi(own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    directory, data = tmp_path / "rows", tmp_path / "data"
    directory.mkdir()
    or_skip(lambda: install(pinned_package("target-jsonl"), None, data / "singer"))
    own_worker.environment["HEADRACE_DATA_DIR"] = str(data)
    prepare(own_worker)
    make_topic(broker.bootstrap_servers, unique)
    numbers = Numbers(broker.bootstrap_servers, unique, partial(rows_of_files, directory))
    config = {"destination_path": str(directory), "do_timestamp_file": False}
    with numbers.flowing():
        create(own_worker, unique, target="target-jsonl", **{"singer.config": json.dumps(config)})
        kill_all(own_worker, numbers, REAL_KILLS, str(data / "singer"), unique)
    numbers.assert_all_written()
    own_worker.delete(unique)
