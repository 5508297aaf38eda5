# SPDX-License-Identifier: Apache-2.0
"""The commands on files of connectors against a real server, whose herder is in memory and validates for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from headrace.api.config_def import ConfigDef, Type
from headrace.api.connector import Task
from headrace.api.source import SourceConnector
from headrace.cli.ctl import waiting
from headrace.config.distributed_config import DistributedConfig
from headrace.herder.config_infos import ConfigInfos
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.herder import PutResult
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorInfo
from headrace.model.state import TargetState
from headrace.plugins.discovery import Plugins
from headrace.rest.app import create_app
from tests.unit.cli.ctl.conftest import Cluster, Commands
from tests.unit.rest.conftest import serving

WORKER = {
    "group.id": "g",
    **{f"{kind}.storage.topic": kind for kind in ("config", "offset", "status")},
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
}
SOURCE = "FileStreamSource"


class Database(SourceConnector):
    """A source with a secret that has no secret's name."""

    def config(self) -> ConfigDef:
        return ConfigDef().define("pin", Type.PASSWORD, None).define("topic", Type.STRING, "t")

    def start(self, props: Mapping[str, str]) -> None: ...

    def stop(self) -> None: ...

    def task_class(self) -> type[Task]:
        raise NotImplementedError

    def task_configs(self, max_tasks: int) -> list[Mapping[str, str]]:
        return []


class MorePlugins(Plugins):
    def connector(self, name: str, property: str = "connector.class") -> Any:
        return Database if name == "Database" else super().connector(name, property)


class PlanCluster(Cluster):
    """Keeps target states of connectors that are changed; ``refused`` is the connector that cannot be changed."""

    validator = ConnectorValidator(DistributedConfig(WORKER), MorePlugins())

    def reset(self) -> None:
        super().reset()
        self.refused: str | None = None
        self.broken: set[str] = set()
        self.changes: list[str] = []
        self.before_change: Callable[[str], object] = lambda name: None

    def connector_info(self, name: str) -> ConnectorInfo:
        info = super().connector_info(name)
        kind = "sink" if "Sink" in (info.config.get("connector.class") or "") else "source"
        return ConnectorInfo(name, info.config, (ConnectorTaskId(name, 0),), kind)

    def connector_status(self, name: str) -> Any:
        self.trace = "ConnectError: the disk is gone" if name in self.broken else None
        return super().connector_status(name)

    def connector_health(self, names: Any) -> Future[Mapping[str, Any]]:
        self.trace = None
        return super().connector_health(names)

    def validate_connector_config(self, plugin: str, config: Mapping[str, str | None]) -> Future[ConfigInfos]:
        answer: Future[ConfigInfos] = Future()
        try:
            answer.set_result(self.validator.validate(plugin, config))
        except Exception as error:
            answer.set_exception(error)
        return answer

    def connector_plugin_config(self, plugin: str) -> Future[Any]:
        answer: Future[Any] = Future()
        answer.set_result(self.validator.plugin_config(plugin))
        return answer

    def put_connector_config(
        self, name: str, config: Mapping[str, str | None], *, target_state: TargetState | None, allow_replace: bool
    ) -> Future[PutResult]:
        if name == self.refused:
            refused: Future[PutResult] = Future()
            refused.set_exception(RuntimeError("the topic is gone"))
            return refused
        self.changes.append(name)
        self.before_change(name)
        kept = target_state or self.states.get(name)
        return super().put_connector_config(name, config, target_state=kept, allow_replace=allow_replace)

    def delete_connector(self, name: str, *, with_offsets: bool = False) -> Future[None]:
        self.changes.append(f"-{name}")
        self.states.pop(name, None)
        return super().delete_connector(name, with_offsets=with_offsets)

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        self.changes.append(f"{name}:{state.value}")
        return super().set_target_state(name, state)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[PlanCluster, str]]:
    herder = PlanCluster()
    with serving(create_app(herder, request_timeout=5)) as url:
        yield herder, url


@pytest.fixture
def cluster(server: tuple[PlanCluster, str]) -> PlanCluster:
    """The herder, with the connectors "orders", which runs, and "bills", which is stopped."""
    herder = server[0]
    herder.reset()
    herder.configs = {name: {"name": name, "connector.class": SOURCE, "topic": "t"} for name in ("orders", "bills")}
    herder.states = {"orders": TargetState.STARTED, "bills": TargetState.STOPPED}
    return herder


@pytest.fixture(autouse=True)
def in_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the test's files, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("HEADRACE_URL", raising=False)
    monkeypatch.setattr(waiting, "PACE", waiting.Pace(interval=0.01, settled=0.02))
    return tmp_path


@pytest.fixture
def commands(cluster: PlanCluster, server: tuple[PlanCluster, str]) -> Commands:
    return Commands(server[1])


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], None]:
    """Writes a file of the test's directory."""

    def write(name: str, text: str) -> None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    return write
