# SPDX-License-Identifier: Apache-2.0
"""Kerberos of all clients of a worker, with MIT's KDC: a worker gets tickets of a keytab, and outlives them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.broker.free_port import LOOPBACK, free_port
from headrace.cli.console import EXIT_MISCONFIGURED
from tests.security.kerberos import CLIENT, REALM, SERVICE, Kerberos
from tests.security.secured_broker import quoted, rights
from tests.support.acls import AUTHORIZER, add_rules
from tests.support.key_material import KeyMaterial
from tests.support.polling import wait_for
from tests.support.sinks import committed, create_sink, lines, wait_for_lines
from tests.support.topics import read_committed
from tests.support.worker_process import ROOT, WorkerProcess, once_settled

_KRB5: Final = "com.sun.security.auth.module.Krb5LoginModule required"
LASTING: Final = f"lasting@{REALM}"
LIFE: Final = 10
"""Seconds of a ticket of ``CLIENT``'s; one of ``LASTING``'s lives an hour."""
SESSION: Final = 5
"""Seconds after which the broker wants to be shown one again."""


@dataclass(frozen=True)
class Place:
    """A broker that only those with a ticket may talk to at ``secured``, who have the rights that a worker needs."""

    realm: Kerberos
    packages: Path
    plain: str
    secured: Mapping[str, str]

    def way(self, login: str) -> dict[str, str]:
        return {**self.secured, "sasl.jaas.config": f"{_KRB5} {login};"}

    def of_keytab(self, keytab: Path, principal: str = CLIENT) -> dict[str, str]:
        return self.way(f"useKeyTab=true storeKey=true keyTab={quoted(str(keytab))} principal={quoted(principal)}")


@pytest.fixture(scope="module")
def place(kerberos_packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    keys = KeyMaterial(tmp_path_factory.mktemp("keys"))
    with Kerberos(tmp_path_factory.mktemp("kerberos"), LIFE) as realm:
        realm.add(LASTING, realm.client_keytab)
        port = free_port()
        options = (*QUICK_START_JVM_OPTIONS, f"-Djava.security.krb5.conf={realm.conf}")
        properties = broker_properties(realm, keys, port)
        with EmbeddedBroker(port=0, properties=properties, jvm_options=options, proxies={port: port}) as broker:
            names = (principal.partition("@")[0] for principal in (CLIENT, LASTING))
            add_rules(broker.bootstrap_servers, *(rule for name in names for rule in rights(name)))
            secured = {
                "bootstrap.servers": f"{LOOPBACK}:{port}",
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "GSSAPI",
                "sasl.kerberos.service.name": "kafka",
                "ssl.truststore.location": keys.path("ca.pem"),
            }
            yield Place(realm, kerberos_packages, broker.bootstrap_servers, secured)


def broker_properties(realm: Kerberos, keys: KeyMaterial, port: int) -> dict[str, str]:
    listener = f"listener.name.proxied{port}"
    keytab = f"storeKey=true useKeyTab=true keyTab={quoted(str(realm.service_keytab))}"
    return {
        **AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED{port}:SASL_SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keys.server(LOOPBACK)),
        f"{listener}.sasl.enabled.mechanisms": "GSSAPI",
        f"{listener}.sasl.kerberos.service.name": "kafka",
        f"{listener}.gssapi.sasl.jaas.config": f"{_KRB5} {keytab} principal={quoted(SERVICE)};",
        f"{listener}.gssapi.connections.max.reauth.ms": str(SESSION * 1000),
    }


@pytest.mark.parametrize("ticket", ["of a keytab", "of a cache"])
def test_every_client_logs_in_by_kerberos(place: Place, unique: str, ticket: str) -> None:
    way = place.of_keytab(place.realm.client_keytab)
    if ticket == "of a cache":
        place.realm.log_in(LASTING, place.realm.client_keytab)
        way = place.way(f"useTicketCache=true ticketCache={quoted(str(place.realm.cache))} serviceName=kafka")
        del way["sasl.kerberos.service.name"]
    environment = {**os.environ, "PYTHONPATH": f"{place.packages}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.every_client", unique],
        input=json.dumps(way),
        env={**environment, "KRB5_CONFIG": str(place.realm.conf)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_worker_continues_after_its_tickets_expire_and_without_a_kdc(
    place: Place, unique: str, tmp_path: Path
) -> None:
    """It joins, writes exactly once, reads and keeps offsets, with new tickets in time, and after there were none."""
    realm, file = place.realm, tmp_path / "out.txt"
    with worker_of(place, tmp_path, unique, place.of_keytab(realm.client_keytab)) as worker:
        source = {"connector.class": "VerifiableSource", "topic": unique, "throughput": "20", "tasks.max": "1"}
        worker.create(f"{unique}-source", **source)
        create_sink(worker, f"{unique}-sink", unique, file)
        wait_for_lines(file, 10)
        logins, ended = realm.logins(), time.time() + LIFE + SESSION
        wait_for(lambda: time.time() > ended and realm.logins() > logins, 60, "new tickets")
        go_on(worker, unique, file)
        assert "Lost the session" not in worker.log

        with realm.stopped():
            ended = time.time() + LIFE + SESSION
            wait_for(lambda: time.time() > ended, 60, "the tickets' end")
            wait_for(lambda: "Lost the session in group" in worker.log, 30, lambda: worker.log[-3000:])
            wait_for(
                lambda: "GSSAPI Error" in worker.log.partition("-source|task-0] LIBSASL")[2], 30, lambda: worker.log
            )
        go_on(worker, unique, file)
        wait_for(lambda: worker.rest.get(f"/connectors/{unique}-source/offsets").json()["offsets"], 30, "offsets")
        wait_for(lambda: committed(place.plain, f"connect-{unique}-sink", unique).get(0, 0) > 0, 30, "the sink's")
        once_settled(lambda: worker.rest.delete(f"/connectors/{unique}-source"))
    numbers = [int(record.value or b"") for record in read_committed(place.plain, unique)]
    assert numbers == list(range(len(numbers)))
    assert not (tmp_path / "tickets").exists()
    assert worker.log.count("Ticket expired") < 10


def go_on(worker: WorkerProcess, unique: str, file: Path) -> None:
    more = len(lines(file)) + 50
    names = (f"{unique}-source", f"{unique}-sink")
    wait_for(lambda: len(lines(file)) >= more, 60, lambda: f"{[*map(worker.status, names)]}\n{worker.log[-3000:]}")


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("keys that have been changed", "there is no Kerberos ticket to be had as stale@{realm} of {keytab}: "),
        ("another's keytab", "keyTab {keytab} has no key of other@{realm}"),
        ("no KDC", "Cannot log in to Kerberos as stale@{realm} of {keytab}: Cannot contact any KDC for realm"),
    ],
)
def test_a_login_that_fails_ends_the_start_in_one_line(
    place: Place, unique: str, tmp_path: Path, case: str, expected: str
) -> None:
    principal, keytab = f"stale@{REALM}", tmp_path / "stale.keytab"
    place.realm.add(principal, keytab)
    try:
        if case == "keys that have been changed":
            place.realm.change_keys(principal)
        elif case == "another's keytab":
            principal = f"other@{REALM}"
        worker = worker_of(place, tmp_path, unique, place.of_keytab(keytab, principal))
        with place.realm.stopped() if case == "no KDC" else nullcontext():
            ended = worker.launch().wait(90)
    finally:
        place.realm.remove(f"stale@{REALM}")
    errors = [line for line in worker.log.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1 and expected.format(realm=REALM, keytab=keytab) in errors[0], worker.log
    assert "Traceback" not in worker.log
    assert case == "no KDC" or ended == EXIT_MISCONFIGURED
    worker.close()


def worker_of(place: Place, directory: Path, unique: str, way: Mapping[str, str]) -> WorkerProcess:
    worker = WorkerProcess(directory, "", path=(place.packages,), **{"group.id": unique, **way})
    worker.environment = {"KRB5_CONFIG": str(place.realm.conf), "KRB5CCNAME": f"FILE:{directory / 'tickets'}"}
    return worker
