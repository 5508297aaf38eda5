# SPDX-License-Identifier: Apache-2.0
"""Which rights exactly-once sources and changes of their offsets need (KIP-618, KIP-875).

One broker that allows what a rule allows and nothing else; each kind of clients has a principal of its own. With the
listed rights all works. Each of them is taken away once, and the error names what it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import httpx2
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.data.transactional_producer import TransactionalProducer
from tests.integration.guarded_broker import (
    DATA,
    FENCING_DESCRIBES,
    FENCING_WRITES,
    GROUP,
    LEADER_DESCRIBES,
    LEADER_IDEMPOTENT,
    LEADER_WRITES,
    LEADERS_ID,
    LISTED,
    NAME,
    OFFSETS_DESCRIBED,
    OFFSETS_READ,
    OFFSETS_WRITTEN,
    OWN,
    TASK_DESCRIBES,
    TASK_IDEMPOTENT,
    TASK_WRITES,
    TASKS_IDS,
    UNLISTED,
    Right,
    Rules,
    guarded_broker,
    logins,
)
from tests.support.polling import wait_for
from tests.support.sinks import make_topic
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess, once_settled

ANOTHER: Final = "another-own-offsets"
ID_REFUSED: Final = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
TOPIC_REFUSED: Final = "TOPIC_AUTHORIZATION_FAILED"


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[EmbeddedBroker, int]]:
    with guarded_broker() as running:
        yield running


@pytest.fixture(scope="module")
def rules(guarded: tuple[EmbeddedBroker, int]) -> Rules:
    """With all that is listed."""
    broker, _ = guarded
    make_topic(broker.bootstrap_servers, DATA)
    made = Rules(broker.bootstrap_servers)
    made.grant(*(right.rule() for right in (*LISTED, *UNLISTED)))
    return made


@pytest.fixture(scope="module")
def acl_worker(
    guarded: tuple[EmbeddedBroker, int], rules: Rules, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """With a connector of two tasks."""
    more = {"group.id": GROUP, **logins()}
    with WorkerProcess(tmp_path_factory.mktemp("acls"), f"127.0.0.1:{guarded[1]}", **more) as running:
        running.create(NAME, **config())
        yield running


@pytest.fixture
def worker(acl_worker: WorkerProcess) -> WorkerProcess:
    """With both tasks RUNNING, whatever was done to them before."""

    def running() -> bool:
        """A task that could not go on may say so late: it is restarted however often it takes."""
        status = acl_worker.status(NAME)
        states = [each["state"] for each in (status["connector"], *status["tasks"])] if status else []
        if "FAILED" in states:
            restart(acl_worker)
        return states == ["RUNNING"] * 3

    wait_for(running, 90, lambda: f"both tasks RUNNING: {acl_worker.status(NAME)}")
    return acl_worker


def config(own: str = OWN, throughput: int = 5) -> dict[str, str]:
    return {
        "connector.class": "VerifiableSource",
        "tasks.max": "2",
        "topic": DATA,
        "throughput": str(throughput),
        "offsets.storage.topic": own,
    }


def restart(worker: WorkerProcess) -> None:
    answer = once_settled(lambda: worker.rest.post(f"/connectors/{NAME}/restart?includeTasks=true"))
    assert answer.status_code == 202, answer.text


def reconfigure(worker: WorkerProcess) -> None:
    """Which takes a round of fencing of both tasks."""
    known = int(worker.rest.get(f"/connectors/{NAME}/config").json()["throughput"])
    put(worker, throughput=known + 1)


def put(worker: WorkerProcess, **how: Any) -> None:
    answer = once_settled(lambda: worker.rest.put(f"/connectors/{NAME}/config", json=config(**how)))
    assert answer.status_code == 200, answer.text


def wait_for_trace(worker: WorkerProcess, *expected: str, seconds: float = 40) -> None:
    """Until the status of the connector or of a task says all that."""

    def traces() -> list[str]:
        status = worker.status(NAME)
        return [each.get("trace", "") for each in (status["connector"], *status["tasks"])]

    wait_for(
        lambda: any(all(part in trace for part in expected) for trace in traces()),
        seconds,
        lambda: f"{expected}: {traces()}",
    )


def change(worker: WorkerProcess, method: str, **body: Any) -> httpx2.Response:
    return once_settled(lambda: worker.rest.request(method, f"/connectors/{NAME}/offsets", **body))


def alter(worker: WorkerProcess) -> httpx2.Response:
    body = {"offsets": [{"partition": {"id": 0}, "offset": {"seqno": 1000}}]}
    return change(worker, "PATCH", json=body)


def test_with_the_listed_rights_all_works(worker: WorkerProcess, guarded: tuple[EmbeddedBroker, int]) -> None:
    bootstrap = guarded[0].bootstrap_servers
    reconfigure(worker)
    worker.wait_for_tasks(NAME, tasks=2)
    wait_for(lambda: read_committed(bootstrap, DATA), 60, "records")
    worker.stop_connector(NAME)
    assert alter(worker).status_code == 204
    found = worker.rest.get(f"/connectors/{NAME}/offsets").json()["offsets"]
    assert {"partition": {"id": 0}, "offset": {"seqno": 1000}} in found
    assert change(worker, "DELETE").status_code == 204
    assert worker.rest.get(f"/connectors/{NAME}/offsets").json()["offsets"] == []
    assert worker.rest.put(f"/connectors/{NAME}/resume").status_code == 202
    worker.wait_for_tasks(NAME, tasks=2)


@pytest.mark.parametrize(
    ("right", "do", "expected"),
    [
        (TASK_WRITES, restart, ("init_transactions of producer", TASKS_IDS, "acquire transactional PID", ID_REFUSED)),
        (TASK_DESCRIBES, restart, ("init_transactions of producer", TASKS_IDS, "find transaction coord", ID_REFUSED)),
        (OFFSETS_WRITTEN, restart, (f"writing to topic {OWN} failed", TOPIC_REFUSED)),
        (OFFSETS_READ, restart, (f"reading topic '{OWN}' failed", TOPIC_REFUSED)),
        (FENCING_WRITES, reconfigure, (f"Fencing the producers of transactional.id '{TASKS_IDS}", "is not allowed")),
        (FENCING_DESCRIBES, reconfigure, (f"Fencing the producers of transactional.id '{TASKS_IDS}", "is not allowed")),
        (OFFSETS_DESCRIBED, restart, (f"topic '{OWN}'", TOPIC_REFUSED)),
    ],
    ids=lambda value: str(value) if isinstance(value, Right) else "",
)
def test_a_missing_acl_of_a_task_is_reported_in_its_trace(
    worker: WorkerProcess, rules: Rules, right: Right, do: Callable[[WorkerProcess], None], expected: tuple[str, ...]
) -> None:
    with rules.without(right):
        do(worker)
        try:
            wait_for_trace(worker, *expected, seconds=10)
        except AssertionError:
            # What has the topic open notices with its next fetch, which may have come after the task's look.
            do(worker)
            wait_for_trace(worker, *expected)


def test_the_right_to_make_the_offsets_topic(worker: WorkerProcess, rules: Rules) -> None:
    """Which is needed for one that is not there."""
    put(worker, own=ANOTHER)
    wait_for_trace(worker, f"topic '{ANOTHER}'", "Create it unless it is there already", TOPIC_REFUSED)
    put(worker)


@pytest.mark.parametrize("right", [LEADER_WRITES, LEADER_DESCRIBES], ids=str)
def test_a_missing_acl_of_the_leader_is_reported_in_answers(
    worker: WorkerProcess, rules: Rules, guarded: tuple[EmbeddedBroker, int], right: Right
) -> None:
    """It has to claim the config topic anew, as every leader has to in the beginning."""
    with rules.without(right):
        other = TransactionalProducer(
            {"bootstrap.servers": guarded[0].bootstrap_servers, "transactional.id": LEADERS_ID}
        )
        other.init_transactions(30)
        other.close()
        answer = worker.rest.put(f"/connectors/{NAME}/pause")
    worker.rest.put(f"/connectors/{NAME}/resume")
    assert answer.status_code == 500 and LEADERS_ID in answer.json()["message"], answer.text


@pytest.mark.parametrize(
    ("right", "expected"), [(TASK_WRITES, f"producer {TASKS_IDS}0 failed"), (OFFSETS_WRITTEN, f"topic {OWN}")], ids=str
)
def test_a_missing_acl_for_changing_offsets_is_reported_in_the_answer(
    worker: WorkerProcess, rules: Rules, right: Right, expected: str
) -> None:
    worker.stop_connector(NAME)
    with rules.without(right):
        answer = alter(worker)
    assert worker.rest.put(f"/connectors/{NAME}/resume").status_code == 202
    assert answer.status_code == 500 and expected in answer.json()["message"], answer.text


@pytest.mark.parametrize("right", [LEADER_IDEMPOTENT, TASK_IDEMPOTENT], ids=str)
def test_brokers_do_not_ask_for_idempotent_write_any_more(worker: WorkerProcess, rules: Rules, right: Right) -> None:
    with rules.without(right):
        reconfigure(worker)
        worker.wait_for_tasks(NAME, tasks=2)
