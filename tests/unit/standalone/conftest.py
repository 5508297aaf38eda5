# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from headrace.config.standalone_config import StandaloneConfig
from headrace.herder.engine.worker_herder import WorkerHerder
from headrace.plugins.discovery import Plugins
from headrace.standalone import assembly
from headrace.standalone.assembly import standalone_herder
from tests.unit.worker import support_connectors as support
from tests.unit.worker.conftest import FakeLauncher

SUPPORT = "tests.unit.worker.support_connectors"
Make = Callable[..., Mapping[str, str]]


@pytest.fixture(autouse=True)
def fresh_connectors() -> None:
    support.CALLS.clear()
    support.INSTANCES.clear()
    support.GATES.clear()


@pytest.fixture
def standalone_props(tmp_path: Path) -> dict[str, str]:
    return {
        "bootstrap.servers": "nowhere:9092",
        "key.converter": "StringConverter",
        "value.converter": "StringConverter",
        "offset.storage.file.filename": str(tmp_path / "offsets.json"),
        "task.shutdown.graceful.timeout.ms": "200",
        "offset.flush.timeout.ms": "200",
        "plugin.module.prefixes": "*",
    }


@pytest.fixture
def launcher() -> FakeLauncher:
    return FakeLauncher()


@pytest.fixture
def herder(
    standalone_props: dict[str, str], launcher: FakeLauncher, monkeypatch: pytest.MonkeyPatch
) -> Iterator[WorkerHerder]:
    """A started herder with everything real but Spark and the brokers."""
    monkeypatch.setattr(assembly, "_cluster_id", lambda admin: "cluster")
    config = StandaloneConfig(standalone_props)
    herder = standalone_herder(config, Plugins(), launcher, "http://here:8083")
    herder.start()
    yield herder
    for gate in support.GATES.values():
        gate.set()
    herder.stop(5)


@pytest.fixture
def source_config() -> Make:
    def make(name: str = "c", **more: str) -> dict[str, str]:
        base = {"name": name, "connector.class": f"{SUPPORT}:ObedientSource", "tasks.max": "2"}
        return base | {key.replace("_", "."): value for key, value in more.items()}

    return make
