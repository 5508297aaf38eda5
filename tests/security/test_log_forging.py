# SPDX-License-Identifier: Apache-2.0
"""Names and messages that would look like log lines of their own, or that a terminal would obey."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

FORGED = "[2026-01-01 00:00:00,000] INFO all is well"
NASTY = f"x\n{FORGED}\r{FORGED}\x1b[2J\u2028{FORGED}\u202e\x85\x9b31m"


def assert_harmless(log: str, mark: str) -> None:
    """No line begins as the forged one does; nothing is there for a terminal or a reader to obey."""
    assert mark in log
    lines = [line for line in log.splitlines() if FORGED in line]
    assert lines
    assert not [line for line in lines if line.startswith(FORGED)]
    assert not set("\x1b\u2028\u202e\x85\x9b\r") & set(log)


def test_names_of_loggers(worker: WorkerProcess, unique: str) -> None:
    path = f"/admin/loggers/{quote(f'{unique}.{NASTY}', safe='')}"
    assert worker.rest.put(path, json={"level": "INFO"}).status_code == 200
    wait_for(lambda: f"logger {unique}" in worker.log, 10)
    assert_harmless(worker.log, f"logger {unique}.x\\n[2026")


@pytest.mark.parametrize("field", ["class", "reference", "name"])
def test_names_and_references_of_a_configuration(worker: WorkerProcess, unique: str, field: str) -> None:
    config = {"connector.class": "odd_errors.OddSource", "tasks.max": "1", "topic": unique}
    spoilt = {"class": {"connector.class": f"odd_errors.{NASTY}"}, "reference": {"where": f"${{file:{NASTY}:x}}"}}
    name = f"{unique}{NASTY}" if field == "name" else unique
    body = {"name": name, "config": {**config, **spoilt.get(field, {})}}
    assert worker.rest.post("/connectors", json=body).status_code < 500
    worker.rest.delete(f"/connectors/{quote(name, safe='')}")
    assert not [line for line in worker.log.splitlines() if line.startswith(FORGED)]


def test_messages_and_traces_of_a_task(worker: WorkerProcess, unique: str) -> None:
    step = {"transforms": "t", "transforms.t.type": "odd_errors.OddStep", "transforms.t.text": f"{unique}{NASTY}"}
    tolerant = {"errors.tolerance": "all", "errors.log.enable": "true"}
    config = {"connector.class": "odd_errors.OddSource", "tasks.max": "1", "topic": unique}
    worker.create(unique, **config, **step, **tolerant)
    wait_for(lambda: worker.log.count(f"ConnectError: {unique}x") > 1, 30, lambda: worker.log[-3000:])
    worker.delete(unique)
    assert_harmless(worker.log, f"    headrace.api.errors.ConnectError: {unique}x\n    [2026")
    assert f"plugin says {unique}x\\n[2026" in worker.log
