# SPDX-License-Identifier: Apache-2.0
"""Attacks on real workers: each test is one that succeeded once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

USER, PASSWORD = "anna", "secret"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.integration)


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
    with worker:
        wait_for(lambda: worker.rest.get("/health").status_code == 200, 60, lambda: worker.log[-3000:])
        yield worker


@pytest.fixture(scope="module")
def own_tmp() -> Iterator[Path]:
    """Where processes that the module's tests start have their temporary files; its path is short, as sockets' are."""
    with tempfile.TemporaryDirectory(prefix="hr-") as directory, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", directory)
        yield Path(directory)
