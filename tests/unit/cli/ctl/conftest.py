# SPDX-License-Identifier: Apache-2.0
"""The commands of operators against a real server, whose herder is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli.ctl import waiting
from headrace.cli.main import app
from headrace.herder.errors import BadRequestError
from headrace.model.info import ConnectorState, ConnectorStateInfo, OffsetsChange, OffsetsChanged, TaskState
from headrace.model.state import TargetState
from headrace.rest.app import create_app
from tests.unit.rest.conftest import InMemoryHerder, certificates, serve_api, serving  # noqa: F401

TRACE = 'Traceback (most recent call last):\n  File "c.py", line 3, in poll\nConnectError: the disk is gone\n'


class Cluster(InMemoryHerder):
    """Connectors are in their target states at once; with a `trace` their tasks have failed."""

    def connector_status(self, name: str) -> ConnectorStateInfo:
        kind = self.connector_info(name).type
        target = self.states.get(name, TargetState.STARTED)
        state = "RUNNING" if target is TargetState.STARTED else target.value
        task = TaskState(0, "FAILED" if self.trace else state, "h:8083", self.trace, None)
        tasks = () if target is TargetState.STOPPED else (task,)
        return ConnectorStateInfo(name, ConnectorState(state, "h:8083", None, "1.0"), tasks, kind)

    def change_offsets(self, name: str, change: OffsetsChange) -> Future[OffsetsChanged]:
        if self.states.get(name) is not TargetState.STOPPED:
            raise BadRequestError(f"Connector {name} must be STOPPED")
        changed = super().change_offsets(name, change)
        kept = {str(each.partition): each for each in self.offsets.get(name, ())}
        kept = {} if change.offsets is None else kept | {str(each.partition): each for each in change.offsets}
        self.offsets[name] = tuple(each for each in kept.values() if each.offset is not None)
        return changed

    def connector_health(self, names: Sequence[str]) -> Future[Mapping[str, Any]]:
        verdict, why = ("failed", "Task 0 has FAILED.") if self.trace else ("healthy", "It runs.")
        part = {"state": "RUNNING", "worker_id": "h:8083", "verdict": "healthy", "why": "It runs."}
        health = {"verdict": verdict, "why": why, "connector": part, "tasks": []}
        return self._answer({name: {"name": name, **health} for name in names})


class Commands:
    """Runs `headrace`, with the address of the server in the environment."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.environment = {"HEADRACE_URL": url}

    def run(self, *args: str, input: str | None = None) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, list(args), input=input, env=self.environment)
        return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Cluster, str]]:
    herder = Cluster()
    with serving(create_app(herder, request_timeout=5)) as url:
        yield herder, url


@pytest.fixture
def cluster(server: tuple[Cluster, str]) -> Cluster:
    """The herder, with the connector "orders", which runs."""
    server[0].reset()
    server[0].configs = {"orders": {"name": "orders", "connector.class": "FileStreamSource", "topic": "t"}}
    return server[0]


@pytest.fixture(autouse=True)
def contexts_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the user's file of contexts, which does not exist."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("HEADRACE_URL", raising=False)
    monkeypatch.setattr(waiting, "PACE", waiting.Pace(interval=0.01, settled=0.05))
    return tmp_path / "config" / "headrace" / "config.toml"


@pytest.fixture
def commands(cluster: Cluster, server: tuple[Cluster, str]) -> Commands:
    return Commands(server[1])
