# SPDX-License-Identifier: Apache-2.0
"""The lines of `headrace.audit`: those of a real worker's requests, and those of a group whose workers come and go."""

from __future__ import annotations

import logging
import os
import re
import signal
from collections.abc import Iterator

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.logs.audit import AUDIT
from tests.support.group_of_workers import Node, Workers
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess, once_settled

SECRET = "swordfish-audit"


def audited(log: str) -> list[str]:
    """Return the lines without the level, which all have in common, and what differs from run to run."""
    found = re.findall(r"(?m)^\[[\d :,-]+\] INFO (audit .*)$", log)
    return [re.sub(r"in \d+\.\d\d s", "in T", line) for line in found]


def test_the_life_of_a_connector(worker: WorkerProcess, unique: str) -> None:
    at, name, url = len(worker.log), unique, f"/connectors/{unique}"
    address = f"worker=127.0.0.1:{worker.port}"
    user, leader = f"audit who=anonymous address=127.0.0.1 {address}", f"audit who=leader {address}"

    def ask(method: str, path: str, **body: object) -> None:
        once_settled(lambda: worker.rest.request(method, path, **body))  # type: ignore[arg-type]

    config = {"connector.class": "numbered_source.NumberedSourceConnector", "topic": name, "count": "3"}
    config |= {"tasks.max": "1", "db.password": SECRET, "from": "${env:NONE}"}
    ask("POST", "/connectors", json={"name": name, "config": {**config, "tasks.max": "none"}})
    del config["from"]
    ask("POST", "/connectors", json={"name": name, "config": config})
    worker.wait_for_tasks(name)
    ask("PUT", f"{url}/config", json={**config, "db.password": f"{SECRET}-2", "tasks.max": "2"})
    worker.wait_for_tasks(name, tasks=2)
    for path in ("pause", "resume"):
        ask("PUT", f"{url}/{path}")
    worker.wait_for_tasks(name, tasks=2)
    ask("POST", f"{url}/restart?includeTasks=true")
    worker.wait_for_tasks(name, tasks=2)
    ask("PUT", f"{url}/stop")
    worker.wait_for_tasks(name, tasks=0)
    ask("PATCH", f"{url}/offsets", json={"offsets": [{"partition": {"id": "0"}, "offset": {"seqno": 7}}]})
    ask("DELETE", url)
    ask("DELETE", url)

    lines = [line for line in audited(worker.log[at:]) if name in line]
    plain = [line for line in lines if "result=409" not in line and "rebalance" not in line]
    refused, created, configs, changed, *rest = plain
    assert refused.startswith(f'{user} what="POST /connectors" connector={name} result=400 reason="Connector config')
    assert created == (
        f'{user} what="POST /connectors" connector={name} change="+connector.class: {config["connector.class"]}; '
        f'+count: 3; +db.password: ****; +name: {name}; +tasks.max: 1; +topic: {name}" result=201'
    )
    assert (
        configs
        == f'{leader} what="task configs of connector {name}" connector={name} change="0 tasks → 1 task" result=done'
    )
    assert changed == (
        f'{user} what="PUT {url}/config" connector={name} change="db.password: changed; tasks.max: 1 → 2" result=200'
    )
    assert rest == [
        f'{leader} what="task configs of connector {name}" connector={name} change="1 task → 2 tasks" result=done',
        f'{leader} what="round of fencing of connector {name}" connector={name} '
        f'change="1 producer ({name}-0) in T" result=done',
        f'{user} what="PUT {url}/pause" connector={name} result=202',
        f'{user} what="PUT {url}/resume" connector={name} result=202',
        f'{user} what="POST {url}/restart?includeTasks=true" connector={name} '
        f'change="restarts {name}, {name}-0, {name}-1" result=202',
        f'{user} what="PUT {url}/stop" connector={name} result=204',
        f'{leader} what="round of fencing of connector {name}" connector={name} '
        f'change="2 producers ({name}-0, {name}-1) in T" result=done',
        f'{user} what="PATCH {url}/offsets" connector={name} '
        r'change="{\"id\":\"0\"}: {\"seqno\":2} → {\"seqno\":7}" result=204',
        f'{user} what="DELETE {url}" connector={name} result=204',
        f'{user} what="DELETE {url}" connector={name} result=404 reason="Connector {name} not found"',
    ]
    assert SECRET not in worker.log


def test_a_password_that_only_its_plugin_calls_one(worker: WorkerProcess, unique: str) -> None:
    at, config = len(worker.log), {"connector.class": "canary_source:CanarySourceConnector", "entrance": SECRET}
    body = {"name": unique, "config": config, "initial_state": "STOPPED"}
    assert worker.rest.post("/connectors", json=body).status_code == 201
    changed = {**config, "entrance": "${file:/run/secrets/canary:entrance}"}
    assert worker.rest.patch(f"/connectors/{unique}/config", json=changed).status_code < 500
    lines = [line for line in audited(worker.log[at:]) if unique in line and "who=anonymous" in line]
    assert "; +entrance: ****; " in lines[0]
    assert len(lines) == 2 and SECRET not in worker.log


def test_a_task_that_is_killed_is_restarted_by_the_engine(worker: WorkerProcess, unique: str) -> None:
    worker.create(unique, **{"connector.class": "VerifiableSource", "tasks.max": "1", "topic": unique})
    worker.wait_for_tasks(unique)
    os.kill(worker.task_process().pid, signal.SIGKILL)
    restart = f'what="restart of {unique}-0" connector={unique} result=done reason='
    line = f"audit who=engine worker=127.0.0.1:{worker.port} {restart}"
    wait_for(lambda: any(each.startswith(line) for each in audited(worker.log)), 60, lambda: worker.log[-3000:])


class Rebalances:
    """The lines of the leader's rebalances, in their order."""

    def __init__(self, caplog: pytest.LogCaptureFixture, leader: Node) -> None:
        self._caplog = caplog
        self._line = re.compile(
            rf'audit who=leader worker={leader.address} what="rebalance \d+" change="(.*)" result=done reason="(.*)"'
        )
        self._at = 0

    def wait_for(self, change: str, reason: str) -> None:
        """Wait for the line, behind those that were waited for before; a line has its workers in order of address."""
        change = _in_order(change)
        wait_for(lambda: (change, reason) in self._new(), 30, lambda: f"{change}, {reason}: {self._new()}")
        self._at += self._new().index((change, reason)) + 1

    def _new(self) -> list[tuple[str, ...]]:
        found = [self._line.fullmatch(record.getMessage()) for record in self._caplog.records]
        lines = [match.groups() for match in found if match is not None]
        return [(_in_order(re.sub(r"until [\dT:-]+Z", "until TIME", change)), why) for change, why in lines[self._at :]]


def _in_order(change: str) -> str:
    return "; ".join(sorted(change.split("; ")))


@pytest.fixture
def workers(broker: EmbeddedBroker) -> Iterator[Workers]:
    made = Workers(broker.bootstrap_servers, **{"scheduled.rebalance.max.delay.ms": "2000"})
    yield made
    made.close()


def test_a_worker_comes_and_goes(workers: Workers, caplog: pytest.LogCaptureFixture) -> None:
    """A rebalance is one line of the leader's: who had what and has it now, and why."""
    caplog.set_level(logging.INFO, AUDIT)
    one = workers.start()
    workers.put("c", 2)
    workers.wait_for_tasks("c", 2)
    a = one.address
    seen = Rebalances(caplog, one)
    seen.wait_for(f"{a} has nothing as before", "this worker leads now")
    seen.wait_for(f"{a} had nothing → has c", "c to be assigned")
    seen.wait_for(f"{a} had c → has c, c-0, c-1", "c-0, c-1 to be assigned")

    two = workers.start()
    b = two.address
    seen.wait_for(f"{a} had c, c-0, c-1 → has c, c-0; {b} has nothing as before", f"{b} joined")
    seen.wait_for(f"{a} has c, c-0 as before; {b} had nothing → has c-1", "c-1 to be assigned")
    workers.wait_for_tasks("c", 2)

    workers.stop(two)
    kept = f"{a} has c, c-0 as before; {b} had c-1 → is gone; c-1 kept for {b}; delayed by 2000 ms until TIME"
    seen.wait_for(kept, f"{b} left")
    seen.wait_for(f"{a} had c, c-0 → has c, c-0, c-1", f"the delay for {b} is over")
    workers.wait_for_tasks("c", 2)
