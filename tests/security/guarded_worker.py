# SPDX-License-Identifier: Apache-2.0
"""A real worker that knows its users and has a rule for each role, and what they may ask of it."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import bcrypt
import jwt

from tests.support.oidc_server import AUDIENCE, OidcServer
from tests.support.worker_process import WorkerProcess

CANARY: Final = "swordfish-canary"
KNOWN: Final = "pay-1"
"""A connector with secrets, stopped."""
FAILED: Final = "pay-failed"
"""A connector whose task fails with a password in its error."""
RULES: Final = """
rules:
  - {users: [root], role: admin}
  - {users: [vera], role: viewer}
  - {users: [olga], role: operator}
  - {users: [emil], role: editor, connectors: ["pay-*"], plugins: ["VerifiableSource", "canary_source:*"]}
"""
CONFIG: Final = {
    "connector.class": "VerifiableSource",
    "topic": "fuzzed",
    "throughput": "1",
    "producer.override.ssl.key.password": CANARY,
    "producer.override.sasl.jaas.config": f'PlainLoginModule required username="u" password="{CANARY}";',
    "aws.secret.access.key": CANARY,
    "myApiKey": CANARY,
    "db_password": CANARY,
    "oauth.token": CANARY,
    "http.authorization": f"Bearer {CANARY}",
    "url": f"jdbc:postgresql://anna:{CANARY}@db/x",
    "hub": f"Endpoint=sb://x;SharedAccessKeyName=k;SharedAccessKey={CANARY}",
    "mixed": f"${{file:/a:b}}password={CANARY}${{file:/a:b}}",
}
LEAKY: Final = {
    "connector.class": "canary_source:CanarySourceConnector",
    "connection.url": f"jdbc:postgresql://anna:{CANARY}@db/x",
    "entrance": CANARY,
    "errors.retry.timeout": "0",
}


@dataclass(frozen=True)
class User:
    """``role``: None without one. ``name``: None for who cannot say who they are."""

    name: str | None
    role: str | None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def done(self) -> bool:
        return 200 <= self.status < 300


def basic(text: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


class GuardedWorker:
    """Used from entry to exit of ``guarded_worker``."""

    def __init__(self, worker: WorkerProcess, issuer: OidcServer, audit: Path) -> None:
        self.worker, self.issuer, self.audit = worker, issuer, audit
        self.known = [
            User("nina", None, basic("nina:ninapw")),
            User("vera", "viewer", basic("vera:verapw")),
            User("olga", "operator", basic("olga:olgapw")),
            User("emil", "editor", {"Authorization": f"Bearer {issuer.token(sub='emil')}"}),
            User("root", "admin", basic("root:rootpw")),
        ]
        forged = jwt.encode({"iss": issuer.url, "aud": AUDIENCE, "sub": "root"}, "", "none", {"kid": "one"})
        self.strangers = [
            User(None, None, headers)
            for headers in (
                {},
                basic("root:wrong"),
                basic("zoe:rootpw"),
                basic("root"),
                {"Authorization": "Basic %%%"},
                {"Authorization": "Basic"},
                {"Authorization": "\x7f\xff"},
                {"Authorization": f"Bearer {forged}"},
                {"Authorization": f"Bearer {issuer.token(exp=None, sub='root')}"},
                {"Authorization": "Bearer a.b.c"},
                {"Authorization": "Digest username=root", "X-Forwarded-User": "root", "X-Remote-User": "root"},
                {"X-Headrace-Forwarded-User": "eyJuYW1lIjogInJvb3QifQ=="},
            )
        ]

    def by_role(self, role: str | None) -> User:
        return next(user for user in self.known if user.role == role)

    def ask(self, user: User, method: str, target: str, body: Any = None, **headers: str) -> Answer:
        """The answer to a request whose target goes out as it is."""
        return ask(self.worker.port, method, target, body, {**user.headers, **headers})

    def restore(self) -> None:
        """The connectors are there, and as they are to be."""
        for name, config in ((KNOWN, CONFIG), (FAILED, LEAKY)):
            if name not in self.worker.connectors():
                state = "STOPPED" if name == KNOWN else "RUNNING"
                body = {"name": name, "config": config, "initial_state": state}
                answer = self.worker.rest.post("/connectors", json=body)
                assert answer.status_code == 201, answer.text

    def connectors(self) -> Any:
        """All configurations, as an admin sees them."""
        infos = self.worker.rest.get("/connectors?expand=info").json()
        return {name: info["info"]["config"] for name, info in infos.items()}

    def record(self) -> Callable[[], list[dict[str, Any]]]:
        """What gives the lines of the record since it was asked before, or since now."""
        at = self.audit.stat().st_size

        def since() -> list[dict[str, Any]]:
            nonlocal at
            with self.audit.open("rb") as file:
                file.seek(at)
                text = file.read()
            at += len(text)
            return [json.loads(line) for line in text.splitlines()]

        return since


def ask(port: int, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
    """One request on a connection of its own, none of it made better on the way."""
    content = b"" if body is None else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.putrequest(method, target, skip_accept_encoding=True)
        sent = {"Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})}
        for name, text in sent.items():
            connection.putheader(name, text.encode("latin-1"))
        connection.endheaders(content)
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
    finally:
        connection.close()


def properties(directory: Path, issuer: OidcServer, rules: str = RULES) -> dict[str, str]:
    """Of a worker whose files are in a directory."""
    directory.mkdir(exist_ok=True)
    hashed = {
        name: bcrypt.hashpw(f"{name}pw".encode(), bcrypt.gensalt(4)).decode() for name in ("root", "vera", "olga")
    }
    users = "\n".join(f"{name}={text}" for name, text in {**hashed, "nina": "ninapw"}.items())
    (directory / "users").write_text(users)
    (directory / "rules.yaml").write_text(rules)
    return {
        "group.id": "guarded",
        "rest.authentication": "basic,jwt",
        "rest.basic.auth.credentials.file": str(directory / "users"),
        "rest.jwt.issuer": issuer.url,
        "rest.jwt.audience": AUDIENCE,
        "rest.authorization.file": str(directory / "rules.yaml"),
        "rest.audit.file": str(directory / "audit.jsonl"),
        "rest.audit.chain": "true",
        "rest.authentication.max.failures": "1000000",
    }


@contextmanager
def guarded_worker(directory: Path, bootstrap: str) -> Iterator[GuardedWorker]:
    with OidcServer() as issuer:
        worker = WorkerProcess(directory, bootstrap, **properties(directory, issuer))
        worker.rest.auth = ("root", "rootpw")
        with worker:
            yield GuardedWorker(worker, issuer, directory / "audit.jsonl")
