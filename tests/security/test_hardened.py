# SPDX-License-Identifier: Apache-2.0
"""A worker with every line of docs/security.md's list applied still does its work: exactly once in, once out."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.rest.access.audit_log import broken_lines
from tests.support.key_material import PASSWORD, KeyMaterial
from tests.support.polling import wait_for
from tests.support.spark_sinks import json_rows
from tests.support.worker_process import ROOT, WorkerProcess

HOST = "127.0.0.1"
RULES = """
rules:
  - {users: [root], role: admin}
  - {users: [emil], role: editor, connectors: ["hardened-*"], plugins: ["SparkFileSource", "SparkSink", "*Converter"]}
"""
LIST = {
    "rest.authentication": "basic",
    "rest.audit.chain": "true",
    "rest.health.unauthenticated": "true",
    "rest.allowed.hosts": "connect.bank.example",
    "admin.listeners": "",
    "connect.protocol": "sessioned",
    "connect.protocol.minimum": "sessioned",
    "config.providers": "file",
    "config.providers.file.class": "FileConfigProvider",
    "connector.client.config.override.policy": "Allowlist",
    "connector.client.config.override.allowlist": "max.poll.records",
    "connectors.allowlist": "SparkFileSource,SparkSink",
    "connectors.denylist": "FileStream*,Mock*,SchemaSource,Verifiable*",
    "plugin.path": "",
    "spark.io.encryption.enabled": "true",
    "spark.io.encryption.keySizeBits": "256",
    "spark.io.encryption.keygen.algorithm": "HmacSHA256",
    "spark.network.crypto.enabled": "true",
    "spark.ui.enabled": "false",
}
LEFT_AS_THEY_ARE = {
    "access.control.allow.origin",
    "allowlist.pattern",
    "plugin.module.prefixes",
    "singer.commands.allowed",
}
"""The list says what not to set there, and the worker has no provider of the other one's kind."""


def hashed(password: str) -> str:
    """As docs/guide/access.md has it made, but with few rounds."""
    salt, rounds = os.urandom(16), 1000
    made = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    texts = (base64.b64encode(data, b"./").decode().rstrip("=") for data in (salt, made))
    return "$".join(("", "pbkdf2-sha256", str(rounds), *texts))


@pytest.fixture(scope="module")
def hardened(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    directory = tmp_path_factory.mktemp("hardened")
    (secrets := directory / "secrets").mkdir()
    keys = KeyMaterial(secrets)
    keys.server_stores(HOST)
    (secrets / "users").write_text("".join(f"{user}={hashed(f'{user}pw')}\n" for user in ("root", "emil", "nina")))
    (secrets / "rules.yaml").write_text(RULES)
    (secrets / "values.properties").write_text(f"keystore={PASSWORD}\nhidden=swordfish\n")
    worker = WorkerProcess(directory, broker.bootstrap_servers, **{"group.id": "hardened", **LIST})
    worker.properties |= {
        "listeners": f"https://{HOST}:{worker.port}",
        "listeners.https.ssl.keystore.location": keys.path(f"{HOST}.p12"),
        "listeners.https.ssl.keystore.password": f"${{file:{secrets}/values.properties:keystore}}",
        "listeners.https.ssl.truststore.location": keys.path("trust.jks"),
        "listeners.https.ssl.client.auth": "requested",
        "rest.basic.auth.credentials.file": str(secrets / "users"),
        "rest.authorization.file": str(secrets / "rules.yaml"),
        "rest.audit.file": str(directory / "audit.jsonl"),
        "config.providers.file.param.allowed.paths": str(secrets),
        "spark.local.dir": str(directory / "scratch"),
    }
    worker.rest = as_user(worker, keys, "emil")
    with worker:
        worker.await_answer(path="/health")
        yield worker


def as_user(worker: WorkerProcess, keys: KeyMaterial, name: str | None) -> httpx2.Client:
    context = ssl.create_default_context(cafile=keys.path("ca.pem"))
    auth = (name, f"{name}pw") if name else None
    return httpx2.Client(base_url=f"https://{HOST}:{worker.port}", verify=context, auth=auth, timeout=60)


def test_every_property_of_the_list_is_applied_here(hardened: WorkerProcess) -> None:
    listed = (ROOT / "docs" / "security.md").read_text().partition("\n## Before a worker is put into production\n")[2]
    names = set(re.findall(r"`([a-z]+(?:\.[a-zA-Z]+)+)[=`]", listed.partition("\n## ")[0]))
    assert len(names) > 12
    set_here = " ".join(hardened.properties)
    assert {name for name in names if name not in set_here} == LEFT_AS_THEY_ARE


def test_a_source_and_a_sink_run_and_the_worker_is_healthy(
    hardened: WorkerProcess, unique: str, tmp_path: Path
) -> None:
    incoming, target = tmp_path / "incoming", tmp_path / "target"
    incoming.mkdir()
    target.mkdir()
    (incoming / "numbers.json").write_text("".join(f'{{"n": {n}}}\n' for n in range(500)))
    both = {"tasks.max": "1", "spark.format": "json", "value.converter": "JsonConverter"}
    both["value.converter.schemas.enable"] = "false"
    source = {"connector.class": "SparkFileSource", "path": str(incoming), "spark.schema": "n BIGINT", "topic": unique}
    sink = {"connector.class": "SparkSink", "path": str(target), "value.schema": "n BIGINT", "topics": unique}
    sink |= {"rotate.interval.ms": "500", "consumer.override.max.poll.records": "100"}
    hardened.create("hardened-in", **both, **source)
    hardened.create("hardened-out", **both, **sink)
    numbers = lambda: sorted(row["n"] for row in json_rows(target))  # noqa: E731
    wait_for(lambda: len(numbers()) >= 500, 60, lambda: f"{numbers()}\n{hardened.log[-3000:]}")
    assert numbers() == list(range(500)), "each record once"
    for name in ("hardened-in", "hardened-out"):
        hardened.wait_for_tasks(name)
    answer = hardened.rest.get("/health", auth=None)
    assert (answer.status_code, answer.json()["status"]) == (200, "healthy")


@pytest.mark.parametrize(
    ("config", "status"),
    [
        ({"connector.class": "FileStreamSource", "file": "/etc/passwd"}, 403),
        ({"connector.class": "SparkSink", "topics": "t", "consumer.override.bootstrap.servers": "evil:9092"}, 400),
        ({"connector.class": "SparkSink", "topics": "t", "path": "${file:/etc/hostname:x}"}, 400),
    ],
    ids=["connector", "override", "provider"],
)
def test_what_the_list_is_against_is_refused(hardened: WorkerProcess, config: dict[str, str], status: int) -> None:
    answer = hardened.rest.post("/connectors", json={"name": "hardened-no", "config": {"tasks.max": "1", **config}})
    assert answer.status_code == status, answer.text


def test_the_worker_knows_its_users_and_keeps_record(hardened: WorkerProcess) -> None:
    assert hardened.rest.get("/connectors", auth=None).status_code == 401
    assert hardened.rest.get("/connectors", auth=("nina", "ninapw")).status_code == 403
    assert hardened.rest.get("/admin/loggers", auth=("root", "rootpw")).status_code == 404
    file = hardened.properties["rest.audit.file"]
    assert broken_lines(file) == []
    results = {json.loads(line)["result"] for line in Path(file).read_text().splitlines()}
    assert results >= {"allowed", "refused", "unauthenticated"}
    assert "swordfish" not in hardened.log and PASSWORD not in hardened.log
