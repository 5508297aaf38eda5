# SPDX-License-Identifier: Apache-2.0
"""Validation and the properties of plugins, asked of a real worker; and what a creation warns about."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

FILE = {"connector.class": "FileStreamSource", "name": "c", "topic": "t", "file": "/nowhere"}


def validate(worker: WorkerProcess, plugin: str, config: dict[str, Any]) -> httpx2.Response:
    return worker.rest.put(f"/connector-plugins/{plugin}/config/validate", json=config)


def errors(answer: httpx2.Response) -> dict[str, list[str]]:
    assert answer.status_code == 200, answer.text
    values = [config["value"] for config in answer.json()["configs"]]
    return {value["name"]: value["errors"] for value in values if value["errors"]}


def assert_error(answer: httpx2.Response, status: int, *parts: str) -> None:
    body = answer.json()
    assert (answer.status_code, body["error_code"]) == (status, status), body
    assert all(part in body["message"] for part in parts), body
    assert "\n" not in body["message"] and "Traceback" not in body["message"]


def test_a_sound_configuration(worker: WorkerProcess) -> None:
    answer = validate(worker, "FileStreamSource", {**FILE, "tasks.max": 2})
    assert errors(answer) == {}
    body = answer.json()
    assert (body["name"], body["error_count"]) == ("FileStreamSource", 0)
    shown = {config["value"]["name"]: config["value"]["value"] for config in body["configs"]}
    assert (shown["tasks.max"], shown["batch.size"], shown["file"]) == ("2", "2000", "/nowhere")
    assert worker.rest.get("/connectors/c").status_code == 404


def test_a_validation_and_a_creation_report_the_same(worker: WorkerProcess, unique: str) -> None:
    config = {**FILE, "name": unique, "tasks.max": "0", "transforms": "a", "transforms.a.type": "Nothing"}
    config |= {"producer.override.acks": "some", "value.converter": "JsonConvertor", "topic": ""}
    found = errors(validate(worker, "FileStreamSource", config))
    assert found.keys() == {"tasks.max", "transforms.a.type", "producer.override.acks", "value.converter", "topic"}
    answer = worker.rest.post("/connectors", json={"name": unique, "config": config})
    assert_error(answer, 400, *(message for messages in found.values() for message in messages))
    assert worker.rest.get(f"/connectors/{unique}").status_code == 404


@pytest.mark.parametrize(
    ("plugin", "config", "parts"),
    [
        ("FileStreamSource", {"name": "c"}, ("connector.class",)),
        ("Nothing", {"connector.class": "Nothing"}, ("'Nothing'", "connector.class", "no such connector")),
        ("VerifiableSource", FILE, ("FileStreamSource", "VerifiableSource")),
        ("FileStreamSource", {"connector.class": "os:PathLike"}, ("os:PathLike",)),
    ],
)
def test_a_class_that_cannot_be_meant(
    plugin: str, config: dict[str, str], parts: tuple[str, ...], worker: WorkerProcess
) -> None:
    assert_error(validate(worker, plugin, config), 400, *parts)


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[]", b'{"a": {}}'])
def test_a_body_that_cannot_be_meant(body: bytes, worker: WorkerProcess) -> None:
    headers = {"content-type": "application/json"}
    url = "/connector-plugins/FileStreamSource/config/validate"
    assert_error(worker.rest.put(url, content=body, headers=headers), 400)


def test_the_properties_of_a_plugin(worker: WorkerProcess) -> None:
    keys = worker.rest.get("/connector-plugins/FileStreamSource/config").json()
    assert [key["name"] for key in keys][:4] == ["file", "topic", "batch.size", "name"]
    spec = next(k for k in worker.rest.get("/connector-plugins/Cast$Value/config").json() if k["name"] == "spec")
    assert (spec["type"], spec["required"], spec["order_in_group"]) == ("LIST", True, -1)
    assert_error(worker.rest.get("/connector-plugins/Nothing/config"), 404, "Unknown plugin Nothing.")


def test_an_unknown_property_is_taken_and_warned_about_once(worker: WorkerProcess, unique: str) -> None:
    config = {**FILE, "name": unique, "batchsize": "5"}
    expected = f"Connector {unique}: batchsize: no such property; did you mean 'batch.size'?"
    assert errors(validate(worker, "FileStreamSource", config)) == {}
    assert expected not in worker.log
    try:
        assert worker.rest.post("/connectors", json={"name": unique, "config": config}).status_code == 201
        wait_for(lambda: expected in worker.log, 10, "a warning")
        assert worker.log.count(expected) == 1
        assert worker.rest.get(f"/connectors/{unique}/config").json() == config
    finally:
        worker.rest.delete(f"/connectors/{unique}")
