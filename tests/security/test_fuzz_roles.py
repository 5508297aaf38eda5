# SPDX-License-Identifier: Apache-2.0
"""Each role, and a client without a user, asks a real worker for everything: no role reaches
more than is its own, by no way.

``make fuzz CASES=200`` asks for more of each operation, and of each role.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings, strategies
from typer.testing import CliRunner

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.cli.main import app as headrace
from headrace.inspection.inspections import Inspections
from headrace.rest.app import create_app
from tests.security.guarded_worker import (
    CANARY,
    CONFIG,
    FAILED,
    KNOWN,
    Answer,
    GuardedWorker,
    User,
    ask,
    guarded_worker,
    properties,
)
from tests.security.least_roles import LEAST_ROLES, UNDESCRIBED, documented_roles, may
from tests.support.polling import wait_for
from tests.support.worker_process import ROOT, WorkerProcess

EXAMPLES: Final = int(os.environ.get("HEADRACE_FUZZ", "4"))
GIVES_CONFIG: Final = ("POST /connectors", "PUT /connectors/{connector}/config", "PATCH /connectors/{connector}/config",
                       "PUT /connector-plugins/{plugin}/config/validate", "POST /connectors/{connector}/preview",
                       "POST /connector-plugins/{plugin}/config/preview")  # fmt: skip
"""Their bodies are decided on too, by a second line of the record."""


class NoHerder:
    """In the place of a herder: the description needs none."""

    def __getattr__(self, name: str) -> None: ...


_PART: Final = cast(Any, NoHerder())
ALL_PARTS: Final = Inspections(topics=_PART, dead_letters=_PART, logs=_PART, changes=_PART)
described = schemathesis.openapi.from_dict(create_app(cast(Any, NoHerder()), inspections=ALL_PARTS).openapi())


@described.hook
def map_query(context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
    """Streams take as long as the client gives them."""
    return {**(query or {}), "seconds": 1} if context.operation.path == "/events" else query


OPERATIONS: Final = {each.ok().label: each.ok() for each in described.get_all_operations()}


@pytest.fixture(scope="module")
def guarded(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedWorker]:
    with guarded_worker(tmp_path_factory.mktemp("guarded"), broker.bootstrap_servers) as worker:
        worker.restore()
        worker.worker.wait_for_tasks(FAILED, "FAILED")
        yield worker


@pytest.fixture(autouse=True)
def left_well(guarded: GuardedWorker) -> Iterator[None]:
    """After each phase the worker is healthy, and its record is whole."""
    guarded.restore()
    yield
    health = guarded.worker.rest.get("/health")
    assert health.status_code == 200, health.text
    verified = CliRunner().invoke(headrace, ["audit", "verify", str(guarded.audit)])
    assert verified.exit_code == 0, verified.output


def test_each_operation_has_its_least_role(guarded: GuardedWorker) -> None:
    paths = guarded.worker.rest.get("/openapi.json").json()["paths"]
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert served == LEAST_ROLES.keys() == OPERATIONS.keys(), "a new operation needs its role in LEAST_ROLES"
    assert documented_roles(ROOT / "docs" / "guide" / "access.md") == LEAST_ROLES


def check_form(answer: Answer, what: object) -> None:
    """An error says what it is, and nothing of how the worker is made."""
    assert answer.status < 500 or (answer.status == 503 and "retry-after" in answer.headers), (what, answer)
    if answer.status >= 400 and answer.text:
        error = json.loads(answer.text)
        assert error.keys() == {"error_code", "message"} and error["error_code"] == answer.status, (what, answer)
        assert isinstance(error["message"], str) and "Traceback" not in answer.text, (what, answer)
        assert 'File "' not in answer.text, (what, answer)


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_no_answer_to_those_who_may_only_look_has_a_secret(guarded: GuardedWorker, role: str) -> None:
    for name in (KNOWN, FAILED):
        below = ("", "/config", "/status", "/status?expand=spark", "/tasks", "/tasks/0/status", "/topics", "/offsets")
        paths = ["/connectors?expand=info&expand=status&expand=spark", "/metrics", "/health", "/events?seconds=1"]
        for path in (*paths, *(f"/connectors/{name}{each}" for each in below)):
            answer = guarded.ask(guarded.by_role(role), "GET", path)
            check_form(answer, path)
            assert CANARY not in answer.text, path
    assert CANARY in guarded.ask(guarded.by_role("admin"), "GET", f"/connectors/{FAILED}/status").text
    assert "[hidden]" in guarded.ask(guarded.by_role(role), "GET", f"/connectors/{FAILED}/status").text


class Asker:
    """Sends what was generated as a user, and looks at the answer and at the record of it."""

    def __init__(self, guarded: GuardedWorker, user: User) -> None:
        self._guarded = guarded
        self._user = user
        self._session = requests.Session()
        self._session.trust_env = False
        self._record = guarded.record()

    def send(self, case: Any, aimed: str | None) -> None:
        if aimed:
            self._aim(case, aimed)
        self._record()
        sent = case.call(
            base_url=str(self._guarded.worker.rest.base_url).rstrip("/"),
            session=self._session,
            headers=dict(self._user.headers),
            timeout=60,
        )
        answer = Answer(sent.status_code, {k.lower(): v[0] for k, v in sent.headers.items()}, sent.text)
        what = (self._user, case.operation.label, sent.request.url, sent.request.body)
        check_form(answer, what)
        self._check_reach(case, answer, what)
        self._check_record(case, answer, what, urlsplit(sent.request.url).path)

    def _aim(self, case: Any, connector: str) -> None:
        """At what is there."""
        if "connector" in (case.path_parameters or {}):
            case.path_parameters["connector"] = connector
        if "plugin" in (case.path_parameters or {}):
            case.path_parameters["plugin"] = CONFIG["connector.class"]

    def _check_reach(self, case: Any, answer: Answer, what: object) -> None:
        label, status = case.operation.label, answer.status
        if self._user.name is None:
            assert status == 401, what
        elif not may(self._user.role, label):
            assert status == 403, (what, status)
        else:
            assert status != 401, what
            named = (case.path_parameters or {}).get("connector", KNOWN)
            if self._user.role == "editor" and not str(named).startswith("pay-"):
                assert status == 403, (what, status)
        if self._user.role in (None, "viewer", "operator"):
            assert CANARY not in answer.text, what

    def _check_record(self, case: Any, answer: Answer, what: object, path: str) -> None:
        lines = self._record()
        assert 1 <= len(lines) <= (2 if case.operation.label in GIVES_CONFIG else 1), (what, lines)
        for line in lines:
            asked = (self._user.name or "anonymous", case.method.upper(), path, "127.0.0.1")
            assert (line["user"], line["method"], line["path"], line["address"]) == asked, (what, line)
        expected = {401: "unauthenticated", 403: "refused"}.get(answer.status, "allowed")
        assert [line["result"] for line in lines] == [*["allowed"] * (len(lines) - 1), expected], (what, lines)

    def close(self) -> None:
        self._session.close()


def fuzz(guarded: GuardedWorker, user: User, examples: int, restoring: bool = False) -> None:
    asker = Asker(guarded, user)
    for operation in OPERATIONS.values():
        if restoring:
            guarded.restore()

        @settings(
            max_examples=examples,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(), aimed=strategies.sampled_from([None, KNOWN, FAILED]))
        def each(case: Any, aimed: str | None) -> None:
            asker.send(case, aimed)

        each()
    asker.close()


def test_who_does_not_prove_who_they_are_gets_nothing(guarded: GuardedWorker) -> None:
    before = guarded.connectors()
    for user in guarded.strangers:
        fuzz(guarded, user, max(1, EXAMPLES // 4))
    assert guarded.connectors() == before


@pytest.mark.parametrize("role", [None, "viewer", "operator"])
def test_who_may_not_change_connectors_changes_none(guarded: GuardedWorker, role: str | None) -> None:
    before = guarded.connectors()
    fuzz(guarded, guarded.by_role(role), EXAMPLES)
    assert guarded.connectors() == before


@pytest.mark.parametrize("role", ["editor", "admin"])
def test_who_may_change_connectors_breaks_nothing(guarded: GuardedWorker, role: str) -> None:
    fuzz(guarded, guarded.by_role(role), EXAMPLES, restoring=True)
    for name in guarded.connectors().keys() - {KNOWN, FAILED}:
        guarded.worker.rest.delete(f"/connectors/{name}")


PLAIN: Final = (
    ("GET", "/connectors/{connector}/offsets", f"/connectors/{KNOWN}/offsets"),
    ("PUT", "/connectors/{connector}/stop", f"/connectors/{KNOWN}/stop"),
    ("DELETE", "/connectors/{connector}", f"/connectors/{KNOWN}"),
    ("PUT", "/connectors/{connector}/config", f"/connectors/{KNOWN}/config"),
    ("POST", "/connectors", "/connectors"),
    ("GET", "/admin/loggers", "/admin/loggers"),
    ("GET", "/connectors/{connector}/config", f"/connectors/{KNOWN}/config"),
)
OVERRIDES: Final = {
    **dict.fromkeys(("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"), "DELETE"),
    **dict.fromkeys(("X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix"), f"/connectors/{KNOWN}/offsets"),
    **dict.fromkeys(("X-Forwarded-User", "X-Remote-User", "X-Forwarded-For", "Remote-User"), "root"),
}


def tricks(path: str) -> Iterator[str]:
    """Other ways to write a path, which some servers take for the same one."""
    head, _, last = path.rpartition("/")
    yield from (f"{path}/", f"{path}//", f"/{path}", path.replace("/", "//"), f"/.{path}", f"/x/..{path}")
    yield from (f"/connectors/%2e%2e{path}", f"/connectors/..{path}", f"{head}/./{last}", f"/%2e{path}")
    yield from (f"{path};a=b", f"{head};a/{last}", path.upper(), path.title(), f"{head}/%{ord(last[0]):x}{last[1:]}")
    yield from (path.replace("/", "%2F")[3:], "/" + path[1:].replace("/", "%2f"), "/" + path[1:].replace("/", "%252F"))
    yield from (path.replace("/", "\\"), f"{path}%00", f"{path}%0a", f"{path}%20", f"{path}%3Fa", f"{path}.json")
    yield from (f"{path}?_method=DELETE", f"{path}?forward=true", f"{path}?forward=false", f"{path}#x", f"{path}/..;/")
    yield from (f"http://127.0.0.1{path}", f"/connectors/%ff{path}", f"/health/..{path}", f"/health%2f..{path}")


def test_no_way_of_writing_a_request_reaches_more(guarded: GuardedWorker) -> None:
    before = guarded.connectors()
    weak = [*guarded.known[:4], *guarded.strangers[:2]]
    for (method, operation, path), user in itertools.product(PLAIN, weak):
        if may(user.role, f"{method} {operation}"):
            continue
        body = CONFIG if method in ("PUT", "POST") else None
        for target in (path, *tricks(path)):
            answer = guarded.ask(user, method, target, body)
            check_form(answer, (user, method, target))
            assert not answer.done, (user, method, target, answer)
            assert user.name or answer.status in (400, 401), (user, method, target, answer)
        for sent in ("GET", "POST", method):
            answer = guarded.ask(user, sent, path, body, **OVERRIDES)
            check_form(answer, (user, sent, path))
            assert not answer.done or (sent == "GET" and may(user.role, f"GET {operation}")), (user, sent, path)
            assert CANARY not in answer.text, (user, sent, path)
    for target in tricks(f"/connectors/{KNOWN}/config"):
        assert CANARY not in guarded.ask(guarded.by_role("viewer"), "GET", target).text, target
    assert guarded.connectors() == before


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PATCH", "CONNECT", "PROPFIND", "get"])
def test_other_methods_do_no_more(guarded: GuardedWorker, method: str) -> None:
    before = guarded.connectors()
    paths = {operation.path for operation in OPERATIONS.values()} | {*UNDESCRIBED}
    everybody = [*guarded.known, *guarded.strangers[:2]]
    for path, user in itertools.product(sorted(paths), everybody):
        target = path.format(connector=KNOWN, task="0", plugin="VerifiableSource", logger="x", topic="t")
        answer = guarded.ask(user, method, target)
        check_form(answer, (method, target))
        assert user.name or answer.status == 401, (method, target, answer)
        assert user.role or answer.status in (401, 403), (method, target, answer)
        if answer.done and user.name != "root":
            reads = f"GET {path}"
            fit = method == "OPTIONS" or (method == "HEAD" and (path in UNDESCRIBED or may(user.role, reads)))
            assert fit, (user, method, target, answer)
            assert not answer.text, (user, method, target, answer)
    assert guarded.connectors() == before


def test_what_workers_ask_of_each_other_is_closed_to_every_role(guarded: GuardedWorker) -> None:
    before = guarded.connectors()
    signature = {"X-Connect-Authorization": "AAAA", "X-Connect-Request-Signature-Algorithm": "HmacSHA256",
                 "X-Connect-Request-Timestamp": "1", "X-Connect-Request-Nonce": "n",
                 "X-Connect-Request-Body-Digest": "AAAA"}  # fmt: skip
    for user in (*guarded.known, *guarded.strangers[:2]):
        for method, path in (
            ("POST", f"/connectors/{KNOWN}/tasks"),
            ("PUT", f"/connectors/{KNOWN}/fence"),
            ("PUT", "/internal/loggers/x"),
        ):
            for headers, target in itertools.product(({}, signature), (path, f"{path}/", f"/{path}", path.upper())):
                answer = guarded.ask(user, method, target, [] if path.endswith("tasks") else {}, **headers)
                check_form(answer, (user, target))
                assert answer.status in (400, 401, 403, 404, 405), (user, target, answer)
    assert guarded.connectors() == before


FOLLOWERS_RULES: Final = """
rules:
  - {users: [root, vera], role: admin}
  - {users: [olga], role: viewer}
  - {users: [emil], role: editor}
"""


def test_a_forwarded_request_is_judged_by_both_workers(
    guarded: GuardedWorker, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Other than it should be, the two have other rules: so it shows which of them has refused."""
    before = guarded.connectors()
    theirs = properties(tmp_path, guarded.issuer, FOLLOWERS_RULES)
    follower = WorkerProcess(tmp_path, broker.bootstrap_servers, **theirs)
    follower.rest.auth = ("root", "rootpw")
    with follower:
        wait_for(lambda: KNOWN in follower.connectors(), 60, lambda: follower.log[-3000:])

        record = guarded.record()

        def reported(user: User, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, list[Any]]:
            """The status, and who asked what of the leader."""
            record()
            answer = ask(follower.port, method, target, body, {**user.headers, **headers})
            check_form(answer, (user, method, target))
            return answer.status, [(line["user"], line["result"]) for line in record()]

        vera, olga, emil = (guarded.by_role(role) for role in ("viewer", "operator", "editor"))
        stop = f"/connectors/{KNOWN}/stop"
        wait_for(lambda: reported(emil, "PUT", stop) == (204, [("emil", "allowed")]), 30, "a forwarded request")
        assert reported(olga, "PUT", stop) == (403, [])
        assert reported(vera, "PUT", stop) == (403, [("vera", "refused")])
        assert reported(vera, "DELETE", f"/connectors/{KNOWN}") == (403, [("vera", "refused")])
        sql = {**CONFIG, "transforms": "s", "transforms.s.type": "SparkSql", "transforms.s.query": "SELECT 1"}
        assert reported(emil, "PUT", f"/connectors/{KNOWN}/config", sql)[0] == 403
        assert reported(emil, "PUT", "/connectors/orders/config", CONFIG)[0] == 403
        for target in (f"{stop}?forward=true", f"{stop}?forward=false", *tricks(stop)):
            for user in (guarded.strangers[0], olga, vera):
                status, _ = reported(user, "PUT", target, None, **{"X-Connect-Authorization": "AAAA", **OVERRIDES})
                assert status >= 400, (user, target)
        for forged in guarded.strangers:
            assert reported(forged, "PUT", stop) == (401, [])
    assert guarded.connectors() == before
