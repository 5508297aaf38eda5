# SPDX-License-Identifier: Apache-2.0
"""Tasks that fail by their data, and are restarted by the leader: this one, or the next after its SIGKILL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_exactly_once
from tests.support.polling import wait_for
from tests.support.topics import wait_for_values
from tests.support.worker_process import PLUGINS, WorkerProcess

COUNT = 2000
PLUGIN = '''
import time
from pathlib import Path

from numbered_source import NumberedSourceConnector, NumberedSourceTask


class BadDataConnector(NumberedSourceConnector):
    def task_class(self):
        return BadDataTask


class BadDataTask(NumberedSourceTask):
    """Number 500 is bad as often as the file says, as soon as the file `once` is there."""

    def start(self, props):
        super().start(props)
        self._bad = Path(props["bad"])
        self._once = Path(props.get("once", props["bad"]))

    def _record(self, seqno):
        left = int(self._bad.read_text()) if seqno == 500 else 0
        if left:
            while not self._once.exists():
                time.sleep(0.05)
            self._bad.write_text(str(left - 1))
            raise ValueError("number 500 is bad")
        return super()._record(seqno)
'''
PROPERTIES = {
    "tasks.restart.policy": "on-failure",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1500",
    "scheduled.rebalance.max.delay.ms": "0",
}
MakeWorker = Callable[..., WorkerProcess]


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The directory with the plugin."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "bad_data_source.py").write_text(PLUGIN)
    return tmp_path / "plugins"


@pytest.fixture
def make(broker: EmbeddedBroker, tmp_path: Path, unique: str, plugin: Path) -> Iterator[MakeWorker]:
    """Starts a worker more of one group, which has the plugin."""
    path, workers = f"{PLUGINS},{plugin}", []

    def one(name: str, **more: str) -> WorkerProcess:
        (tmp_path / name).mkdir()
        own = {"group.id": f"group-{unique}", "plugin.path": path, **PROPERTIES, **more}
        worker = WorkerProcess(tmp_path / name, broker.bootstrap_servers, path=(plugin,), **own)
        workers.append(worker)
        worker.start(90, "/connectors")
        return worker

    yield one
    for worker in workers:
        worker.close()


def create(worker: WorkerProcess, name: str, bad: Path, times: int, **more: str) -> None:
    bad.write_text(str(times))
    own = {"connector.class": "bad_data_source.BadDataConnector", "tasks.max": "1", "topic": name, "bad": str(bad)}
    worker.create(name, **own, **{"count": str(COUNT), **more})


def metric(worker: WorkerProcess, name: str, connector: str) -> float:
    text = worker.rest.get("/metrics").text
    found = re.search(rf'^kafka_connect_connector_task_{name}{{connector="{connector}",task="0"}} (\S+)', text, re.M)
    assert found is not None, text
    return float(found.group(1))


def test_a_task_that_fails_twice_goes_on_by_itself(
    make: MakeWorker, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    worker = make("a", **{"tasks.restart.backoff.initial.ms": "1000"})
    create(worker, unique, tmp_path / "bad", 2)
    assert_exactly_once(broker.bootstrap_servers, unique, COUNT, worker.properties["offset.storage.topic"], unique)
    assert (tmp_path / "bad").read_text() == "0"
    worker.wait_for_tasks(unique)
    restarts = re.findall(rf"Task {unique}-0 has failed and is restarted automatically: restart (\d)", worker.log)
    assert restarts == ["1", "2"]
    assert metric(worker, "auto_restarts_total", unique) == metric(worker, "auto_restart_attempts", unique) == 2


def test_a_task_that_fails_too_often_is_given_up(make: MakeWorker, unique: str, tmp_path: Path) -> None:
    """A task that fails for ever is given up; an operator's restart begins anew."""
    worker = make("a", **{"tasks.restart.backoff.initial.ms": "300", "tasks.restart.max.attempts": "2"})
    create(worker, unique, tmp_path / "bad", 4)
    expected = f"Task {unique}-0 is FAILED and is not restarted automatically: it was restarted 2 times in a row"
    wait_for(lambda: expected in worker.log, 90, lambda: worker.log[-3000:])
    assert (tmp_path / "bad").read_text() == "1" and worker.task_states(unique) == ["FAILED"]
    (given_up,) = worker.rest.get(f"/connectors/{unique}/health").json()["tasks"]
    assert given_up["verdict"] == "failed" and "number 500 is bad" in given_up["why"]
    assert given_up["auto_restart"]["gave_up"] and given_up["auto_restart"]["attempts"] == 2
    assert worker.rest.post(f"/connectors/{unique}/tasks/0/restart").status_code == 204
    wait_for(lambda: "restart 1 in a row" in worker.log.rpartition(expected)[2], 60, lambda: worker.log[-3000:])
    worker.wait_for_tasks(unique)
    (restarted,) = worker.rest.get(f"/connectors/{unique}/health").json()["tasks"]
    assert restarted["last_error"]["message"] == "number 500 is bad", "what has failed before the restart is known"
    assert restarted["auto_restart"] | {"gave_up": False, "attempts": 1} == restarted["auto_restart"]


def test_a_connector_whose_start_fails_is_started_again(make: MakeWorker, unique: str, tmp_path: Path) -> None:
    worker = make("a", **{"tasks.restart.policy": "none", "tasks.restart.backoff.initial.ms": "1000"})
    (tmp_path / "start").touch()
    own = {"connector.class": "moody_source.MoodySource", "directory": str(tmp_path), "topic": unique}
    worker.create(unique, **own, **{"tasks.restart.policy": "on-failure"})
    restart = f"Connector {unique} has failed and is restarted automatically: restart"
    wait_for(lambda: f"{restart} 2 in a row" in worker.log, 60, lambda: worker.log[-3000:])
    (tmp_path / "start").unlink()
    worker.wait_for_tasks(unique)
    assert worker.status(unique)["connector"]["state"] == "RUNNING"


def test_a_standalone_worker_restarts_its_tasks(
    broker: EmbeddedBroker, unique: str, tmp_path: Path, plugin: Path
) -> None:
    (tmp_path / "bad").write_text("2")
    connector = {"name": unique, "connector.class": "bad_data_source.BadDataConnector", "topic": unique}
    connector |= {"bad": f"{tmp_path / 'bad'}", "count": f"{COUNT}"}
    (tmp_path / "c.properties").write_text("".join(f"{key}={value}\n" for key, value in connector.items()))
    own = {"offset.storage.file.filename": f"{tmp_path / 'offsets'}", "exactly.once.source.support": "disabled"}
    quick = {"tasks.restart.policy": "on-failure", "tasks.restart.backoff.initial.ms": "1000"}
    path = {"plugin.path": f"{PLUGINS},{plugin}"}
    worker = WorkerProcess(tmp_path, broker.bootstrap_servers, path=(plugin,), **own, **quick, **path)
    worker.command = ("standalone", str(tmp_path / "c.properties"))
    with worker:
        wait_for_values(broker.bootstrap_servers, unique, COUNT, 120)
        worker.wait_for_tasks(unique)
        assert "restart 2 in a row" in worker.log


def test_the_leader_is_killed_between_failure_and_restart(
    make: MakeWorker, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    patient = {"tasks.restart.backoff.initial.ms": "8000"}
    leader, follower = make("a", **patient), make("b", **patient)
    names = [f"{unique}-{n}" for n in range(2)]
    for name in names:
        create(leader, name, tmp_path / name, 1, once=str(tmp_path / "both run"))
    for name in names:
        leader.wait_for_tasks(name)
    # Both fail at one time, or the first would be restarted while the other's worker still starts Spark.
    (tmp_path / "both run").touch()

    def failed() -> dict[str, Any]:
        seen = {name: next(iter(leader.status(name).get("tasks", [])), {}) for name in names}
        return seen if all(task.get("state") == "FAILED" for task in seen.values()) else {}

    owners = {name: task["worker_id"] for name, task in wait_for(failed, 90, lambda: leader.log[-3000:]).items()}
    leader.kill()
    assert "is restarted automatically" not in leader.log + follower.log
    there = [name for name, owner in owners.items() if owner.endswith(f":{follower.port}")]
    assert len(there) == 1, owners
    for name in names:
        wait_for_values(broker.bootstrap_servers, name, COUNT, 120)
        assert_exactly_once(broker.bootstrap_servers, name, COUNT, follower.properties["offset.storage.topic"], name)
    restarts = re.findall(r"Task (\S+)-0 has failed and is restarted automatically: restart 1 ", follower.log)
    assert restarts == there
