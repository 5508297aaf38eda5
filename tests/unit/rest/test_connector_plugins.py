# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import httpx2
import pytest

DEFINITION = {
    "name": "size",
    "type": "INT",
    "required": False,
    "default_value": "1",
    "importance": "LOW",
    "documentation": "How big.",
    "group": "G",
    "order_in_group": 1,
    "width": "SHORT",
    "display_name": "Size",
    "dependents": ["b"],
}


def test_a_plugins_properties_have_the_shape_of_kafka_connect(client: httpx2.Client) -> None:
    assert client.get("/connector-plugins/a.B/config").json() == [DEFINITION]


def test_an_unknown_plugin_is_not_found(client: httpx2.Client) -> None:
    answer = client.get("/connector-plugins/c.D/config")
    assert (answer.status_code, answer.json()) == (404, {"error_code": 404, "message": "Unknown plugin c.D."})


def test_a_validation_has_the_shape_of_kafka_connect(client: httpx2.Client, herder: Any) -> None:
    answer = client.put("/connector-plugins/my.mod%3AB/config/validate", json={"size": 5, "other": None})
    assert herder.validated == ("my.mod:B", {"size": "5", "other": None})
    assert answer.json() == {
        "name": "a.B",
        "error_count": 1,
        "groups": ["G"],
        "configs": [
            {
                "definition": DEFINITION,
                "value": {
                    "name": "size",
                    "value": "x",
                    "recommended_values": ["1"],
                    "errors": ["too big"],
                    "visible": True,
                },
            },
            {"definition": None, "value": None},
        ],
    }


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[]", b'{"a": {}}'])
def test_a_body_that_cannot_be_meant(body: bytes, client: httpx2.Client) -> None:
    answer = client.put(
        "/connector-plugins/a.B/config/validate", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400 and answer.json()["error_code"] == 400


def test_another_content_type(client: httpx2.Client) -> None:
    headers = {"content-type": "text/plain"}
    assert client.put("/connector-plugins/a.B/config/validate", content=b"a", headers=headers).status_code == 415


@pytest.mark.parametrize(
    ("query", "wanted"),
    [("", True), ("?connectorsOnly=", True), ("?connectorsOnly=TRUE", True), ("?connectorsOnly=no", False)],
)
def test_connectors_only(client: httpx2.Client, herder: Any, query: str, wanted: bool) -> None:
    client.get(f"/connector-plugins{query}")
    assert herder.asked is wanted


def test_another_method(client: httpx2.Client) -> None:
    assert client.get("/connector-plugins/a.B/config/validate").status_code == 405
