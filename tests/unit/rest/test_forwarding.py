# SPDX-License-Identifier: Apache-2.0
"""A follower's API over real sockets: what only the leader can do is answered by the leader, or says why not."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from headrace.api.errors import ConnectError, RetriableError
from headrace.config.session_key_config import mac_algorithm
from headrace.herder.errors import NotFoundError, NotLeaderError
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.model.state import TargetState
from headrace.rest.app import OtherWorkers, create_app
from headrace.rest.herder_request_handler import forward_url
from headrace.rest.internal_request_signature import HEADERS, SignatureVerifier, SignedParts, sign
from headrace.rest.leader_client import LeaderClient
from headrace.rest.rest_client import RestClient
from headrace.rest.server.listeners import BoundListeners
from headrace.rest.server.rest_server import RestServer

JSON = {"Content-Type": "application/json"}
KEY = SessionKey("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=", "HmacSHA256", 0)
SHA256 = mac_algorithm("HmacSHA256")
assert SHA256 is not None
CONFIGS = [{"a": "1", "null": None}, {"é": "\u2028"}]


@dataclass
class Cluster:
    """What other workers ask of one. `leader` is where the leader is, if it is another."""

    sign: bool = True
    key: SessionKey | None = KEY
    leader: str | None = None
    published: list[tuple[str, Sequence[Config]]] = field(default_factory=list)
    fenced: list[str] = field(default_factory=list)
    levels: list[tuple[str, str]] = field(default_factory=list)

    def signed(self) -> bool:
        return self.sign

    def session_key(self) -> SessionKey | None:
        return self.key

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> Future[None]:
        return self._asked(name, lambda: self.published.append((name, configs)))

    def write_logger_level(self, logger: str, level: str) -> Future[None]:
        return self._asked(logger, lambda: self.levels.append((logger, level)))

    def worker_health(self, connector: str | None) -> Future[Any]:
        future: Future[Any] = Future()
        if connector != "slow":
            future.set_result({"tasks": {connector or "all": {0: {"id": 0}}}, "errors": {}})
        return future

    def worker_history(self, connector: str | None) -> Any:
        return {"of": connector or "all"}

    def worker_report(self) -> Any:
        return {"members": ["http://a:1/"]}

    def fence_zombies(self, name: str) -> Future[None]:
        return self._asked(name, lambda: self.fenced.append(name))

    def _asked(self, name: str, act: Any) -> Future[None]:
        future: Future[None] = Future()
        if self.leader is not None:
            future.set_exception(NotLeaderError("Only the leader can", self.leader))
        elif name == "none":
            future.set_exception(NotFoundError("Connector none not found"))
        elif name == "forbidden":
            future.set_exception(ConnectError("Traceback ...\nAuthorizationError: not allowed"))
        elif name == "slow":
            pass
        else:
            act()
            future.set_result(None)
        return future


class Worker:
    """A served herder in memory."""

    def __init__(self, herder: Any) -> None:
        self.herder = herder
        self.cluster = Cluster()
        listeners = BoundListeners.bind(["http://127.0.0.1:0"])
        self.url = listeners.local_url
        others = OtherWorkers(self.cluster, RestClient(), SignatureVerifier([SHA256]))
        self.server = RestServer(create_app(herder, request_timeout=0.3, others=others), listeners)
        self.http = httpx2.Client(base_url=self.url, timeout=10)
        self.server.start()

    def reset(self, leader: str | None) -> None:
        """As follower of the worker at `leader`, or as the leader if that is None."""
        self.herder.reset()
        self.herder.error = leader and NotLeaderError("Only the leader can", leader)
        self.cluster.__init__(leader=leader)  # type: ignore[misc]

    def signed(self, method: str, path: str, body: bytes = b"") -> httpx2.Response:
        assert SHA256 is not None
        headers = sign(SignedParts(method, path, body), KEY, SHA256)
        return self.http.request(method, path, content=body, headers=headers | JSON)

    def close(self) -> None:
        self.http.close()
        self.server.stop()


@pytest.fixture(scope="module")
def workers(served: tuple[Any, httpx2.Client]) -> Iterator[tuple[Worker, Worker]]:
    make = type(served[0])
    pair = Worker(make()), Worker(make())
    yield pair
    for worker in pair:
        worker.close()


@pytest.fixture
def leader(workers: tuple[Worker, Worker]) -> Worker:
    workers[0].reset(None)
    return workers[0]


@pytest.fixture
def follower(workers: tuple[Worker, Worker], leader: Worker) -> Worker:
    workers[1].reset(leader.url)
    return workers[1]


def assert_error(answer: httpx2.Response, status: int, message: str) -> None:
    assert answer.status_code == status
    assert answer.json()["error_code"] == status and message in answer.json()["message"]


# ---- users' requests


def test_the_leaders_answers_come_through_unchanged(leader: Worker, follower: Worker) -> None:
    create = {"name": "c", "config": {"k": "v"}, "initial_state": "PAUSED"}
    created = follower.http.post("/connectors", json=create)
    assert (created.status_code, created.headers["location"]) == (201, f"{leader.url}/connectors/c")
    assert created.headers["content-type"] == "application/json"
    assert created.json() == {"name": "c", "config": {"k": "v", "name": "c"}, "tasks": [], "type": "source"}
    assert leader.herder.states["c"] is TargetState.PAUSED
    assert_error(follower.http.post("/connectors", json=create), 409, "Connector c already exists")
    assert follower.http.put("/connectors/c/config", json={"k": "w"}).json()["config"] == {"k": "w", "name": "c"}
    resumed = follower.http.put("/connectors/c/resume")
    assert (resumed.status_code, resumed.content) == (202, b"")
    deleted = follower.http.delete("/connectors/c")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert_error(follower.http.delete("/connectors/c"), 404, "Connector c not found")
    assert follower.herder.configs == {} == leader.herder.configs


@pytest.mark.parametrize("name", ["a/b", "%", "ü ñ", "a b?c#d", "{x}|^", "..", "."])
def test_every_name_reaches_the_leader(name: str, leader: Worker, follower: Worker) -> None:
    path = "".join(f"%{byte:02X}" for byte in name.encode())
    assert follower.http.put(f"/connectors/{path}/config", json={}).status_code == 201
    assert list(leader.herder.configs) == [name]


def test_errors_of_the_leader_and_its_stage_come_through(leader: Worker, follower: Worker) -> None:
    assert_error(follower.http.post("/connectors", content=b"{", headers=JSON), 400, "Malformed JSON")
    leader.herder.hangs = True
    answer = follower.http.post("/connectors", json={"name": "c", "config": {}})
    assert_error(answer, 500, "waiting for task_configs of connector x since 12 s")


def test_two_hops_and_no_more(leader: Worker, follower: Worker) -> None:
    """Each takes the other for the leader."""
    leader.reset(follower.url)
    answer = follower.http.put("/connectors/c/pause")
    assert_error(answer, 409, "not found within two hops")
    assert answer.headers["retry-after"] == "1"
    leader.reset(None)
    leader.herder.configs["c"] = {}
    assert follower.http.put("/connectors/c/pause?forward=true").status_code == 202
    assert_error(follower.http.put("/connectors/c/pause?forward=false"), 409, "two hops")
    assert_error(follower.http.put("/connectors/c/pause?forward="), 409, "two hops")


def test_no_leader_is_known(follower: Worker) -> None:
    follower.herder.error = NotLeaderError("Only the leader can", None)
    answer = follower.http.put("/connectors/c/pause")
    assert_error(answer, 409, "no leader at the moment")
    assert answer.headers["retry-after"] == "1"


def test_a_leader_that_is_gone(follower: Worker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gone = f"http://127.0.0.1:{taken.getsockname()[1]}"
    follower.herder.error = NotLeaderError("Only the leader can", gone)
    answer = follower.http.put("/connectors/c/pause")
    assert_error(answer, 503, f"Cannot reach the worker for PUT {gone}/connectors/c/pause")
    assert answer.headers["retry-after"] == "1"


def test_a_leader_that_does_not_answer(follower: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.rest.herder_request_handler._MARGIN_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        follower.herder.error = NotLeaderError("Only the leader can", f"http://127.0.0.1:{silent.getsockname()[1]}")
        answer = follower.http.put("/connectors/c/pause")
    assert_error(answer, 500, "has not answered PUT http://127.0.0.1:")


@pytest.mark.parametrize(
    ("path", "query", "url"),
    [
        ("/connectors/a%2Fb", "", "http://h:1/connectors/a%2Fb?forward=true"),
        ("/x", "forward=&a=b%20c&a=&forward=true", "http://h:1/x?a=b+c&a=&forward=true"),
        ("/connectors/../config", "", "http://h:1/connectors/%2E%2E/config?forward=true"),
    ],
)
def test_the_url_of_a_forwarded_request(path: str, query: str, url: str) -> None:
    assert forward_url("http://h:1/", path, query, last=False) == url
    assert forward_url("http://h:1", path, query, last=True) == url.replace("forward=true", "forward=false")


# ---- requests between workers


@pytest.mark.parametrize(("method", "path"), [("POST", "tasks"), ("PUT", "fence")])
class TestWhoMayAsk:
    def test_no_request_without_a_signature(self, method: str, path: str, leader: Worker) -> None:
        for name in ("c", "none"):
            answer = leader.http.request(method, f"/connectors/{name}/{path}", content=b"not even JSON", headers=JSON)
            assert_error(answer, 400, "has to be signed")

    def test_no_request_with_a_wrong_signature(self, method: str, path: str, leader: Worker) -> None:
        good = leader.signed(method, f"/connectors/none/{path}", b"[]")
        assert_error(good, 404, "Connector none not found")
        headers = {name: good.request.headers[name] for name in HEADERS} | JSON
        again = leader.http.request(method, f"/connectors/none/{path}", content=b"[]", headers=headers)
        assert_error(again, 403, "used before")
        other = leader.http.request(method, f"/connectors/c/{path}", content=b"[]", headers=headers)
        assert_error(other, 403, "signature is wrong")

    def test_everybody_before_the_key_is_known(self, method: str, path: str, leader: Worker) -> None:
        leader.cluster.key = None
        answer = leader.signed(method, f"/connectors/c/{path}", b"[]")
        assert_error(answer, 503, "has not read a session key")
        assert answer.headers["retry-after"] == "1"

    def test_any_request_where_a_worker_cannot_sign(self, method: str, path: str, leader: Worker) -> None:
        leader.cluster.sign = False
        assert leader.http.request(method, f"/connectors/c/{path}", content=b"[]", headers=JSON).status_code == 204


def test_a_follower_passes_on_what_is_signed(leader: Worker, follower: Worker) -> None:
    answer = follower.signed("POST", "/connectors/a%2Fb/tasks", b'[{"x": 1}]')
    assert (answer.status_code, answer.content) == (204, b"")
    assert leader.cluster.published == [("a/b", [{"x": "1"}])]
    assert follower.signed("PUT", "/connectors/c/fence").status_code == 204
    assert leader.cluster.fenced == ["c"]


@pytest.mark.parametrize("body", [b"", b"[", b"{}", b"null", b"[1]", b'[{"a":{}}]', b"[" * 100_000])
def test_task_configs_that_are_none(body: bytes, leader: Worker) -> None:
    answer = leader.signed("POST", "/connectors/c/tasks", body)
    assert answer.status_code == 400
    assert leader.cluster.published == []


@pytest.mark.parametrize("name", ["c", "a/b", "ü %", ".."])
def test_a_follower_publishes_task_configs(name: str, leader: Worker) -> None:
    assert SHA256 is not None
    client = LeaderClient(RestClient(), SHA256)
    client.put_task_configs(leader.url + "/", name, CONFIGS, KEY)
    client.put_task_configs(leader.url, name, [], KEY)
    assert leader.cluster.published == [(name, CONFIGS), (name, [])]


def test_what_the_leader_says_to_a_publication(leader: Worker) -> None:
    assert SHA256 is not None
    client = LeaderClient(RestClient(), SHA256)
    with pytest.raises(Exception, match="answered 404 to POST /connectors/none/tasks: Connector none not found"):
        client.put_task_configs(leader.url, "none", CONFIGS, KEY)
    with pytest.raises(Exception, match=r"answered 400 .* has to be signed"):
        client.put_task_configs(leader.url, "c", CONFIGS, None)


@pytest.mark.parametrize("name", ["c", "a/b", "ü %", ".."])
def test_a_follower_asks_for_a_round_of_fencing(name: str, leader: Worker) -> None:
    assert SHA256 is not None
    LeaderClient(RestClient(), SHA256).fence_zombies(leader.url + "/", name, KEY)
    assert leader.cluster.fenced == [name]


@pytest.mark.parametrize(
    ("name", "key", "expected"),
    [
        ("none", KEY, "answered 404 to PUT /connectors/none/fence: Connector none not found"),
        ("slow", KEY, "answered 503 .* timed out after 0.3 s"),
        ("c", None, "answered 400 .* has to be signed"),
    ],
)
def test_a_round_that_may_be_asked_for_again(name: str, key: SessionKey | None, expected: str, leader: Worker) -> None:
    assert SHA256 is not None
    with pytest.raises(RetriableError, match=expected):
        LeaderClient(RestClient(), SHA256).fence_zombies(leader.url, name, key)


def test_a_leader_that_is_away_and_a_round_that_failed(leader: Worker) -> None:
    assert SHA256 is not None
    client = LeaderClient(RestClient(), SHA256)
    with pytest.raises(RetriableError, match="Cannot reach the worker"):
        client.fence_zombies("http://127.0.0.1:1/", "c", KEY)
    with pytest.raises(ConnectError, match=r"(?s)answered 500 .*Traceback .*AuthorizationError") as caught:
        client.fence_zombies(leader.url, "forbidden", KEY)
    assert not isinstance(caught.value, RetriableError)


@pytest.mark.parametrize("name", ["c", "a/b", "ü %", ".."])
def test_a_follower_asks_for_a_loggers_level_in_the_whole_cluster(name: str, leader: Worker) -> None:
    assert SHA256 is not None
    client = LeaderClient(RestClient(), SHA256)
    client.put_logger_level(leader.url, name, "DEBUG", KEY)
    assert leader.cluster.levels == [(name, "DEBUG")]
    with pytest.raises(RetriableError, match=r"answered 404 to PUT .*: invalid log level 'LOUD'"):
        client.put_logger_level(leader.url, name, "LOUD", KEY)
    with pytest.raises(ConnectError, match=r"answered 400 .* has to be signed"):
        client.put_logger_level(leader.url, name, "INFO", None)
    assert leader.cluster.levels == [(name, "DEBUG")]


@pytest.mark.parametrize("name", ["c", "a/b", "ü %", "..", None])
def test_any_worker_answers_for_its_tasks(name: str | None, follower: Worker) -> None:
    assert SHA256 is not None
    client = LeaderClient(RestClient(), SHA256)
    assert client.worker_health(follower.url, name, KEY) == {"tasks": {name or "all": {"0": {"id": 0}}}, "errors": {}}
    with pytest.raises(ConnectError, match=r"answered 400 to GET /internal/health.* has to be signed"):
        client.worker_health(follower.url, name, None)
    with pytest.raises(ConnectError, match=r"answered 500 to GET /internal/health/slow: .* timed out"):
        client.worker_health(follower.url, "slow", KEY)


@pytest.mark.parametrize("name", ["c", "a/b", "ü %", "..", None])
def test_any_worker_answers_with_its_history(name: str | None, follower: Worker) -> None:
    assert SHA256 is not None
    client = LeaderClient(RestClient(), SHA256)
    assert client.worker_history(follower.url, name, KEY) == {"of": name or "all"}
    with pytest.raises(ConnectError, match=r"answered 400 to GET /internal/history.* has to be signed"):
        client.worker_history(follower.url, name, None)


def test_any_worker_answers_with_its_report(follower: Worker) -> None:
    assert SHA256 is not None
    client = LeaderClient(RestClient(), SHA256)
    assert client.worker_report(follower.url, KEY) == {"members": ["http://a:1/"]}
    with pytest.raises(ConnectError, match=r"answered 400 to GET /internal/worker.* has to be signed"):
        client.worker_report(follower.url, None)


def test_a_leader_that_is_none_any_more_passes_a_level_on(workers: tuple[Worker, Worker]) -> None:
    assert SHA256 is not None
    former, leader = workers
    leader.reset(None)
    former.reset(leader.url)
    LeaderClient(RestClient(), SHA256).put_logger_level(former.url, "a.b", "DEBUG", KEY)
    assert (former.cluster.levels, leader.cluster.levels) == ([], [("a.b", "DEBUG")])


def test_internal_endpoints_are_no_part_of_the_described_api(leader: Worker, served: tuple[Any, httpx2.Client]) -> None:
    paths = leader.http.get("/openapi.json").json()["paths"]
    assert "/connectors/{connector}/fence" not in paths and "post" not in paths["/connectors/{connector}/tasks"]
    alone = served[1]
    assert alone.post("/connectors/c/tasks").status_code == 405
    assert alone.put("/connectors/c/fence").status_code == 404
