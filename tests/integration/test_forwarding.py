# SPDX-License-Identifier: Apache-2.0
"""Two real workers in one group: what users ask of the follower, and what the workers ask of each other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.config.session_key_config import mac_algorithm
from headrace.model.cluster_config_state import SessionKey
from headrace.rest.internal_request_signature import HEADERS, SignedParts, sign
from tests.support.polling import wait_for, within
from tests.support.sinks import lines, make_topic, numbers, send
from tests.support.topics import read_committed, values
from tests.support.worker_process import WorkerProcess, once_settled

GROWING = "growing_source.GrowingSourceConnector"
NUMBERED = "numbered_source.NumberedSourceConnector"
KEY_TTL_MS = 8_000
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Pair:
    leader: WorkerProcess
    follower: WorkerProcess
    brokers: str

    def session_keys(self) -> list[dict[str, Any]]:
        """All that were ever written, the newest last."""
        records = read_committed(self.brokers, self.leader.properties["config.storage.topic"])
        return [json.loads(record.value) for record in records if record.key == b"session-key" and record.value]

    def signed(self, worker: WorkerProcess, method: str, path: str, body: bytes = b"") -> httpx2.Response:
        """Again if the key was replaced just then."""
        while True:
            newest = self.session_keys()[-1]
            key = SessionKey(newest["key"], newest["algorithm"], newest["creation-timestamp"])
            algorithm = mac_algorithm("HmacSHA256")
            assert algorithm is not None
            headers = sign(SignedParts(method, path, body), key, algorithm) | JSON
            answer = worker.rest.request(method, path, content=body, headers=headers)
            if answer.status_code != 403 or self.session_keys()[-1] == newest:
                return answer


def leads(worker: WorkerProcess) -> bool | None:
    """None while it is not known."""
    answer = worker.rest.put("/connectors/none/pause?forward=false")
    return {404: True, 409: False}.get(answer.status_code)


@pytest.fixture(scope="module")
def pair(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    properties = {"group.id": "group-forwarding", "inter.worker.key.ttl.ms": str(KEY_TTL_MS)}
    workers = [
        WorkerProcess(tmp_path_factory.mktemp(name), broker.bootstrap_servers, **properties) for name in ("one", "two")
    ]
    try:
        for worker in workers:
            worker.start()
        roles = wait_for(lambda: _roles(workers), 60, lambda: f"a leader and a follower\n{workers[1].log[-2000:]}")
        yield Pair(*roles, broker.bootstrap_servers)
    finally:
        for worker in workers:
            worker.close()


def _roles(workers: list[WorkerProcess]) -> list[WorkerProcess] | None:
    roles = {leads(worker): worker for worker in workers}
    return [roles[True], roles[False]] if roles.keys() == {True, False} else None


def config(name: str, connector_class: str = NUMBERED, tasks: int = 1, **more: str) -> dict[str, str]:
    return {"connector.class": connector_class, "tasks.max": str(tasks), "topic": name, "count": "0", **more}


def assert_error(answer: httpx2.Response, status: int, message: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.json()["error_code"] == status and message in answer.json()["message"]


def url_of(worker: WorkerProcess) -> str:
    return str(worker.rest.base_url).rstrip("/")


def states(pair: Pair, name: str) -> list[str]:
    """Of a connector and its tasks, where both workers say the same."""
    seen = [worker.status(name) for worker in (pair.leader, pair.follower)]
    if not all(seen) or seen[0] != seen[1]:
        return []
    return [seen[0]["connector"]["state"], *(task["state"] for task in seen[0]["tasks"])]


def wait_for_states(pair: Pair, name: str, *wanted: str) -> None:
    wait_for(
        lambda: states(pair, name) == list(wanted),
        60,
        lambda: (
            f"{wanted} of {name}: {pair.leader.status(name)}\n{pair.leader.log[-3000:]}\n{pair.follower.log[-3000:]}"
        ),
    )


def owned_by(pair: Pair, worker: WorkerProcess, prefix: str, connector_class: str, **more: str) -> str:
    """A connector that runs on `worker`, out of as many as it takes."""
    for number in range(4):
        name = f"{prefix}-{number}"
        pair.leader.create(name, **config(name, connector_class, **more))
        state = wait_for(lambda name=name: pair.leader.status(name).get("connector"), 60, f"a status of {name}")
        if state["worker_id"] == f"127.0.0.1:{worker.port}":
            return name
    raise AssertionError(f"no connector came to {url_of(worker)}")


def test_a_connectors_life_through_the_follower(pair: Pair, unique: str) -> None:
    request = {"name": unique, "config": config(unique)}
    created = pair.follower.rest.post("/connectors", json=request)
    assert created.status_code == 201, created.text
    assert created.headers["location"] == f"{url_of(pair.leader)}/connectors/{unique}"
    assert created.json() == {
        "name": unique,
        "config": {**request["config"], "name": unique},
        "tasks": [],
        "type": "source",
        "warnings": ["topic: nothing defines this property", "count: nothing defines this property"],
    }
    for worker in (pair.leader, pair.follower):
        assert_error(worker.rest.post("/connectors", json=request), 409, f"Connector {unique} already exists")
    wait_for_states(pair, unique, "RUNNING", "RUNNING")
    for path in ("", "/config", "/status", "/tasks", "/offsets"):
        answer = [worker.rest.get(f"/connectors/{unique}{path}") for worker in (pair.leader, pair.follower)]
        assert answer[0].status_code == 200 and answer[0].json() == answer[1].json()

    assert pair.follower.rest.put(f"/connectors/{unique}/pause").status_code == 202
    wait_for_states(pair, unique, "PAUSED", "PAUSED")
    assert pair.follower.rest.put(f"/connectors/{unique}/resume").status_code == 202
    wait_for_states(pair, unique, "RUNNING", "RUNNING")
    changed = pair.follower.rest.put(f"/connectors/{unique}/config", json=config(unique, tasks=2))
    assert (changed.status_code, changed.json()["config"]["tasks.max"]) == (200, "2")
    wait_for_states(pair, unique, "RUNNING", "RUNNING", "RUNNING")

    deleted = pair.follower.rest.delete(f"/connectors/{unique}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    for worker in (pair.leader, pair.follower):
        assert_error(worker.rest.delete(f"/connectors/{unique}"), 404, f"Connector {unique} not found")

    lines = [re.findall(f"audit who=.*/{unique}/config.*", worker.log) for worker in (pair.follower, pair.leader)]
    change = f'what="PUT /connectors/{unique}/config" connector={unique} change="tasks.max: 1 → 2" result=200'
    assert lines == [
        [f"audit who=anonymous address=127.0.0.1 worker=127.0.0.1:{worker.port} {forwarded}{change}"]
        for worker, forwarded in ((pair.follower, ""), (pair.leader, "forwarded=true "))
    ]


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_offsets_are_changed_through_the_follower(pair: Pair, unique: str, tmp_path: Path, kind: str) -> None:
    """Looked at here, altered and reset by the leader, and gone on from by whichever worker has the task (KIP-875)."""
    if kind == "source":
        more = config(unique, count="20")
        partition, end, wanted = {"id": "0"}, {"seqno": 19}, {"seqno": 14}
    else:
        make_topic(pair.brokers, unique)
        send(pair.brokers, unique, numbers(0, 20))
        more = {"connector.class": "FileStreamSink", "topics": unique, "file": str(tmp_path / "out.txt")}
        partition, end, wanted = (
            {"kafka_topic": unique, "kafka_partition": 0},
            {"kafka_offset": 20},
            {"kafka_offset": 15},
        )

    def written() -> list[str]:
        if kind == "sink":
            return lines(tmp_path / "out.txt")
        return [(value or b"").decode() for value in values(pair.brokers, unique)]

    def reported() -> list[Any]:
        return [
            each.rest.get(f"/connectors/{unique}/offsets").json()["offsets"] for each in (pair.leader, pair.follower)
        ]

    def stopped() -> None:
        wait_for(
            lambda: reported() == [[{"partition": partition, "offset": end}]] * 2, 60, lambda: f"{end}: {reported()}"
        )
        assert pair.follower.rest.put(f"/connectors/{unique}/stop").status_code == 204
        wait_for_states(pair, unique, "STOPPED")

    def resumed(expected: list[int]) -> None:
        assert pair.follower.rest.put(f"/connectors/{unique}/resume").status_code == 202
        wait_for(lambda: written() == list(map(str, expected)), 60, lambda: f"{expected}: {written()}")

    def change(method: str, **body: Any) -> httpx2.Response:
        return once_settled(lambda: pair.follower.rest.request(method, f"/connectors/{unique}/offsets", **body))

    pair.follower.create(unique, **more)
    stopped()
    body = {"offsets": [{"partition": partition, "offset": wanted}]}
    altered = change("PATCH", json=body)
    assert altered.status_code == 204, altered.text
    assert reported() == [body["offsets"]] * 2
    resumed([*range(20), *range(15, 20)])
    stopped()
    for _ in range(2):
        reset = change("DELETE")
        assert reset.status_code == 204, reset.text
        assert reported() == [[], []]
    resumed([*range(20), *range(15, 20), *range(20)])
    assert_error(change("DELETE"), 400, f"Connector {unique} must be STOPPED")
    pair.follower.delete(unique)


def test_mistakes_through_the_follower_are_reported_as_by_the_leader(pair: Pair, unique: str) -> None:
    wrong = {"name": unique, "config": {"connector.class": "NoSuch"}}
    answers = [worker.rest.post("/connectors", json=wrong) for worker in (pair.leader, pair.follower)]
    assert answers[0].status_code == answers[1].status_code == 400
    assert answers[0].json() == answers[1].json()
    assert_error(pair.follower.rest.post("/connectors", content=b"{", headers=JSON), 400, "Malformed JSON")


def test_every_name_goes_through_the_follower(pair: Pair, unique: str) -> None:
    name = f"{unique}/ü %2F?"
    url = f"/connectors/{quote(name, safe='')}"
    assert pair.follower.rest.put(f"{url}/config", json=config(unique, topic=unique)).status_code == 201
    wait_for(lambda: name in pair.follower.rest.get("/connectors").json(), 10, "the connector")
    assert pair.follower.rest.delete(url).status_code == 204


def test_a_followers_connector_gets_its_tasks_and_changes_them(pair: Pair, unique: str, tmp_path: Path) -> None:
    file = tmp_path / "tasks"
    file.write_text("1")
    name = owned_by(pair, pair.follower, unique, GROWING, tasks=3, **{"tasks.file": str(file)})
    wait_for_states(pair, name, "RUNNING", "RUNNING")
    for wanted in (3, 2):
        file.write_text(str(wanted))
        wait_for_states(pair, name, "RUNNING", *["RUNNING"] * wanted)
        answer = pair.leader.rest.get(f"/connectors/{name}/tasks").json()
        assert [task["config"]["id"] for task in answer] == [str(id) for id in range(wanted)]
    for connector in pair.leader.rest.get("/connectors").json():
        pair.leader.delete(connector)


@pytest.mark.parametrize(("method", "path"), [("POST", "tasks"), ("PUT", "fence")])
def test_workers_refuse_what_is_not_signed_rightly(pair: Pair, method: str, path: str) -> None:
    url = f"/connectors/none/{path}"
    for worker in (pair.leader, pair.follower):
        assert_error(worker.rest.request(method, url, content=b"[]", headers=JSON), 400, "has to be signed")
        good = pair.signed(worker, method, url, b"[]")
        assert_error(good, 404, "Connector none not found")
        headers = {name: good.request.headers[name] for name in HEADERS} | JSON
        again = worker.rest.request(method, url, content=b"[]", headers=headers)
        assert again.status_code == 403
        other = worker.rest.request(method, f"/connectors/other/{path}", content=b"[]", headers=headers)
        assert_error(other, 403, "signature is wrong")


def test_a_worker_asks_the_leader_for_a_round_of_fencing(pair: Pair, unique: str) -> None:
    pair.follower.create(unique, **config(unique))
    wait_for_states(pair, unique, "RUNNING", "RUNNING")
    for worker in (pair.leader, pair.follower):
        answer = pair.signed(worker, "PUT", f"/connectors/{unique}/fence")
        assert (answer.status_code, answer.content) == (204, b"")
    pair.leader.delete(unique)


def test_the_leader_replaces_the_session_key(pair: Pair, unique: str) -> None:
    """Records are as Java writes them, and a follower's connector gets its tasks by the new key as well."""
    seen = len(pair.session_keys())
    within(3 * KEY_TTL_MS / 1000, lambda: len(pair.session_keys()) > seen, "a new session key")
    *_, former, newest = pair.session_keys()
    assert newest.keys() == {"key", "algorithm", "creation-timestamp"}
    assert newest["algorithm"] == "HmacSHA256" and newest["key"] != former["key"]
    assert newest["creation-timestamp"] - former["creation-timestamp"] >= KEY_TTL_MS
    audited = 'what="session key" change="a new key of 32 bytes for HmacSHA256 in place of the one of 20'
    wait_for(lambda: pair.leader.log.count(f"audit who=leader worker=127.0.0.1:{pair.leader.port} {audited}"), 10)
    assert audited not in pair.follower.log
    assert not [key for key in pair.session_keys() if key["key"] in pair.leader.log + pair.follower.log]
    name = owned_by(pair, pair.follower, unique, NUMBERED)
    wait_for_states(pair, name, "RUNNING", "RUNNING")
