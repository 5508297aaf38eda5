# SPDX-License-Identifier: Apache-2.0
"""The line of each request that changes something, over real sockets and a herder in memory."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx2
import pytest

from headrace.api.errors import ConfigError
from headrace.config.session_key_config import mac_algorithm
from headrace.config.worker_config import WorkerConfig
from headrace.herder.cluster_changes import ClusterChanges
from headrace.herder.config_infos import ConfigKeyInfo
from headrace.herder.errors import BadRequestError, NotFoundError, NotLeaderError
from headrace.herder.worker_parts import WorkerParts
from headrace.inspection.inspections import Inspections
from headrace.logs.audit import AUDIT
from headrace.logs.log_ring import LogRing
from headrace.model.cluster_config_state import SessionKey
from headrace.model.futures import done_future, failed_future
from headrace.rest.access.assembly import WorkersAccess
from headrace.rest.access.change_audit import offsets_text
from headrace.rest.access.forwarded_user import ForwardedUsers
from headrace.rest.app import OtherWorkers, create_app
from headrace.rest.internal_request_signature import SignatureVerifier, SignedParts, sign
from headrace.rest.rest_client import RestClient
from headrace.worker.stages import Stages

Serve = Callable[..., Any]
SECRET = "swordfish-9"
PASSWORD = ConfigKeyInfo("entrance", "PASSWORD", True, None, "HIGH", "", "G", 1, "SHORT", "Entrance", ())
CONFIG = {"connector.class": "a.B", "entrance": SECRET, "db.password": SECRET, "topic": "t", "tasks.max": "1",
          "url": f"jdbc:x://h?user=u&password={SECRET}", "from": "${file:/f:pw}"}  # fmt: skip
JSON = {"Content-Type": "application/json"}
ANONYMOUS = "audit who=anonymous address=127.0.0.1 worker=W "


class Api:
    """The REST API of a worker, and the lines of its audit; W in these is the worker itself."""

    def __init__(self, url: str, caplog: pytest.LogCaptureFixture, auth: tuple[str, str] | None = None) -> None:
        self.url, self._caplog = url, caplog
        self.http = httpx2.Client(base_url=url, timeout=10, auth=auth)

    def __call__(self, method: str, path: str, **body: Any) -> list[str]:
        """Return the lines of one request; they are there as soon as it is answered."""
        self._caplog.clear()
        self.answer = self.http.request(method, path, **body)
        address = self.url.removeprefix("http://")
        assert SECRET not in self._caplog.text
        return [re.sub(r"127.0.0.1:\d+|localhost:\d+", "W", text.replace(address, "W")) for text in self.lines]

    @property
    def lines(self) -> list[str]:
        return [record.getMessage() for record in self._caplog.records if record.name == AUDIT]


@pytest.fixture(autouse=True)
def on(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO, AUDIT):
        yield


@pytest.fixture
def herder(herder: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Its plugin a.B has a property of type PASSWORD."""
    monkeypatch.setattr("tests.unit.rest.conftest.KEY", PASSWORD)
    return herder


@pytest.fixture
def api(serve_api: Serve, herder: Any, caplog: pytest.LogCaptureFixture) -> Api:
    return Api(serve_api({}, lambda _: create_app(herder, request_timeout=1), herder).url, caplog)


def test_a_connectors_life(api: Api) -> None:
    assert api("POST", "/connectors", json={"name": "c", "config": CONFIG}) == [
        f'{ANONYMOUS}what="POST /connectors" connector=c change="+connector.class: a.B; +db.password: ****; '
        '+entrance: ****; +from: ${file:/f:pw}; +name: c; +tasks.max: 1; +topic: t; +url: ****" result=201'
    ]
    changed = {**CONFIG, "entrance": f"{SECRET}0", "tasks.max": "2", "db.password": "${file:/f:db}"} | {"name": "c"}
    del changed["topic"]
    assert api("PUT", "/connectors/c/config", json=changed) == [
        f'{ANONYMOUS}what="PUT /connectors/c/config" connector=c change="db.password: **** → ${{file:/f:db}}; '
        'entrance: changed; tasks.max: 1 → 2; -topic" result=200'
    ]
    assert api("PATCH", "/connectors/c/config", json={"from": None, "tasks.max": "3"}) == [
        f'{ANONYMOUS}what="PATCH /connectors/c/config" connector=c change="-from; tasks.max: 2 → 3" result=200'
    ]
    for method, path, status in (
        ("PUT", "/connectors/c/pause", 202),
        ("PUT", "/connectors/c/resume", 202),
        ("PUT", "/connectors/c/stop", 204),
        ("POST", "/connectors/c/tasks/0/restart", 204),
        ("DELETE", "/connectors/c?includeOffsets=true&x=1", 204),
    ):
        shown = path.removesuffix("&x=1")
        assert api(method, path) == [f'{ANONYMOUS}what="{method} {shown}" connector=c result={status}']


def test_offsets(api: Api, herder: Any) -> None:
    herder.configs["c"] = {}
    change = {"offsets": [{"partition": {"filename": "f"}, "offset": None}]}
    assert api("PATCH", "/connectors/c/offsets", json=change) == [
        f'{ANONYMOUS}what="PATCH /connectors/c/offsets" connector=c '
        r'change="{\"filename\":\"f\"}: {\"position\":3} → null" result=204'
    ]
    herder.error = BadRequestError("not stopped")
    assert api("PATCH", "/connectors/c/offsets", json=change) == [
        f'{ANONYMOUS}what="PATCH /connectors/c/offsets" connector=c result=400 reason="not stopped"'
    ]
    herder.error = None
    assert api("DELETE", "/connectors/c/offsets?dryRun=true") == []
    assert api.answer.status_code == 200


def test_a_secret_in_a_partition_is_masked_before_it_is_cut() -> None:
    url = {"url": f"{'x' * 70}jdbc:x://user:{SECRET}@host/{'x' * 80}"}
    assert SECRET[:4] not in offsets_text([(url, None)])


def test_restarts_name_what_is_restarted(api: Api, herder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    herder.configs["c"] = {}
    assert api("POST", "/connectors/c/restart?includeTasks=true&onlyFailed=true") == [
        f'{ANONYMOUS}what="POST /connectors/c/restart?includeTasks=true&onlyFailed=true" connector=c '
        'change="restarts nothing" result=202'
    ]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/connectors", None),
        ("HEAD", "/connectors", None),
        ("OPTIONS", "/connectors", None),
        ("PUT", "/connector-plugins/a.B/config/validate", {"connector.class": "a.B"}),
    ],
)
def test_what_changes_nothing_has_no_line(api: Api, method: str, path: str, body: Any) -> None:
    assert api(method, path, json=body) == []


def test_refusals_have_the_reason(api: Api, herder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    herder.configs["c"] = dict(CONFIG)
    assert api("POST", "/connectors", json={"name": "c", "config": CONFIG}) == [
        f'{ANONYMOUS}what="POST /connectors" connector=c result=409 reason="Connector c already exists"'
    ]
    error = ConfigError(f"Invalid value {SECRET} for configuration x:\n  too\tlong {'x' * 300}")
    monkeypatch.setattr(herder, "put_connector_config", lambda *args, **more: herder._answer(error))
    line = api("PUT", "/connectors/c/config", json=CONFIG)[0]
    assert 'connector=c result=400 reason="Invalid value **** for configuration x: too long xxx' in line
    assert line.endswith('xxx… (149 more)"') and api.answer.status_code == 400
    assert api("PUT", "/connectors/none/pause") == [
        f'{ANONYMOUS}what="PUT /connectors/none/pause" connector=none result=404 reason="Unknown connector none"'
    ]
    assert api("PUT", "/connectors/c/config", content=b"{", headers={"Content-Type": "application/json"})[0].endswith(
        'result=400 reason="Malformed JSON in the body: Expecting property name enclosed in double quotes: '
        'line 1 column 2 (char 1)"'
    )


def test_of_a_plugin_without_a_definition_all_values_are_masked(api: Api) -> None:
    config = {"connector.class": "un.Known", "entrance": SECRET, "mood": "ok", "ref": "${env:X}", "tasks.max": "1"}
    assert api("PUT", "/connectors/u/config", json=config) == [
        f'{ANONYMOUS}what="PUT /connectors/u/config" connector=u change="+connector.class: un.Known; +entrance: ****; '
        '+mood: ****; +name: u; +ref: ${env:X}; +tasks.max: 1" result=201'
    ]


def test_of_a_plugin_that_hangs_all_values_are_masked(api: Api, herder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.rest.access.change_audit._LONGEST_LOOKUP", 0.1)
    monkeypatch.setattr(herder, "connector_plugin_config", lambda name: Future())
    error = BadRequestError(f"no login with {SECRET}")
    monkeypatch.setattr(herder, "put_connector_config", lambda *args, **more: herder._answer(error))
    assert api("PUT", "/connectors/u/config", json={"connector.class": "a.B", "entrance": SECRET}) == [
        f'{ANONYMOUS}what="PUT /connectors/u/config" connector=u result=400 reason="no login with ****"'
    ]


def test_a_name_forges_no_line(api: Api) -> None:
    line = api("PUT", "/connectors/x%0Aaudit%20who=root%E2%80%A8/pause")[0]
    assert line == (
        f'{ANONYMOUS}what="PUT /connectors/x%0Aaudit%20who=root%E2%80%A8/pause" '
        r'connector="x\naudit who=root\u2028" result=404 reason="Unknown connector x audit who=root"'
    )


def test_turning_the_logger_off_and_on_is_logged(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    path = f"/admin/loggers/{AUDIT}"
    assert api("PUT", path, json={"level": "OFF"}) == [
        f'{ANONYMOUS}what="PUT {path}" change="level of {AUDIT}: OFF" result=200'
    ]
    assert api("PUT", "/connectors/none/pause") == []
    assert len(api("PUT", path, json={"level": "INFO"})) == 1
    assert len(api("PUT", "/connectors/none/pause")) == 1


def test_users_and_what_they_may_not_do(
    serve_api: Serve, herder: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    (tmp_path / "users").write_text("emil=emilpw\nvera=verapw")
    (tmp_path / "rules.yaml").write_text("rules:\n- {users: [emil], role: editor}\n- {users: [vera], role: viewer}\n")
    properties = {
        "rest.authentication": "basic",
        "rest.basic.auth.credentials.file": str(tmp_path / "users"),
        "rest.authorization.file": str(tmp_path / "rules.yaml"),
    }
    url = serve_api(properties, lambda _: create_app(herder, request_timeout=1), herder).url
    herder.configs["c"] = {}
    assert Api(url, caplog, ("emil", "emilpw"))("PUT", "/connectors/c/pause") == [
        'audit who=emil by=basic address=127.0.0.1 worker=W what="PUT /connectors/c/pause" connector=c result=202'
    ]
    assert Api(url, caplog, ("vera", "verapw"))("PUT", "/connectors/c/pause") == [
        'audit who=vera by=basic address=127.0.0.1 worker=W what="PUT /connectors/c/pause" connector=c result=403 '
        'reason="User vera may not PUT connector c here: it takes the role operator"'
    ]
    assert Api(url, caplog, ("emil", "wrong"))("DELETE", "/connectors/c") == [
        f'{ANONYMOUS}what="DELETE /connectors/c" result=401 reason="User cannot access the resource."'
    ]


def test_users_see_the_changes_of_their_connectors_and_administrators_all(
    serve_api: Serve, herder: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    names = ("root", "olga", "anna", "vera")
    (tmp_path / "users").write_text("\n".join(f"{name}={name}pw" for name in names))
    rules = ("[root], role: admin", "[olga], role: operator, connectors: [pay-*]", "[vera], role: viewer")
    written = [*rules, '[anna], role: admin, connectors: ["*"]']
    (tmp_path / "rules.yaml").write_text("rules:\n" + "".join(f"- {{users: {rule}}}\n" for rule in written))
    properties = {
        "rest.authentication": "basic",
        "rest.basic.auth.credentials.file": str(tmp_path / "users"),
        "rest.authorization.file": str(tmp_path / "rules.yaml"),
    }
    ring, stages, long = LogRing(100_000), Stages(time.monotonic), f"pay-{'x' * 100}"
    changes = ClusterChanges(ring, lambda: ("w:1",), WorkerParts("w:1", stages, time.monotonic))
    logging.getLogger(AUDIT).addHandler(ring)
    try:
        served = Inspections(changes=changes)
        url = serve_api(properties, lambda _: create_app(herder, inspections=served), herder).url
        ask = {name: Api(url, caplog, (name, f"{name}pw")) for name in names}
        herder.configs |= {"pay-1": CONFIG, "orders": {}, long: {}}
        for name in ("pay-1", "orders", long):
            ask["root"]("PUT", f"/connectors/{name}/pause")
        ask["olga"]("DELETE", "/connectors/orders")
        ask["root"]("PUT", "/admin/loggers/a.b", json={"level": "INFO"})
        ask["root"]("PUT", "/connectors/pay-1/config", json={**CONFIG, "entrance": f"{SECRET}-2"})
        httpx2.delete(f"{url}/connectors/pay-1")

        def seen(user: str, query: str = "") -> list[str]:
            assert ask[user]("GET", f"/changes{query}") == [] and SECRET not in ask[user].answer.text
            return [each["what"] for each in ask[user].answer.json()["changes"]]

        of_pay = ["PUT /connectors/pay-1/config", "PUT /connectors/pay-1/pause"]
        assert seen("root") == [
            *("DELETE /connectors/pay-1", of_pay[0], "PUT /admin/loggers/a.b", "DELETE /connectors/orders"),
            *(f"PUT /connectors/{long}/pause", "PUT /connectors/orders/pause", of_pay[1]),
        ]
        # Neither what is of no connector, as a request without a user, nor a name that is cut: the rest is not known.
        assert seen("olga") == of_pay and seen("olga", "?limit=1") == of_pay[:1]
        assert seen("olga", "?connector=orders") == [] and seen("olga", "?who=olga") == []
        # All connectors by a pattern are not all that there is.
        assert seen("anna") == [of_pay[0], "DELETE /connectors/orders", "PUT /connectors/orders/pause", of_pay[1]]
        assert seen("root", "?result=failed&text=olga") == ["DELETE /connectors/orders"]
        ask["vera"]("GET", "/changes")
        assert ask["vera"].answer.status_code == 403
    finally:
        logging.getLogger(AUDIT).removeHandler(ring)


def test_a_forwarded_request_has_a_line_of_its_user_and_one_that_says_forwarded(
    serve_api: Serve, herder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    leader = serve_api({}, lambda _: create_app(herder, request_timeout=1), herder).url
    follower = type(herder)()
    follower.configs["c"], herder.configs["c"] = {"connector.class": "a.B"}, {"connector.class": "a.B"}
    follower.patch_connector_config = lambda name, patch: follower._answer(NotLeaderError("elsewhere", leader))
    others = OtherWorkers(follower, RestClient(), SignatureVerifier([]))  # type: ignore[arg-type]
    api = Api(serve_api({}, lambda _: create_app(follower, others=others), follower).url, caplog)
    rest = 'what="PATCH /connectors/c/config" connector=c change="+tasks.max: 2" result=200'
    forwarded = f"{ANONYMOUS}forwarded=true {rest}"
    assert api("PATCH", "/connectors/c/config", json={"tasks.max": "2"}) == [forwarded, f"{ANONYMOUS}{rest}"]


class Group:
    """A worker of a group, as the check of signatures and the requests between workers need it."""

    key: SessionKey | None = SessionKey("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=", "HmacSHA256", 0)

    def signed(self) -> bool:
        return True

    def session_key(self) -> SessionKey | None:
        return self.key

    def put_task_configs(self, name: str, configs: Any) -> Future[None]:
        return done_future(None) if name == "c" else failed_future(NotFoundError("Connector d not found"))


def test_requests_between_workers_have_a_line_if_no_worker_has_signed_them(
    serve_api: Serve, herder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    sha256, group, path = mac_algorithm("HmacSHA256"), Group(), "/connectors/c/tasks"
    assert sha256 is not None and group.key is not None
    verifier = SignatureVerifier([sha256])
    others = OtherWorkers(group, RestClient(), verifier)  # type: ignore[arg-type]

    def access(config: WorkerConfig) -> WorkersAccess:
        made = WorkersAccess(config)
        made.accept_forwarded(ForwardedUsers(group, sha256, verifier))  # type: ignore[arg-type]
        return made

    served = serve_api({}, lambda _: create_app(herder, request_timeout=1, others=others), herder, access)
    api, unsigned = Api(served.url, caplog), "audit who=unsigned address=127.0.0.1 worker=W "

    def signed(path: str = path, method: str = "POST") -> dict[str, str]:
        headers = sign(SignedParts(method, path, b"[]"), Group.key, sha256)  # type: ignore[arg-type]
        return {**headers, **JSON}

    headers = signed()
    assert (api("POST", path, content=b"[]", headers=headers), api.answer.status_code) == ([], 204)
    assert api("POST", path, content=b"[]", headers=headers) == [
        f'{unsigned}what="POST {path}" result=403 reason="The request\'s signature was used before"'
    ]
    assert api("POST", path, content=b'[{"a": "1"}]', headers=signed()) == [
        f'{unsigned}what="POST {path}" result=403 reason="The request\'s signature is wrong: it is one of another body"'
    ]
    assert api("PUT", "/connectors/c/fence", headers=signed()) == [
        f'{unsigned}what="PUT /connectors/c/fence" result=403 reason="The request\'s signature is wrong"'
    ]
    assert api("POST", path, json=[]) == [
        f'{unsigned}what="POST {path}" result=400 reason="The request is one between workers and so has to be signed"'
    ]
    assert (api("GET", "/internal/health"), api.answer.status_code) == ([], 400)
    missing = "/connectors/d/tasks"
    assert (api("POST", missing, content=b"[]", headers=signed(missing)), api.answer.status_code) == ([], 404)
    group.key = None
    assert (api("POST", path, content=b"[]", headers=signed()), api.answer.status_code) == ([], 503)
