# SPDX-License-Identifier: Apache-2.0
"""The REST API of a worker that knows its users, over real sockets."""

from __future__ import annotations

import asyncio
import datetime
import json
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bcrypt
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.requests import Request

from headrace.api.errors import ConfigError
from headrace.config.session_key_config import mac_algorithm
from headrace.config.worker_config import WorkerConfig
from headrace.herder.errors import NotLeaderError
from headrace.model.cluster_config_state import SessionKey
from headrace.rest.access.access import Access, with_access
from headrace.rest.access.assembly import WorkersAccess
from headrace.rest.access.authentication import Principal, RefusedCredentialsError
from headrace.rest.access.forwarded_user import HEADER, ForgedBodyError, ForwardedUsers, checked_body
from headrace.rest.access.passwords import Passwords
from headrace.rest.access.rules import ALLOW_ALL
from headrace.rest.app import OtherWorkers, create_app
from headrace.rest.internal_request_signature import SignatureVerifier
from headrace.rest.rest_client import RestClient
from tests.support.oidc_server import OidcServer
from tests.support.polling import wait_for

Serve = Callable[..., Any]
RULES = """
rules:
  - {users: [root], role: admin}
  - {users: [vera, "group:watchers", "*@example.org"], role: viewer}
  - {users: [olga], role: operator, connectors: ["pay-*"]}
  - {users: [emil], role: editor, connectors: ["pay-*"], plugins: ["FileStream*"]}
"""
SECRET = {"connector.class": "FileStreamSource", "name": "pay-1", "spark.option.password": "swordfish",
          "url": "jdbc:x://h?user=a&password=swordfish", "from": "${file:/f:password}", "topic": "t"}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Properties of a worker with users, rules and a record."""
    hashed = bcrypt.hashpw(b"rootpw", bcrypt.gensalt(4)).decode()
    users = [
        f"root={hashed.replace('$2b$', '$2y$')}",
        *(f"{name}={name}pw" for name in ("vera", "olga", "emil", "nina")),
    ]
    (tmp_path / "users").write_text("\n".join(users))
    (tmp_path / "rules.yaml").write_text(RULES)
    return {
        "rest.authentication": "basic",
        "rest.basic.auth.credentials.file": str(tmp_path / "users"),
        "rest.authorization.file": str(tmp_path / "rules.yaml"),
        "rest.audit.file": str(tmp_path / "audit"),
        "rest.authentication.max.failures": "1000",
    }


@pytest.fixture
def herder(served: tuple[Any, Any]) -> Any:
    made = type(served[0])()
    made.configs = {"pay-1": SECRET, "orders": {"connector.class": "X", "name": "orders"}}
    return made


class As:
    """A client that asks as some user."""

    def __init__(self, url: str) -> None:
        self._http = httpx2.Client(base_url=url, timeout=10)

    def __call__(self, user: str, method: str, path: str, **body: Any) -> httpx2.Response:
        return self._http.request(method, path, auth=(user, f"{user}pw"), **body)


@pytest.fixture
def ask(serve_api: Serve, files: dict[str, str], herder: Any) -> As:
    return As(serve_api(files, lambda _: create_app(herder, request_timeout=1), herder).url)


@pytest.mark.parametrize(
    ("user", "method", "path", "status"),
    [
        ("root", "GET", "/admin/loggers", 200),
        ("emil", "GET", "/admin/loggers", 403),
        ("vera", "GET", "/connectors/pay-1/status", 200),
        ("vera", "GET", "/connectors/pay-1/offsets", 403),
        ("vera", "PUT", "/connectors/pay-1/pause", 403),
        ("vera", "DELETE", "/connectors/pay-1", 403),
        ("olga", "PUT", "/connectors/pay-1/pause", 202),
        ("olga", "GET", "/connectors/pay-1/offsets", 200),
        ("olga", "GET", "/connectors/pay-1/dead-letters", 403),
        ("olga", "GET", "/connectors/pay-1/dead-letters/redrive", 403),
        ("olga", "POST", "/connectors/pay-1/dead-letters/redrive", 403),
        ("olga", "PUT", "/connectors/orders/pause", 403),
        ("olga", "GET", "/connectors/orders", 403),
        ("olga", "DELETE", "/connectors/pay-1", 403),
        ("emil", "DELETE", "/connectors/pay-1", 204),
        ("nina", "GET", "/", 403),
        ("root", "GET", "/connectors/none/status", 404),
    ],
)
def test_each_may_do_what_a_rule_allows(ask: As, user: str, method: str, path: str, status: int) -> None:
    assert ask(user, method, path).status_code == status


@pytest.mark.parametrize(
    ("user", "path", "role"),
    [
        ("root", "/", "admin"),
        ("emil", "/", "editor"),
        ("emil", "/connectors/pay-1", "editor"),
        ("olga", "/connectors/pay-1", "operator"),
        ("vera", "/", "viewer"),
        ("vera", "/connectors/orders", "viewer"),
    ],
)
def test_an_answer_names_the_users_role(ask: As, user: str, path: str, role: str) -> None:
    assert ask(user, "GET", path).headers["X-Headrace-Role"] == role


def test_an_editor_gives_only_the_plugins_of_the_rule(ask: As, herder: Any) -> None:
    allowed = {"connector.class": "FileStreamSource", "topic": "t"}
    assert ask("emil", "POST", "/connectors", json={"name": "pay-2", "config": allowed}).status_code == 201
    for method, path, body in (
        ("POST", "/connectors", {"name": "orders-2", "config": allowed}),
        ("POST", "/connectors", {"name": "pay-3", "config": {"connector.class": "x:X"}}),
        ("PUT", "/connectors/pay-2/config", {**allowed, "transforms": "s", "transforms.s.type": "SparkSql"}),
        ("PATCH", "/connectors/pay-2/config", {"connector.class": "x:X"}),
        ("PATCH", "/connectors/pay-2/config", {"value.converter": "x:X"}),
        ("PUT", "/connector-plugins/X/config/validate", {"connector.class": "X"}),
        ("PUT", "/connector-plugins/X/config/validate", {"name": "pay-2"}),
    ):
        answer = ask("emil", method, path, json=body)
        assert answer.status_code == 403, (method, path, body)
        assert "emil may not give connector" in answer.json()["message"]
    assert herder.configs["pay-2"] == {**allowed, "name": "pay-2"}
    assert herder.validated is None


def test_a_viewer_sees_no_secrets(ask: As, herder: Any) -> None:
    seen = {**SECRET, "spark.option.password": "[hidden]", "url": "[hidden]"}
    assert ask("vera", "GET", "/connectors/pay-1").json()["config"] == seen
    assert ask("vera", "GET", "/connectors/pay-1/config").json() == seen
    assert ask("vera", "GET", "/connectors/pay-1/tasks").json()[0]["config"] == seen
    assert "swordfish" not in ask("vera", "GET", "/connectors?expand=info&expand=status").text
    assert "swordfish" not in ask("olga", "GET", "/connectors/pay-1").text
    herder.trace = "No login by jdbc:x://h?user=a&password=swordfish, nor by swordfish"
    paths = ("pay-1/status", "pay-1/status?expand=spark", "pay-1/tasks/0/status", "?expand=status")
    for path in (*paths, "pay-1/health", "?expand=health"):
        assert "swordfish" not in ask("vera", "GET", f"/connectors/{path}".replace("/?", "?")).text, path
        assert "swordfish" in ask("root", "GET", f"/connectors/{path}".replace("/?", "?")).text, path
    assert "swordfish" not in ask("olga", "POST", "/connectors/pay-1/restart?includeTasks=true").text
    assert ask("emil", "GET", "/connectors/pay-1/config").json() == SECRET


def test_lists_have_what_a_user_may_see(ask: As) -> None:
    assert ask("vera", "GET", "/connectors").json() == ["orders", "pay-1"]
    assert ask("olga", "GET", "/connectors").json() == ["pay-1"]
    assert list(ask("olga", "GET", "/connectors?expand=status").json()) == ["pay-1"]


def test_no_user_gets_in_without_a_password_or_with_a_wrong_one(ask: As, files: dict[str, str]) -> None:
    for user in ("root", "vera", "nobody"):
        answer = ask._http.get("/", auth=(user, "wrong"))
        assert (answer.status_code, answer.headers["www-authenticate"][:5]) == (401, "Basic")
    assert ask._http.get("/").status_code == 401
    assert ask._http.get("/", headers={"Authorization": "Basic %%"}).status_code == 401


def test_each_decision_is_on_record(ask: As, files: dict[str, str]) -> None:
    ask("vera", "GET", "/connectors/pay-1")
    ask("vera", "PUT", "/connectors/pay-1/pause?x=1")
    ask._http.get("/connectors", auth=("vera", "wrong"))
    ask("emil", "POST", "/connectors", json={"name": "pay-3", "config": {"connector.class": "x:X"}})
    lines = [json.loads(line) for line in Path(files["rest.audit.file"]).read_text().splitlines()]
    wanted = ("user", "method", "path", "connector", "rule", "result")
    assert [tuple(line[key] for key in wanted) for line in lines] == [
        ("vera", "GET", "/connectors/pay-1", "pay-1", "rule 2", "allowed"),
        ("vera", "PUT", "/connectors/pay-1/pause", "pay-1", None, "refused"),
        ("anonymous", "GET", "/connectors", None, None, "unauthenticated"),
        ("emil", "POST", "/connectors", None, "rule 4", "allowed"),
        ("emil", "POST", "/connectors", "pay-3", None, "refused"),
    ]
    assert {line["address"] for line in lines} == {"127.0.0.1"} and lines[0]["by"] == "basic"


def test_what_cannot_be_put_on_record_is_not_done(serve_api: Serve, files: dict[str, str], herder: Any) -> None:
    full = {**files, "rest.audit.file": "/dev/full"}
    ask = As(serve_api(full, lambda _: create_app(herder, request_timeout=1), herder).url)
    answer = ask("root", "DELETE", "/connectors/pay-1")
    assert (answer.status_code, answer.json()["error_code"]) == (500, 500)
    assert "pay-1" in herder.configs


def test_rules_and_users_change_without_a_restart(ask: As, files: dict[str, str]) -> None:
    assert ask("nina", "GET", "/").status_code == 403
    rules = Path(files["rest.authorization.file"])
    rules.write_text("rules: [{users: [nina], role: viewer}]")
    wait_for(lambda: ask("nina", "GET", "/").status_code == 200, 10, "the new rules")
    assert ask("root", "GET", "/").status_code == 403
    rules.write_text("rules: nonsense")
    Path(files["rest.basic.auth.credentials.file"]).write_text("nina=other")
    wait_for(lambda: ask("nina", "GET", "/").status_code == 401, 10, "the new password")
    assert ask._http.get("/", auth=("nina", "other")).status_code == 200, "the last good rules are in force"


def test_an_address_that_guesses_has_to_wait(serve_api: Serve, files: dict[str, str]) -> None:
    ask = As(serve_api({**files, "rest.authentication.max.failures": "3"}).url)
    assert [ask._http.get("/", auth=("vera", str(guess))).status_code for guess in range(4)] == [401, 401, 401, 429]
    right = ask("vera", "GET", "/")
    assert right.status_code == 429 and 0 < int(right.headers["retry-after"]) <= 60


def test_guesses_at_the_same_time_are_no_more_than_one_after_the_other(
    serve_api: Serve, files: dict[str, str], monkeypatch: Any
) -> None:
    right = bcrypt.checkpw

    def slowly(*given: Any) -> bool:
        time.sleep(0.05)
        return right(*given)

    monkeypatch.setattr(bcrypt, "checkpw", slowly)
    url = serve_api({**files, "rest.authentication.max.failures": "3"}).url
    with ThreadPoolExecutor(12) as threads:
        guesses = [*map(str, range(11)), "rootpw"]
        found = list(threads.map(lambda guess: httpx2.get(url, auth=("root", guess)).status_code, guesses))
    assert found.count(401) == 3 and found.count(429) >= 8, found


def test_who_has_nothing_to_guess_does_not_wait_for_those_who_guess(serve_api: Serve, files: dict[str, str]) -> None:
    proxy = {"rest.authentication": "proxy,basic", "rest.proxy.addresses": "127.0.0.0/8"}
    url = serve_api({**files, **proxy, "rest.authentication.max.failures": "2"}).url
    assert [httpx2.get(url, auth=("vera", "x")).status_code for _ in range(3)] == [401, 401, 429]
    assert httpx2.get(url, headers={"X-Forwarded-User": "vera"}).status_code == 200
    assert httpx2.get(url, headers={"X-Forwarded-User": "vera", "Authorization": "Basic eDp4"}).status_code == 429
    results = [json.loads(line)["result"] for line in Path(files["rest.audit.file"]).read_text().splitlines()]
    assert results == ["unauthenticated", "unauthenticated", "throttled", "allowed", "throttled"]


def test_an_unknown_user_takes_as_long_as_any(serve_api: Serve, files: dict[str, str], monkeypatch: Any) -> None:
    """Shown by the hashes that are tried: times differ by themselves."""
    cheap, dear = (bcrypt.hashpw(b"x", bcrypt.gensalt(cost)).decode() for cost in (4, 5))
    users = Path(files["rest.basic.auth.credentials.file"])
    users.write_text(f"clear=x\ncheap={cheap}\ndear={dear}\n")
    tried: list[bytes] = []
    real = bcrypt.checkpw
    monkeypatch.setattr(bcrypt, "checkpw", lambda password, stored: tried.append(stored) or real(password, stored))
    url = serve_api(files).url
    for user in ("nobody", "clear", "cheap", "dear"):
        tried.clear()
        assert httpx2.get(url, auth=(user, "wrong")).status_code == 401
        assert dear.encode() in tried, user


@pytest.mark.parametrize("hash", ["$2b$99$", "$2b$03$", "$2$10$", "$1$10$"])
def test_a_hash_that_cannot_be_checked_is_a_mistake(files: dict[str, str], hash: str) -> None:
    Path(files["rest.basic.auth.credentials.file"]).write_text(f"root={hash}{'a' * 53}")
    needed = {"bootstrap.servers": "b:1", "key.converter": "StringConverter", "value.converter": "StringConverter"}
    with pytest.raises(ConfigError, match=r"root begins with \$ and is no hash"):
        WorkersAccess(WorkerConfig({**needed, **files}))


def test_whatever_fails_there_no_request_gets_in(serve_api: Serve, files: dict[str, str], monkeypatch: Any) -> None:
    async def fail(self: Any, scope: Any) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(Passwords, "authenticate", fail)
    answer = httpx2.get(serve_api(files).url, auth=("root", "rootpw"))
    assert (answer.status_code, answer.json()["error_code"]) == (500, 500)
    assert "Traceback" not in answer.text


def test_what_workers_ask_of_each_other_is_for_users_where_there_are_none(ask: As) -> None:
    """A worker that is alone serves none of it, and reads no body for it."""
    for method, path in (
        ("POST", "/connectors/c/tasks"),
        ("PUT", "/connectors/c/fence"),
        ("PUT", "/internal/loggers/x"),
    ):
        assert ask._http.request(method, path, json={}).status_code == 401, path


def test_a_name_that_is_no_text_is_on_record_too(ask: As, files: dict[str, str]) -> None:
    assert ask("vera", "GET", "/connectors/%FF").status_code == 400
    line = json.loads(Path(files["rest.audit.file"]).read_text().splitlines()[-1])
    assert (line["user"], line["path"], line["result"]) == ("vera", "/connectors/%FF", "refused")


def test_users_of_an_extension_come_under_the_rules(serve_api: Serve, files: dict[str, str]) -> None:
    extension = {**files, "rest.authentication": "", "rest.extension.classes": "BasicAuthSecurityRestExtension"}
    Path(files["rest.basic.auth.credentials.file"]).write_text("vera=verapw\nnina=ninapw")
    ask = As(serve_api(extension).url)
    assert ask("vera", "GET", "/").status_code == 200
    assert ask("nina", "GET", "/").status_code == 403


def test_a_hundred_logins_hash_one_password_once(serve_api: Serve, files: dict[str, str], monkeypatch: Any) -> None:
    hashed: list[object] = []
    real = bcrypt.checkpw
    monkeypatch.setattr(bcrypt, "checkpw", lambda *given: hashed.append(given) or real(*given))
    ask = As(serve_api(files).url)
    assert {ask("root", "GET", "/").status_code for _ in range(100)} == {200}
    assert len(hashed) == 1


PBKDF2 = "$pbkdf2-sha256$5000$RGhtrRXC.L/3/n.P8f6/9w$tW6eo9E33PGdCqp6FyxT4OJRTFW71nrKaPspsD..vpA"
"""Of "secret", as passlib has made it."""


def test_passwords_by_pbkdf2_need_no_bcrypt(serve_api: Serve, files: dict[str, str], monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "bcrypt", None)
    path = Path(files["rest.basic.auth.credentials.file"])
    path.write_text(f"root={PBKDF2}\n")
    url = serve_api(files).url
    assert httpx2.get(url, auth=("root", "secret")).status_code == 200
    assert httpx2.get(url, auth=("root", "secrets")).status_code == 401
    for wrong in (PBKDF2[:-1], PBKDF2.replace("5000", "5"), PBKDF2.replace("/9w", "/9wabc"), "$5$salt$hash"):
        path.write_text(f"root={wrong}\n")
        with pytest.raises(ConfigError, match="the password of root begins with"):
            serve_api(files)


@pytest.fixture
def issuer() -> Iterator[OidcServer]:
    with OidcServer() as running:
        yield running


def test_a_token_of_the_issuer_is_good_and_no_other(
    serve_api: Serve, files: dict[str, str], issuer: OidcServer
) -> None:
    properties = {"rest.authentication": "jwt", "rest.jwt.issuer": issuer.url, "rest.jwt.audience": "headrace"}
    url = serve_api({**files, **properties}).url

    def status(token: str) -> int:
        return httpx2.get(url, headers={"Authorization": f"Bearer {token}"}).status_code

    assert status(issuer.token()) == 200
    assert status(issuer.token(sub="zoe", groups=["watchers"])) == 200
    assert status(issuer.token(sub="zoe")) == 403
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=5)
    public = issuer.key.public_key().public_numbers().n.to_bytes(256, "big")
    for bad in (
        issuer.token(aud="else"),
        issuer.token(iss="http://else"),
        issuer.token(exp=past),
        issuer.token(exp=None),
        issuer.token(nbf=datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=5)),
        issuer.token(aud=None),
        issuer.token(kid="two"),
        issuer.token(kid="../../keys"),
        issuer.token(sub="ve\nra"),
        issuer.token(sub="ve\u202era"),
        issuer.token(sub=""),
        issuer.token(key=rsa.generate_private_key(65537, 2048)),
        issuer.token(key=public, algorithm="HS256"),
        issuer.token()[:-4] + "AAAA",
        jwt.encode({"sub": "root"}, "", algorithm="none"),
        "x" * 20_000,
        "x",
    ):
        assert status(bad) == 401
    answer = httpx2.get(url)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="headrace"')


def test_strangers_do_not_have_the_issuer_asked(serve_api: Serve, files: dict[str, str], issuer: OidcServer) -> None:
    properties = {"rest.authentication": "jwt", "rest.jwt.issuer": issuer.url, "rest.jwt.audience": "headrace"}
    url = serve_api({**files, **properties, "rest.authentication.max.failures": "3"}).url
    issuer.broken = True
    found = {httpx2.get(url, headers={"Authorization": f"Bearer {issuer.token()}"}).status_code for _ in range(20)}
    assert found == {401}, "that the issuer is away is no failure of its users"
    assert len(issuer.fetched) == 1


def https(certificates: Any) -> dict[str, str]:
    return {
        "listeners": "https://127.0.0.1:0",
        "listeners.https.ssl.keystore.location": certificates.worker,
        "listeners.https.ssl.truststore.location": certificates.ca,
        "listeners.https.ssl.client.auth": "requested",
    }


def client(certificates: Any, identity: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certificates.ca)
    if identity is not None:
        context.load_cert_chain(identity)
    return context


def test_the_certificate_of_a_client_is_its_user(serve_api: Serve, files: dict[str, str], certificates: Any) -> None:
    url = serve_api({**files, **https(certificates), "rest.authentication": "certificate,basic"}).url
    with httpx2.Client(base_url=url, verify=client(certificates, certificates.vera)) as vera:
        assert vera.get("/connectors").status_code == 200
        assert vera.put("/connectors/pay-1/pause").status_code == 403
    with httpx2.Client(base_url=url, verify=client(certificates, None)) as unknown:
        assert unknown.get("/").status_code == 401
        assert unknown.get("/", auth=("vera", "verapw")).status_code == 200


def test_a_proxy_is_believed_at_its_address_alone(serve_api: Serve, files: dict[str, str]) -> None:
    proxy = {**files, "rest.authentication": "proxy", "rest.proxy.addresses": "127.0.0.0/8"}
    url = serve_api(proxy).url
    for headers, status in (
        ({"X-Forwarded-User": "vera"}, 200),
        ({"X-Forwarded-User": "zoe", "X-Forwarded-Groups": "a, watchers"}, 200),
        ({"X-Forwarded-User": "zoe"}, 403),
        ({"X-Forwarded-User": ""}, 401),
        ([("X-Forwarded-User", "zoe"), ("X-Forwarded-User", "root")], 401),
        ([("X-Forwarded-User", "zoe"), ("x-forwarded-groups", "a"), ("X-Forwarded-Groups", "watchers")], 401),
        ({"X-Forwarded-User": "root, vera"}, 403),
        ({"X-Forwarded-User": "group:watchers"}, 403),
        ({}, 401),
    ):
        assert httpx2.get(url, headers=headers).status_code == status, headers
    elsewhere = serve_api({**proxy, "rest.proxy.addresses": "10.0.0.0/8"}).url
    assert httpx2.get(elsewhere, headers={"X-Forwarded-User": "root"}).status_code == 401


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"rest.authentication": "basic"}, "rest.basic.auth.credentials.file"),
        ({"rest.authentication": "jwt"}, "rest.jwt.issuer"),
        ({"rest.authentication": "proxy"}, "rest.proxy.addresses"),
        ({"rest.authentication": "certificate"}, "ssl.client.auth"),
        ({"rest.authorization.file": "/none"}, "rest.authorization.file"),
    ],
)
def test_mistakes_name_the_property(properties: dict[str, str], message: str) -> None:
    needed = {"bootstrap.servers": "b:1", "key.converter": "StringConverter", "value.converter": "StringConverter"}
    with pytest.raises(ConfigError, match=message):
        WorkersAccess(WorkerConfig({**needed, **properties}))


KEY = SessionKey("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=", "HmacSHA256", 0)


class Group:
    """What forwarding asks of a herder."""

    def signed(self) -> bool:
        return True

    def session_key(self) -> SessionKey:
        return KEY


def in_group(users: ForwardedUsers) -> Callable[[WorkerConfig], WorkersAccess]:
    """Makes the access of a worker that other workers forward requests to."""

    def make(config: WorkerConfig) -> WorkersAccess:
        access = WorkersAccess(config)
        access.accept_forwarded(users)
        return access

    return make


def test_a_forwarded_request_is_of_its_user_only(
    serve_api: Serve, files: dict[str, str], served: tuple[Any, Any], herder: Any
) -> None:
    sha256 = mac_algorithm("HmacSHA256")
    assert sha256 is not None

    def serve(herder: Any, **properties: str) -> Any:
        verifier = SignatureVerifier([sha256])
        users = ForwardedUsers(Group(), sha256, verifier)  # type: ignore[arg-type]

        def app(endpoints: Any) -> Any:
            others = OtherWorkers(Group(), RestClient(None), verifier, users.headers)  # type: ignore[arg-type]
            return create_app(herder, request_timeout=1, others=others)

        return serve_api({**files, **properties}, app, herder, in_group(users))

    # The leader believes no proxy: only the follower names the user to it.
    leader = serve(herder, **{"rest.authentication": "proxy", "rest.proxy.addresses": "10.0.0.0/8"})
    behind = type(served[0])()
    behind.configs = herder.configs
    behind.error = None
    follower = serve(behind, **{"rest.authentication": "proxy", "rest.proxy.addresses": "127.0.0.0/8"})

    def refuse(*args: Any, **more: Any) -> Any:
        raise NotLeaderError("Only the leader can", leader.endpoints.advertised_url)

    behind.put_connector_config = behind.set_target_state = refuse
    config = {"connector.class": "FileStreamSource"}
    emil = {"X-Forwarded-User": "emil"}
    created = httpx2.post(f"{follower.url}/connectors", json={"name": "pay-9", "config": config}, headers=emil)
    assert (created.status_code, "pay-9" in herder.configs) == (201, True)
    assert httpx2.put(f"{follower.url}/connectors/pay-1/pause", headers=emil).status_code == 202
    audit = Path(files["rest.audit.file"]).read_text()
    assert audit.count('"user": "emil"') >= 4 and "anonymous" not in audit
    for forged in ({HEADER: "e30="}, {HEADER: "e30=", "X-Connect-Authorization": "AAAA"}, emil):
        assert httpx2.get(leader.url, headers=forged).status_code == 401


def test_a_forwarded_user_is_not_taken_for_the_worker_that_forwards(
    serve_api: Serve, files: dict[str, str], served: tuple[Any, Any], herder: Any, certificates: Any
) -> None:
    """To a leader at https the follower shows a certificate of its own, here that of vera."""
    sha256 = mac_algorithm("HmacSHA256")
    assert sha256 is not None
    verifier = SignatureVerifier([sha256])
    users = ForwardedUsers(Group(), sha256, verifier)  # type: ignore[arg-type]

    def serve(herder: Any, **properties: str) -> Any:
        shows = RestClient(lambda: client(certificates, certificates.vera))
        others = OtherWorkers(Group(), shows, verifier, users.headers)  # type: ignore[arg-type]
        app = create_app(herder, request_timeout=1, others=others)
        return serve_api({**files, **properties}, lambda _: app, herder, in_group(users))

    leader = serve(herder, **https(certificates), **{"rest.authentication": "certificate,basic"})
    behind = type(served[0])()
    behind.configs = herder.configs
    follower = serve(behind, **{"rest.authentication": "basic"})

    def refuse(*args: Any, **more: Any) -> Any:
        raise NotLeaderError("Only the leader can", leader.endpoints.advertised_url)

    behind.set_target_state = refuse
    ask = As(follower.url)
    assert ask("olga", "PUT", "/connectors/pay-1/pause").status_code == 202
    lines = [json.loads(line) for line in Path(files["rest.audit.file"]).read_text().splitlines()]
    assert [(line["user"], line["by"]) for line in lines] == [("olga", "basic")] * 2


def test_a_forwarded_request_with_another_body_is_refused(serve_api: Serve, files: dict[str, str], herder: Any) -> None:
    sha256 = mac_algorithm("HmacSHA256")
    assert sha256 is not None
    users = ForwardedUsers(Group(), sha256, SignatureVerifier([sha256]))  # type: ignore[arg-type]
    app = create_app(herder, request_timeout=1)
    leader = serve_api(files, lambda _: app, herder, in_group(users))
    path, given = "/connectors/pay-1/config", {"connector.class": "FileStreamSource"}
    access = Access(Principal("emil", method="proxy"), ALLOW_ALL, lambda *noted: None)
    request = Request(with_access({"type": "http", "method": "PUT", "path": path, "headers": []}, access))
    signed = users.headers(request, path, "", json.dumps(given).encode())
    answer = httpx2.put(leader.url + path, json={**given, "file": "/etc/passwd"}, headers=signed)
    assert (answer.status_code, answer.json()["error_code"]) == (403, 403)
    assert herder.configs["pay-1"] == SECRET


def test_what_was_signed_for_one_request_is_good_for_no_other() -> None:
    """Taken down on the way, and sent again with another query or body."""
    sha256 = mac_algorithm("HmacSHA256")
    assert sha256 is not None
    user = Principal("emil", frozenset({"g"}), "proxy")
    access = Access(user, ALLOW_ALL, lambda *noted: None)

    def sent(query: str = "a=1", body: bytes = b"{}") -> tuple[Any, Any]:
        users = ForwardedUsers(Group(), sha256, SignatureVerifier([sha256]))  # type: ignore[arg-type]
        scope = {"type": "http", "method": "PUT", "path": "/x", "headers": []}
        headers = users.headers(Request(with_access(scope, access)), "/x", "a=1", b"{}")
        raw = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
        there = {**scope, "headers": raw, "query_string": query.encode()}

        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        return asyncio.run(users.authenticate(there)), checked_body(there, receive)

    principal, receive = sent()
    assert principal == user and asyncio.run(receive())["body"] == b"{}"
    with pytest.raises(RefusedCredentialsError, match="query"):
        sent(query="a=2")
    _, receive = sent(body=b"{} ")
    with pytest.raises(ForgedBodyError, match="body"):
        asyncio.run(receive())
