# SPDX-License-Identifier: Apache-2.0
"""Values from outside on a real worker: they reach connector and task, and are seen nowhere else.

The task has a transformation from a directory of ``plugin.path`` too, so that its process is seen to find that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.topics import read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    directory = tmp_path / "secrets"
    directory.mkdir()
    for name in ("first", "second"):
        (directory / f"{name}-hidden-name.txt").write_text(f"a line of the {name} file\n")
    (directory / "input.properties").write_text(f"path={directory}/first-hidden-name.txt\n")
    return directory


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    directory = tmp_path / "plugins"
    directory.mkdir()
    (directory / "loud_plugin.py").write_text(
        "from headrace.api import Transformation\n"
        "class Loud(Transformation):\n"
        "    def apply(self, record):\n"
        "        return record.with_value(record.value_schema, record.value + '!')\n"
    )
    return directory


@pytest.fixture
def worker(own_worker: WorkerProcess, secrets: Path, plugins: Path) -> Iterator[WorkerProcess]:
    own_worker.properties.update(
        {
            "plugin.path": str(plugins),
            "config.providers": "file,env",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "config.providers.file.param.allowed.paths": str(secrets),
            "config.providers.file.param.ttl.ms": "500",
            "config.providers.env.class": "EnvVarConfigProvider",
            "config.providers.env.param.allowlist.pattern": "HEADRACE_TEST_.*",
            # Of the worker's own: its start would fail if this were taken as it is written.
            "task.shutdown.graceful.timeout.ms": f"${{file:{secrets}/worker.properties:timeout}}",
        }
    )
    (secrets / "worker.properties").write_text("timeout=5000\n")
    own_worker.start()
    yield own_worker


def test_values_reach_the_task_and_are_seen_nowhere(
    worker: WorkerProcess, broker: EmbeddedBroker, secrets: Path, unique: str
) -> None:
    reference = f"${{file:{secrets}/input.properties:path}}"
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": reference, "topic": unique}
    config |= {"transforms": "loud", "transforms.loud.type": "loud_plugin:Loud"}
    created = worker.create(unique, **config)
    assert created["config"]["file"] == reference
    bootstrap = broker.bootstrap_servers
    assert wait_for_values(bootstrap, unique, 1) == [b"a line of the first file!"]

    # New values are taken over without anyone's doing.
    (secrets / "input.properties").write_text(f"path={secrets}/second-hidden-name.txt\n")
    assert wait_for_values(bootstrap, unique, 2) == [b"a line of the first file!", b"a line of the second file!"]
    worker.wait_for_tasks(unique)

    assert worker.rest.get(f"/connectors/{unique}/config").json() == {**config, "name": unique}
    (task,) = worker.rest.get(f"/connectors/{unique}/tasks").json()
    assert task["config"]["file"] == reference
    stored = [str(record.value) for record in read_committed(bootstrap, worker.properties["config.storage.topic"])]
    assert any("input.properties:path" in text for text in stored)
    assert not any("hidden-name" in text for text in stored)
    assert "hidden-name" not in json.dumps(worker.status(unique))
    assert "hidden-name" not in worker.log

    named = worker.rest.put(f"/connectors/{unique}/config", json={**config, "transforms.loud.type": "this.main:s"})
    assert named.status_code == 400
    assert "imports none from module this" in named.json()["message"]
    refused = worker.rest.put(
        f"/connectors/{unique}/config", json={**config, "file": f"${{file:{secrets}/no.properties:path}}"}
    )
    assert refused.status_code == 400
    assert f"config provider file: Properties file {secrets}/no.properties cannot be read" in refused.json()["message"]
    for outside in ("${file:/etc/passwd:root}", "${env:HOME}"):
        answer = worker.rest.put(
            "/connector-plugins/FileStreamSource/config/validate", json={**config, "file": outside}
        )
        assert answer.status_code == 400
        assert "may not be read" in answer.json()["message"]
