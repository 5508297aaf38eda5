# SPDX-License-Identifier: Apache-2.0
"""Users of a real worker try what their roles do not allow, at every path that the worker says it has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import bcrypt
import httpx2
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.security.least_roles import LEAST_ROLES, ROLES
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

RULES: Final = """
rules:
  - {users: [root], role: admin}
  - {users: [vera], role: viewer}
  - {users: [olga], role: operator}
  - {users: [emil], role: editor, connectors: ["pay-*"], plugins: ["VerifiableSource"]}
"""
USERS: Final = ("nina", "vera", "olga", "emil", "root")
CONFIG: Final = {
    "connector.class": "VerifiableSource",
    "topic": "t",
    "throughput": "1",
    "producer.override.ssl.key.password": "swordfish",
}


@dataclass(frozen=True)
class Guarded:
    worker: WorkerProcess
    audit: Path

    def ask(self, user: str, method: str, path: str, body: Any = None) -> httpx2.Response:
        with self.answer(user, method, path, body) as answer:
            answer.read()
        return answer

    def answer(self, user: str, method: str, path: str, body: Any = None) -> AbstractContextManager[httpx2.Response]:
        """Return the answer before its body, which in a stream of events goes on for a minute."""
        content = {} if body is None else {"json": body}
        return self.worker.rest.stream(method, path, auth=(user, f"{user}pw"), **content)


@pytest.fixture(scope="module")
def guarded(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    directory = tmp_path_factory.mktemp("access")
    hashed = {user: bcrypt.hashpw(f"{user}pw".encode(), bcrypt.gensalt(4)).decode() for user in USERS}
    (directory / "users").write_text("\n".join(f"{user}={text}" for user, text in hashed.items()))
    (directory / "rules.yaml").write_text(RULES)
    properties = {
        "group.id": "access",
        "rest.authentication": "basic",
        "rest.basic.auth.credentials.file": str(directory / "users"),
        "rest.authorization.file": str(directory / "rules.yaml"),
        "rest.audit.file": str(directory / "audit.jsonl"),
        "rest.audit.chain": "true",
        "rest.authentication.max.failures": "100000",
    }
    worker = WorkerProcess(directory, broker.bootstrap_servers, **properties)
    worker.rest.auth = ("root", "rootpw")
    with worker:
        yield Guarded(worker, directory / "audit.jsonl")


USERS: Final = {"nina": "", "vera": "viewer", "olga": "operator", "emil": "editor", "root": "admin"}
"""Users and their roles; no rule names the first."""


def test_no_path_is_open_to_those_whom_no_rule_lets_in(guarded: Guarded) -> None:
    paths = guarded.ask("root", "GET", "/openapi.json").json()["paths"]
    asked = 0
    for path, methods in paths.items():
        concrete = path.replace("{connector}", "pay-none").replace("{task}", "0").replace("{plugin}", "X")
        for method in methods:
            least = LEAST_ROLES[f"{method.upper()} {path}"]
            for user, role in USERS.items():
                below = not role or ROLES.index(role) < ROLES.index(least)
                changes = method in ("put", "patch", "post") and role in ("editor", "admin")
                body = {"name": "pay-x"} if changes else None
                with guarded.answer(user, method.upper(), concrete.replace("{logger}", "x"), body) as answer:
                    status = answer.status_code
                refused = below or (user == "emil" and status == 403 and method != "get")
                assert (status == 403) == refused, (user, method, path, status)
                asked += 1
            anonymous = httpx2.request(method.upper(), f"{guarded.worker.rest.base_url}{concrete}")
            assert anonymous.status_code == 401, (method, path)
    assert asked > 100


def test_an_editor_reaches_neither_other_connectors_nor_other_plugins(guarded: Guarded) -> None:
    assert guarded.ask("emil", "POST", "/connectors", {"name": "orders", "config": CONFIG}).status_code == 403
    sql = {**CONFIG, "transforms": "s", "transforms.s.type": "SparkSql", "transforms.s.query": "SELECT 1"}
    assert guarded.ask("emil", "POST", "/connectors", {"name": "pay-1", "config": sql}).status_code == 403
    assert guarded.ask("emil", "POST", "/connectors", {"name": "pay-1", "config": CONFIG}).status_code == 201
    assert (
        guarded.ask("emil", "PATCH", "/connectors/pay-1/config", {"connector.class": "FileStreamSink"}).status_code
        == 403
    )
    guarded.worker.wait_for_tasks("pay-1")
    for path in ("/connectors/pay-1", "/connectors?expand=info", "/connectors/pay-1/tasks", "/connectors/pay-1/config"):
        assert "swordfish" not in guarded.ask("vera", "GET", path).text
        assert "swordfish" in guarded.ask("root", "GET", path).text
    assert guarded.ask("vera", "DELETE", "/connectors/pay-1").status_code == 403
    assert guarded.ask("emil", "DELETE", "/connectors/pay-1").status_code == 204


def test_an_editor_smuggles_no_plugin(guarded: Guarded) -> None:
    """By a step that no list names yet, and by a list that says nothing but where it is."""
    step = {"transforms.late.type": "SparkSql", "transforms.late.query": "SELECT 1"}
    created = guarded.ask(
        "emil", "POST", "/connectors", {"name": "pay-2", "config": CONFIG, "initial_state": "STOPPED"}
    )
    assert created.status_code == 201
    path = "/connectors/pay-2/config"
    for change in (step, {**step, "transforms": "late"}, {**step, "transforms": "${env:LANG}"}):
        assert guarded.ask("emil", "PATCH", path, change).status_code == 403
        assert guarded.ask("emil", "PUT", path, {**CONFIG, **change}).status_code == 403
    assert guarded.ask("emil", "PATCH", path, {"throughput": "2"}).status_code == 200
    assert guarded.ask("emil", "DELETE", "/connectors/pay-2").status_code == 204


@pytest.mark.parametrize("broken", [b"rules: [{users: ['*'], role: 2026-13-45}]", b"\xff", None])
def test_rules_that_cannot_be_used_open_nothing(guarded: Guarded, broken: bytes | None) -> None:
    file = guarded.audit.parent / "rules.yaml"
    logged = guarded.worker.log.count("changed and cannot be used")
    try:
        file.unlink()
        if broken is not None:
            file.write_bytes(broken)

        def said() -> bool:
            assert guarded.ask("vera", "GET", "/connectors").status_code == 200
            assert guarded.ask("vera", "DELETE", "/connectors/pay-none").status_code == 403
            assert guarded.ask("nina", "GET", "/").status_code == 403
            assert guarded.ask("root", "GET", "/admin/loggers").status_code == 200
            return guarded.worker.log.count("changed and cannot be used") > logged

        wait_for(said, 10, "the worker's word of it")
    finally:
        file.write_text(RULES)


def test_a_name_makes_no_line_of_the_record(guarded: Guarded) -> None:
    lines = len(guarded.audit.read_bytes().split(b"\n"))
    for name in ("a%0A%7B%22user%22%3A%22root%22%7D", "a%0D%0Ab", "a%E2%80%A8b%C2%85c", "%00", "%F0%9F%98%80" * 300):
        guarded.ask("vera", "PUT", f"/connectors/{name}/stop")
        lines += 1
        assert len(guarded.audit.read_bytes().split(b"\n")) == lines, name
    guarded.ask("emil", "PUT", "/connector-plugins/x/config/validate", {"name": "\n" + "x" * 100_000})
    assert {json.loads(line)["user"] for line in guarded.audit.read_text().splitlines()[-2:]} == {"emil"}
    assert len(guarded.audit.read_text().splitlines()[-1]) < 10_000


def test_the_record_has_every_request_and_its_chain_is_whole(guarded: Guarded) -> None:
    from headrace.rest.access.audit_log import broken_lines

    guarded.ask("vera", "PUT", "/connectors/pay-9/stop")
    last = json.loads(guarded.audit.read_text().splitlines()[-1])
    assert (last["user"], last["connector"], last["result"]) == ("vera", "pay-9", "refused")
    assert broken_lines(str(guarded.audit)) == []
    assert "pw" not in guarded.audit.read_text()
