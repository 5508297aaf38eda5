# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.herder.errors import BadRequestError, NotLeaderError, RebalanceNeededError
from headrace.model.info import ConnectorOffset
from headrace.model.state import TargetState

CONFIG = {"connector.class": "FileStreamSource", "topic": "t"}


def assert_error(answer: httpx2.Response, status: int, text: str) -> None:
    body = answer.json()
    assert answer.status_code == status, body
    assert body.keys() == {"error_code", "message"}
    assert body["error_code"] == status
    assert text in body["message"]
    assert "\n" not in body["message"]


def create(client: httpx2.Client, name: str = "c", **more: Any) -> httpx2.Response:
    return client.post("/connectors", json={"name": name, "config": CONFIG, **more})


def test_root(client: httpx2.Client) -> None:
    assert client.get("/").json() == {
        "version": "4.3.1",
        "commit": "abc",
        "kafka_cluster_id": "cluster",
        "headrace_version": "0.1.0",
    }


def test_create_answers_201_and_where_the_connector_is(client: httpx2.Client) -> None:
    answer = create(client)
    assert answer.status_code == 201
    assert answer.headers["location"] == f"{str(client.base_url).rstrip('/')}/connectors/c"
    assert answer.json() == {"name": "c", "config": {**CONFIG, "name": "c"}, "tasks": [], "type": "source"}
    assert client.get("/connectors").json() == ["c"]


def test_queries_have_the_shapes_of_kafka_connect(client: httpx2.Client, herder: Any) -> None:
    create(client)
    config = {**CONFIG, "name": "c"}
    task = {"connector": "c", "task": 0}
    assert client.get("/connectors/c").json() == {"name": "c", "config": config, "tasks": [task], "type": "source"}
    assert client.get("/connectors/c/config").json() == config
    assert client.get("/connectors/c/tasks").json() == [{"id": task, "config": config}]
    running = {"state": "RUNNING", "worker_id": "h:8083"}
    assert client.get("/connectors/c/status").json() == {
        "name": "c",
        "connector": {**running, "version": "1.0"},
        "tasks": [{"id": 0, **running}],
        "type": "source",
    }
    herder.trace = "boom\n  at x"
    failed = {"id": 0, "state": "FAILED", "worker_id": "h:8083", "trace": "boom\n  at x"}
    assert client.get("/connectors/c/status").json()["tasks"] == [failed]
    herder.offsets["c"] = (ConnectorOffset({"filename": "f"}, {"position": 3}), ConnectorOffset({}, None))
    assert client.get("/connectors/c/offsets").json() == {
        "offsets": [{"partition": {"filename": "f"}, "offset": {"position": 3}}, {"partition": {}, "offset": None}]
    }
    assert client.get("/connector-plugins").json() == [
        {"class": "a.B", "type": "source", "version": "1.0"},
        {"class": "c.D", "type": "sink"},
    ]


def test_put_config_creates_and_then_updates(client: httpx2.Client) -> None:
    assert client.put("/connectors/c/config", json=CONFIG).status_code == 201
    answer = client.put("/connectors/c/config", json={**CONFIG, "topic": "u"})
    assert answer.status_code == 200
    assert "location" not in answer.headers
    assert answer.json()["config"] == {**CONFIG, "topic": "u", "name": "c"}


def test_pause_resume_and_delete(client: httpx2.Client, herder: Any) -> None:
    create(client)
    assert (client.put("/connectors/c/pause").status_code, herder.states["c"]) == (202, TargetState.PAUSED)
    assert (client.put("/connectors/c/resume").status_code, herder.states["c"]) == (202, TargetState.STARTED)
    deleted = client.delete("/connectors/c")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert client.get("/connectors").json() == []


@pytest.mark.parametrize("name", ["a/b", "50%", "with space", "ümläut €", "a%2Fb", "q?x#y", "back\\slash", "a+b&c=d"])
def test_every_name_is_addressable_percent_encoded(client: httpx2.Client, name: str) -> None:
    answer = create(client, name)
    encoded = quote(name, safe="")
    assert answer.headers["location"].endswith(f"/connectors/{encoded}")
    assert client.get(f"/connectors/{encoded}").json()["name"] == name
    assert client.get(answer.headers["location"]).json()["name"] == name
    assert client.put(f"/connectors/{encoded}/pause").status_code == 202
    assert client.delete(f"/connectors/{encoded}").status_code == 204


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ("RUNNING", TargetState.STARTED),
        ("paused", TargetState.PAUSED),
        ("STOPPED", TargetState.STOPPED),
        (None, TargetState.STARTED),
    ],
)
def test_initial_state(client: httpx2.Client, herder: Any, given: str | None, state: TargetState) -> None:
    assert create(client, initial_state=given).status_code == 201
    assert herder.states["c"] is state


def test_numbers_and_booleans_of_a_config_are_taken_as_written(client: httpx2.Client) -> None:
    body = '{"name": "c", "config": {"a": 1, "b": 1.50, "c": true, "d": null, "e": 12345678901234567890}}'
    answer = client.post("/connectors", content=body, headers={"Content-Type": "application/json"})
    assert answer.json()["config"] == {
        "a": "1",
        "b": "1.50",
        "c": "true",
        "d": None,
        "e": "12345678901234567890",
        "name": "c",
    }


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", "Malformed JSON"),
        ("{", "Malformed JSON"),
        ("null", "not null"),
        ("[]", "Expected a JSON object"),
        ("NaN", "Malformed JSON"),
        ("[" * 100_000, "Malformed JSON"),
        (b"\xff", "Malformed JSON"),
        ('{"name": "c"}', "config"),
        ('{"name": "c", "config": null}', "config"),
        ('{"name": "c", "config": []}', "config"),
        ('{"config": {}}', "cannot be empty"),
        ('{"config": {"name": "c"}}', "needs a field 'name'"),
        ('{"name": null, "config": {"name": "c"}}', "needs a field 'name'"),
        ('{"name": 7.5e1, "config": {"name": "c"}}', "doesn't match"),
        ('{"name": {}, "config": {}}', "'name'"),
        ('{"name": "", "config": {}}', "cannot be empty"),
        ('{"name": " ", "config": {}}', "cannot be empty"),
        ('{"name": "c", "config": {}, "confg": 1}', "Unrecognized field 'confg'"),
        ('{"name": "c", "config": {"a": {"b": 1}}}', "property 'a'"),
        ('{"name": "c", "config": {"name": "d"}}', "doesn't match"),
        ('{"name": "c", "config": {}, "initial_state": "HALTED"}', "'HALTED' for initial_state"),
        ('{"name": "c", "config": {}, "initial_state": {}}', "initial_state"),
    ],
)
def test_a_body_that_cannot_be_meant_is_a_400(client: httpx2.Client, body: str | bytes, text: str) -> None:
    answer = client.post("/connectors", content=body, headers={"Content-Type": "application/json"})
    assert_error(answer, 400, text)


def test_put_config_refuses_another_name_and_what_is_no_config(client: httpx2.Client) -> None:
    assert_error(client.put("/connectors/c/config", json={"name": "d"}), 400, "doesn't match")
    assert_error(client.put("/connectors/c/config", json=None), 400, "Malformed JSON")
    assert_error(client.put("/connectors/c/config", json=["x"]), 400, "Expected a JSON object")


def test_a_duplicate_is_a_409(client: httpx2.Client) -> None:
    create(client)
    assert_error(create(client), 409, "already exists")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/connectors/x"),
        ("GET", "/connectors/x/config"),
        ("GET", "/connectors/x/status"),
        ("GET", "/connectors/x/tasks"),
        ("DELETE", "/connectors/x"),
        ("PUT", "/connectors/x/pause"),
        ("PUT", "/connectors/x/resume"),
        ("GET", "/nothing"),
        ("GET", "/connectors/x/tasks-config"),
    ],
)
def test_what_is_not_there_is_a_404(client: httpx2.Client, method: str, path: str) -> None:
    assert_error(client.request(method, path), 404, "")


def test_a_wrong_method_is_a_405_and_a_wrong_type_a_415(client: httpx2.Client) -> None:
    assert_error(client.patch("/connectors"), 405, "HTTP 405 Method Not Allowed")
    answer = client.post("/connectors", content="name=c", headers={"Content-Type": "text/plain"})
    assert_error(answer, 415, "Content-Type: application/json")
    create(client)
    paused = client.put("/connectors/c/pause", content="x", headers={"Content-Type": "text/plain"})
    assert_error(paused, 415, "Content-Type: application/json")
    assert client.put("/connectors/c/pause", headers={"Content-Type": "text/plain"}).status_code == 202


@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "*/*", "application/*", "application/x-www-form-urlencoded"]
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/connectors"),
        ("PUT", "/connectors/c/config"),
        ("PATCH", "/connectors/c/config"),
        ("PATCH", "/connectors/c/offsets"),
        ("PUT", "/connectors/c/pause"),
        ("PUT", "/connector-plugins/a.B/config/validate"),
        ("PUT", "/admin/loggers/root"),
    ],
)
def test_a_body_has_to_say_that_it_is_json(
    client: httpx2.Client, herder: Any, method: str, path: str, content_type: str | None
) -> None:
    """A page of any other origin can have a browser send these types, and none, without asking first."""
    headers = {} if content_type is None else {"Content-Type": content_type}
    body = json.dumps({"name": "c", "config": CONFIG})
    assert_error(client.request(method, path, content=body, headers=headers), 415, "Content-Type: application/json")
    assert herder.configs == {} and herder.states == {} and herder.asked is None and herder.validated is None


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_by_its_other_spellings(client: httpx2.Client, content_type: str) -> None:
    body = json.dumps({"name": "c", "config": CONFIG})
    assert client.post("/connectors", content=body, headers={"Content-Type": content_type}).status_code == 201


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/connectors", "HEAD, GET, POST, OPTIONS"),
        ("POST", "/connectors/c", "HEAD, GET, DELETE, OPTIONS"),
        ("DELETE", "/connectors/a%2Fb/config", "HEAD, GET, PUT, PATCH, OPTIONS"),
        ("GET", "/connectors/c/pause", "PUT, OPTIONS"),
        ("TRACE", "/connectors/c/offsets", "HEAD, GET, PATCH, DELETE, OPTIONS"),
        ("POST", "/", "HEAD, GET, OPTIONS"),
    ],
)
def test_a_wrong_method_is_answered_with_the_right_ones(
    client: httpx2.Client, method: str, path: str, allowed: str
) -> None:
    for answer in (client.request(method, path), client.request(method, path, headers={"Accept": "text/plain"})):
        assert_error(answer, 405, "")
        assert answer.headers["allow"] == allowed
    reported = client.options(path)
    assert (reported.status_code, reported.headers["allow"], reported.content) == (200, allowed, b"")


def test_options_of_no_path_are_not_found(client: httpx2.Client) -> None:
    assert_error(client.options("/nothing"), 404, "HTTP 404 Not Found")


READING = ["/", "/health", "/connectors", "/connectors/c/offsets", "/connector-plugins", "/admin/loggers"]


@pytest.mark.parametrize("accept", ["text/plain", "application/xml, text/*;q=0.5", "application/jsonp", "garbage"])
def test_an_accept_that_cannot_be_met_is_a_406(client: httpx2.Client, herder: Any, accept: str) -> None:
    create(client)
    for path in READING:
        assert_error(client.get(path, headers={"Accept": accept}), 406, "application/json")
    for method in ("PUT", "DELETE"):
        path = "/connectors/c" if method == "DELETE" else "/connectors/c/pause"
        assert_error(client.request(method, path, headers={"Accept": accept}), 406, "application/json")
    assert herder.states == {"c": TargetState.STARTED} and "c" in herder.configs, "nothing is done"


@pytest.mark.parametrize("accept", ["*/*", "", "application/*", "text/html, */*;q=0.1", "Application/JSON;q=0.2", "*"])
def test_an_accept_that_can_be_met(client: httpx2.Client, accept: str) -> None:
    for path in READING:
        assert client.get(path, headers={"Accept": accept}).status_code == 200


def test_metrics_are_text(client: httpx2.Client) -> None:
    assert client.get("/metrics", headers={"Accept": "text/plain"}).status_code == 200


def test_head_is_get_without_the_body(client: httpx2.Client) -> None:
    create(client)
    for path in ("/", "/connectors/c", "/connectors/x"):
        got, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-length"] == got.headers["content-length"]


def test_a_path_that_is_no_utf8_is_a_400(client: httpx2.Client) -> None:
    assert_error(client.get("/connectors/%FF"), 400, "not percent-encoded UTF-8")


def test_a_slash_at_the_end_of_a_path_means_nothing(client: httpx2.Client) -> None:
    assert client.get("/connectors/").json() == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BadRequestError("no"), 400),
        (ConfigError.invalid("tasks.max", "0", "Value must be at least 1"), 400),
        (RebalanceNeededError("wait"), 409),
        (NotLeaderError("not me", "http://other:8083"), 409),
        (RetriableError("broker away"), 503),
        (ConnectError("failed"), 500),
        (ZeroDivisionError("oops"), 500),
    ],
)
def test_the_herders_errors_have_one_status_each(
    client: httpx2.Client, herder: Any, error: Exception, status: int
) -> None:
    create(client)
    herder.error = error
    for answer in (client.get("/connectors/c"), client.put("/connectors/c/pause")):
        assert_error(answer, status, str(error))
        assert ("retry-after" in answer.headers) is isinstance(
            error, (RebalanceNeededError, NotLeaderError, RetriableError)
        )


def test_a_request_that_takes_too_long_says_what_it_waits_for(client: httpx2.Client, herder: Any) -> None:
    herder.hangs = True
    assert_error(create(client), 500, "timed out after 0.3 s. The worker is waiting for task_configs of connector x")
    herder.hangs = False
    assert client.get("/").status_code == 200


def test_a_dead_herder_is_answered_at_once(client: httpx2.Client, herder: Any) -> None:
    herder.hangs, herder.died = True, ConnectError("config topic is gone")
    assert_error(create(client), 500, "The worker has failed: config topic is gone")


def test_the_api_describes_itself(client: httpx2.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert paths.keys() == {
        "/",
        "/health",
        "/history",
        "/workers",
        "/events",
        "/metrics",
        "/admin/loggers",
        "/admin/loggers/{logger}",
        "/connectors",
        "/connectors/{connector}",
        "/connectors/{connector}/config",
        "/connectors/{connector}/status",
        "/connectors/{connector}/tasks",
        "/connectors/{connector}/tasks/{task}/status",
        "/connectors/{connector}/tasks/{task}/restart",
        "/connectors/{connector}/topics",
        "/connectors/{connector}/topics/reset",
        "/connectors/{connector}/restart",
        "/connectors/{connector}/stop",
        "/connectors/{connector}/health",
        "/connectors/{connector}/history",
        "/connectors/{connector}/preview",
        "/connectors/{connector}/offsets",
        "/connectors/{connector}/dead-letters",
        "/connectors/{connector}/dead-letters/redrive",
        "/connectors/{connector}/dead-letters/discard",
        "/connectors/{connector}/pause",
        "/connectors/{connector}/resume",
        "/connector-plugins",
        "/connector-plugins/{plugin}/config",
        "/connector-plugins/{plugin}/config/validate",
        "/connector-plugins/{plugin}/config/preview",
    }


def test_the_description_is_whole(client: httpx2.Client) -> None:
    assert "text/html" in client.get("/docs").headers["content-type"]
    described = client.get("/openapi.json").json()
    operations = [operation for path in described["paths"].values() for operation in path.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids) and "create_connector" in ids
    assert not [
        operation for operation in operations if "422" in operation["responses"] or "500" not in operation["responses"]
    ]
    named = {text.partition('"')[0] for text in json.dumps(described).split("#/components/schemas/")[1:]}
    assert named <= described["components"]["schemas"].keys()


def test_steps_are_only_in_the_answer_about_one_connector(
    client: httpx2.Client, herder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def health(names: Sequence[str]) -> Any:
        return herder._answer({name: {"name": name, "tasks": [{"id": 0, "steps": []}]} for name in names})

    monkeypatch.setattr(herder, "connector_health", health)
    herder.configs["c"] = {"name": "c"}
    assert client.get("/connectors/c/health").json()["tasks"] == [{"id": 0, "steps": []}]
    assert client.get("/connectors?expand=health").json()["c"]["health"]["tasks"] == [{"id": 0}]
