# SPDX-License-Identifier: Apache-2.0
"""Where the UI of Spark listens, and that it is behind a token with the filter that Spark has for it."""

from __future__ import annotations

import base64
import re
import secrets
import socket
from pathlib import Path

import httpx2
import jwt

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.broker.free_port import free_port
from tests.security.test_ports import documented, listening
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

FILTER = "org.apache.spark.ui.JWSFilter"
THREAD_DUMP = "/api/v1/applications/{}/executors/driver/threads"


def test_sparks_ui_answers_those_with_a_token_alone(broker: EmbeddedBroker, tmp_path: Path, unique: str) -> None:
    """Its pages, and thread dumps and settings, which it would else show to any user of this machine."""
    secret = secrets.token_bytes(32)
    properties = {
        "group.id": f"group-{unique}",
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.ui.filters": FILTER,
        f"spark.{FILTER}.param.secretKey": base64.urlsafe_b64encode(secret).decode(),
    }
    with WorkerProcess(tmp_path, broker.bootstrap_servers, **properties) as worker:
        found = wait_for(lambda: re.search(r"UI at (http://localhost:\d+)", worker.log), 60, lambda: worker.log[-3000:])
        bearer = {"Authorization": f"Bearer {jwt.encode({'sub': 'operator'}, secret, algorithm='HS256')}"}
        forged = {"Authorization": f"Bearer {jwt.encode({'sub': 'operator'}, bytes(32), algorithm='HS256')}"}
        with httpx2.Client(base_url=found[1], timeout=60) as ui:
            [application] = ui.get("/api/v1/applications", headers=bearer).json()
            dump = THREAD_DUMP.format(application["id"])
            for path in ("/jobs/", "/environment/", "/api/v1/applications", dump):
                assert ui.get(path, headers=bearer).status_code == 200, path
                for headers in ({}, forged):
                    assert ui.get(path, headers=headers).status_code == 403, path
        assert properties[f"spark.{FILTER}.param.secretKey"] not in worker.log


def test_the_log_has_the_address_that_the_ui_listens_at(own_worker: WorkerProcess) -> None:
    """The port that was asked for is another program's, at the same address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        asked = taken.getsockname()[1]
        own_worker.properties |= {"spark.ui.enabled": "true", "spark.ui.port": str(asked)}
        own_worker.start()
        found = wait_for(lambda: re.search(r"UI at http://localhost:(\d+)", own_worker.log), 60, lambda: own_worker.log)
        port, addresses = int(found[1]), listening(own_worker.jvm())
        assert port != asked and addresses[port] == "127.0.0.1"
        assert set(addresses.values()) == {"127.0.0.1"}
        assert httpx2.get(f"http://localhost:{port}/jobs/", timeout=60).status_code == 200
        assert httpx2.get(f"http://localhost:{port}/api/v1/version", timeout=60).json()["spark"] in own_worker.log


def test_a_ui_that_is_off_has_no_port(own_worker: WorkerProcess) -> None:
    asked = free_port()
    own_worker.properties |= {"spark.ui.enabled": "false", "spark.ui.port": str(asked)}
    own_worker.start()
    wait_for(lambda: re.search(r"is up, UI at no address \(off\)", own_worker.log), 60, lambda: own_worker.log)
    addresses = listening(own_worker.jvm())
    assert len(addresses) == len(documented("Spark's JVM")) - 1 and asked not in addresses
    assert set(addresses.values()) == {"127.0.0.1"}
