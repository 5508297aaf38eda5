# SPDX-License-Identifier: Apache-2.0
"""Every test below kills, stops or fences something real."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from tests.support.worker_process import WorkerProcess

MUTATIONS = Path(__file__).parent / "mutations"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.faults)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker of the test's own to kill or freeze: no other test notices."""
    with EmbeddedBroker(tmp_path / "broker", port=0, jvm_options=QUICK_START_JVM_OPTIONS) as running:
        yield running


@pytest.fixture
def worker_of_own_broker(own_broker: EmbeddedBroker, tmp_path: Path) -> Iterator[WorkerProcess]:
    with WorkerProcess(tmp_path, own_broker.bootstrap_servers) as running:
        yield running


@pytest.fixture
def worker_elsewhere(
    broker: EmbeddedBroker, tmp_path: Path, unique: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[WorkerProcess]:
    """As `own_worker`; but what a killed one leaves is not ended, as where tasks are on other machines than workers."""
    monkeypatch.setenv("HEADRACE_TEST_MUTATIONS", "elsewhere")
    monkeypatch.setenv("HEADRACE_TEST_DIRECTORY", str(tmp_path))
    with tempfile.TemporaryDirectory(prefix="hr-") as apart:
        monkeypatch.setenv("TMPDIR", apart)  # all workers that start end what is left where theirs is
        process = WorkerProcess(
            tmp_path, broker.bootstrap_servers, path=(MUTATIONS,), **{"group.id": f"group-{unique}"}
        )
        try:
            yield process
        finally:
            process.close()
