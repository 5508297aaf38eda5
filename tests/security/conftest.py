# SPDX-License-Identifier: Apache-2.0
"""Attacks on real workers: each test is one that succeeded once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.broker.embedded_broker import EmbeddedBroker
from tests.security import kerberos_packages as kerberos
from tests.support.debian import or_skip
from tests.support.worker_process import WorkerProcess

USER, PASSWORD = "anna", "secret"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.integration)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What has to be built is built now: it can take longer than a test may."""
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    if "kerberos_packages" in wanted and not session.config.option.collectonly:
        with suppress(ConfigError):  # its tests skip themselves, and say why
            kerberos.built_packages()


@pytest.fixture(scope="session")
def kerberos_packages() -> Path:
    """Of Python, for PYTHONPATH: those with which Kafka clients speak Kerberos."""
    return or_skip(kerberos.built_packages)


@pytest.fixture(scope="session")
def locked_worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker with basic auth, for all attacks by strangers; its ``rest`` is a known user's."""
    directory = tmp_path_factory.mktemp("locked-worker")
    users = directory / "users.properties"
    users.write_text(f"{USER}={PASSWORD}\n")
    properties = {
        "group.id": "headrace-locked",
        "rest.extension.classes": "BasicAuthSecurityRestExtension",
        "rest.health.unauthenticated": "true",
        "rest.basic.auth.credentials.file": str(users),
    }
    worker = WorkerProcess(directory, broker.bootstrap_servers, **properties)
    worker.rest.auth = (USER, PASSWORD)
    try:
        worker.start(path="/health")
        yield worker
    finally:
        worker.close()


@pytest.fixture(scope="module")
def own_tmp() -> Iterator[Path]:
    """Where processes that the module's tests start have their temporary files; its path is short, as sockets' are."""
    with tempfile.TemporaryDirectory(prefix="hr-") as directory, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", directory)
        yield Path(directory)
