# SPDX-License-Identifier: Apache-2.0
"""The commands serve the REST API as the worker's properties say: HTTPS, users, listeners, sizes."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
import trustme

from headrace.api.errors import ConfigError
from headrace.cli import distributed, standalone
from headrace.cli.stop_signals import StopSignals
from headrace.cli.worker_process import WorkerProcess
from headrace.spark.task.spark_task_launcher import SparkTaskLauncher

PROPERTIES = """
bootstrap.servers=127.0.0.1:1
key.converter=StringConverter
value.converter=StringConverter
group.id=g
config.storage.topic=c
offset.storage.topic=o
status.storage.topic=s
offset.storage.file.filename={directory}/offsets
listeners=https://127.0.0.1:0
admin.listeners=
ssl.keystore.location={directory}/worker.pem
ssl.truststore.location={directory}/ca.pem
rest.extension.classes=org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension
rest.basic.auth.credentials.file={directory}/users
rest.request.max.bytes=10
response.http.headers.config=set X-Frame-Options:DENY
"""
COMMANDS: list[Callable[[Path], int]] = [
    distributed.run_distributed_worker,
    lambda path: standalone.run_standalone_worker(path, []),
]
each_command = pytest.mark.parametrize("run", COMMANDS, ids=["distributed", "standalone"])


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    ca.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "worker.pem")
    (tmp_path / "users").write_text("anna=secret")
    path = tmp_path / "worker.properties"
    path.write_text(PROPERTIES.format(directory=tmp_path))
    return path


@each_command
def test_a_worker_serves_as_its_properties_say(
    run: Callable[[Path], int], properties: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[httpx2.Response] = []

    def serve_only(process: WorkerProcess, signals: StopSignals) -> int:
        """Without herder, Kafka and Spark."""
        process._server.start()
        context = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        with httpx2.Client(base_url=process._url, verify=context, auth=("anna", "secret")) as http:
            answers.append(httpx2.get(process._url, verify=context))
            answers.append(http.get("/"))
            answers.append(http.get("/admin/loggers"))
            answers.append(http.post("/connectors", content=b"x" * 11))
        process._server.stop()
        return 0

    # Started without a herder that stops it, Spark would go on in the process of the tests that follow.
    monkeypatch.setattr(SparkTaskLauncher, "prepare", lambda launcher: None)
    monkeypatch.setattr(WorkerProcess, "run", serve_only)
    assert run(properties) == 0
    assert [answer.status_code for answer in answers] == [401, 200, 404, 413]
    assert {answer.headers["x-frame-options"] for answer in answers} == {"DENY"}
    assert answers[1].url.scheme == "https"


@each_command
def test_a_file_of_users_that_is_missing_ends_the_start(
    run: Callable[[Path], int], properties: Path, tmp_path: Path
) -> None:
    (tmp_path / "users").unlink()
    with pytest.raises(ConfigError, match="configuration rest.basic.auth.credentials.file: ".replace(".", r"\.")):
        run(properties)
