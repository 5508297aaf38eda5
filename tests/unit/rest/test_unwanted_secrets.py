# SPDX-License-Identifier: Apache-2.0
"""Answers without secrets, for requests that want none."""

from __future__ import annotations

from typing import Any

import httpx2

SECRET = {"connector.class": "a.B", "topic": "t", "db.password": "swordfish", "url": "jdbc:x://u:swordfish@h/d"}
HIDES = {"X-Headrace-Secrets": "hidden"}


def test_an_answer_has_no_secrets_if_the_request_wants_none(client: httpx2.Client, herder: Any) -> None:
    body = {"name": "c", "config": SECRET}
    answers = [client.post("/connectors", json=body, headers=HIDES)]
    answers += [client.put("/connectors/c/config", json=SECRET, headers=HIDES)]
    answers += [client.patch("/connectors/c/config", json={"topic": "u"}, headers=HIDES)]
    herder.trace = "no login as swordfish"
    for path in ("", "/config", "/status", "/tasks", "/health", "/tasks/0/status"):
        answers += [client.get(f"/connectors/c{path}", headers=HIDES)]
    answers += [client.get("/connectors?expand=info&expand=status&expand=health", headers=HIDES)]
    answers += [client.post("/connectors/c/restart?includeTasks=true", headers=HIDES)]
    for answer in answers:
        assert answer.status_code < 300, answer.text
        assert "swordfish" not in answer.text and "[hidden]" in answer.text, answer.text
    assert "swordfish" in client.get("/connectors/c/config").text
    assert "swordfish" in client.patch("/connectors/c/config", json={"topic": "v"}).text
    assert "hidden" not in str(herder.configs["c"])
