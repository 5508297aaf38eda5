# SPDX-License-Identifier: Apache-2.0
"""A herder in memory, and a real server over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any

import httpx2
import pytest

from headrace.herder.config_infos import ConfigInfo, ConfigInfos, ConfigKeyInfo, ConfigValueInfo
from headrace.herder.errors import AlreadyExistsError, NotFoundError
from headrace.herder.herder import PutResult
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorOffset,
    ConnectorState,
    ConnectorStateInfo,
    PluginInfo,
    ServerInfo,
    TaskInfo,
    TaskState,
)
from headrace.model.offsets import OffsetDifference, OffsetsChange, OffsetsChanged
from headrace.model.state import TargetState
from headrace.rest.app import create_app
from headrace.rest.listeners import BoundListeners
from headrace.rest.server import RestServer

KEY = ConfigKeyInfo("size", "INT", False, "1", "LOW", "How big.", "G", 1, "SHORT", "Size", ("b",))


class InMemoryHerder:
    """Keeps connectors in a dict. `error` fails the next request, `hangs` leaves all of them without an answer."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.configs: dict[str, dict[str, str | None]] = {}
        self.states: dict[str, TargetState] = {}
        self.offsets: dict[str, tuple[ConnectorOffset, ...]] = {}
        self.error: Exception | None = None
        self.hangs = False
        self.died: BaseException | None = None
        self.trace: str | None = None
        self.asked: object = None
        """What the last request of a kind that changes nothing here was about."""
        self.validated: tuple[str, Mapping[str, str | None]] | None = None

    def start(self) -> None: ...

    def stop(self, timeout: float) -> None: ...

    def failure(self) -> BaseException | None:
        return self.died

    def stage(self) -> str:
        return "waiting for task_configs of connector x since 12 s"

    def server_info(self) -> ServerInfo:
        return ServerInfo("0.1.0", "abc", "cluster")

    def connectors(self) -> tuple[str, ...]:
        return tuple(sorted(self.configs))

    def connector_info(self, name: str) -> ConnectorInfo:
        if self.error is not None:
            raise self.error
        if name not in self.configs:
            raise NotFoundError(f"Connector {name} not found")
        return ConnectorInfo(name, self.configs[name], (ConnectorTaskId(name, 0),), "source")

    def connector_status(self, name: str) -> ConnectorStateInfo:
        self.connector_info(name)
        task = TaskState(0, "FAILED" if self.trace else "RUNNING", "h:8083", self.trace, None)
        return ConnectorStateInfo(name, ConnectorState("RUNNING", "h:8083", None, "1.0"), (task,), "source")

    def task_infos(self, name: str) -> tuple[TaskInfo, ...]:
        return (TaskInfo(ConnectorTaskId(name, 0), self.connector_info(name).config),)

    def task_status(self, id: ConnectorTaskId) -> TaskState:
        if id.task > 0:
            raise NotFoundError(f"No status found for task {id}")
        return self.connector_status(id.connector).tasks[0]

    def active_topics(self, name: str) -> tuple[str, ...]:
        if self.error is not None:
            raise self.error
        return ("a", "b") if name in self.configs else ()

    def reset_active_topics(self, name: str) -> None:
        if self.error is not None:
            raise self.error

    def connector_plugins(self) -> tuple[PluginInfo, ...]:
        return (PluginInfo("a.B", "source", "1.0"), PluginInfo("c.D", "sink", None))

    def connector_plugin_config(self, plugin: str) -> Future[tuple[ConfigKeyInfo, ...]]:
        if plugin != "a.B":
            return self._answer(NotFoundError(f"Unknown plugin {plugin}."))
        return self._answer((KEY,))

    def validate_connector_config(self, plugin: str, config: Mapping[str, str | None]) -> Future[ConfigInfos]:
        self.validated = (plugin, config)
        value = ConfigValueInfo("size", "x", ("1",), ("too big",), True)
        return self._answer(ConfigInfos.of("a.B", ("G",), (ConfigInfo(KEY, value), ConfigInfo(None, None))))

    def put_connector_config(
        self,
        name: str,
        config: Mapping[str, str | None],
        *,
        target_state: TargetState | None,
        allow_replace: bool,
    ) -> Future[PutResult]:
        created = name not in self.configs
        if not created and not allow_replace:
            return self._answer(AlreadyExistsError(f"Connector {name} already exists"))
        self.configs[name] = dict(config)
        self.states[name] = target_state or TargetState.STARTED
        return self._answer(PutResult(created, ConnectorInfo(name, config, (), "source")))

    def patch_connector_config(self, name: str, patch: Mapping[str, str | None]) -> Future[PutResult]:
        if name not in self.configs:
            return self._answer(NotFoundError(f"Connector {name} not found"))
        merged = {key: text for key, text in {**self.configs[name], **patch}.items() if text is not None}
        return self.put_connector_config(name, merged, target_state=None, allow_replace=True)

    def delete_connector(self, name: str, *, with_offsets: bool = False) -> Future[None]:
        self.asked = with_offsets
        if name not in self.configs:
            return self._answer(NotFoundError(f"Connector {name} not found"))
        del self.configs[name]
        return self._answer(None)

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        if name not in self.configs:
            return self._answer(NotFoundError(f"Unknown connector {name}"))
        self.states[name] = state
        return self._answer(None)

    def restart_connector(self, name: str, *, only_failed: bool, include_tasks: bool) -> Future[ConnectorStateInfo]:
        self.asked = (only_failed, include_tasks)
        return self._answer(self.connector_status(name))

    def restart_task(self, id: ConnectorTaskId) -> Future[None]:
        self.asked = id
        return self._answer(None)

    def change_offsets(self, name: str, change: OffsetsChange) -> Future[OffsetsChanged]:
        self.asked = (name, change)
        difference = OffsetDifference({"filename": "f"}, {"position": 3}, None)
        return self._answer(OffsetsChanged("The offsets are others now", (difference,)))

    def connector_offsets(self, name: str) -> Future[tuple[ConnectorOffset, ...]]:
        return self._answer(self.offsets.get(name, ()))

    def _answer(self, result: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.hangs:
            return future
        result = self.error or result
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
        return future


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[InMemoryHerder, httpx2.Client]]:
    """One server for all tests: starting and stopping it is most of the time of a test."""
    herder = InMemoryHerder()
    listeners = BoundListeners.bind(["http://127.0.0.1:0"])
    server = RestServer(create_app(herder, request_timeout=0.3), listeners)
    server.start()
    with httpx2.Client(base_url=listeners.local_url, timeout=10) as http:
        yield herder, http
    server.stop()


@pytest.fixture
def herder(served: tuple[InMemoryHerder, httpx2.Client]) -> InMemoryHerder:
    served[0].reset()
    return served[0]


@pytest.fixture
def client(herder: InMemoryHerder, served: tuple[InMemoryHerder, httpx2.Client]) -> httpx2.Client:
    return served[1]
