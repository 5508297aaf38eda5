# SPDX-License-Identifier: Apache-2.0
"""A herder in memory, and a real server over it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import trustme
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.config.worker_config import WorkerConfig
from headrace.herder.config_infos import ConfigInfo, ConfigInfos, ConfigKeyInfo, ConfigValueInfo
from headrace.herder.errors import AlreadyExistsError, NotFoundError
from headrace.herder.herder import PutResult
from headrace.metrics.figures import Startups, WorkerFigures
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorOffset,
    ConnectorState,
    ConnectorStateInfo,
    OffsetBounds,
    OffsetDifference,
    OffsetsChange,
    OffsetsChanged,
    PluginInfo,
    ServerInfo,
    SparkAttempt,
    SparkCores,
    TaskInfo,
    TaskState,
    WorkerInfo,
    WorkersInfo,
)
from headrace.model.state import TargetState
from headrace.plugins.discovery import Plugins
from headrace.rest.access.assembly import WorkersAccess
from headrace.rest.app import Monitoring, create_app
from headrace.rest.rest_extensions import RestExtensions
from headrace.rest.server.endpoints import Endpoints
from headrace.rest.server.listeners import BoundListeners
from headrace.rest.server.rest_server import RestServer
from headrace.rest.worker_api import worker_api

KEY = ConfigKeyInfo("size", "INT", False, "1", "LOW", "How big.", "G", 1, "SHORT", "Size", ("b",))


class InMemoryHerder:
    """Keeps connectors in a dict. `error` fails the next request, `hangs` leaves all of them without an answer."""

    def __init__(self) -> None:
        self._revisions = itertools.count()
        """Always another one: whatever a test changes is looked for."""
        self.reset()

    def reset(self) -> None:
        self.configs: dict[str, dict[str, str | None]] = {}
        self.spark: dict[int, SparkAttempt] = {}
        self.states: dict[str, TargetState] = {}
        self.offsets: dict[str, tuple[ConnectorOffset, ...]] = {}
        self.bounds: dict[str, OffsetBounds] = {}
        self.error: Exception | None = None
        self.hangs = False
        self.trouble: str | None = None
        self.died: BaseException | None = None
        self.trace: str | None = None
        self.asked: object = None
        """What the last request of a kind that changes nothing here was about."""
        self.started = True
        self.levels: list[tuple[str, str]] = []
        """Of loggers, for the whole cluster."""
        self.validated: tuple[str, Mapping[str, str | None]] | None = None

    def start(self) -> None: ...

    def stop(self, timeout: float) -> None: ...

    def failure(self) -> BaseException | None:
        return self.died

    def stage(self) -> str:
        return "waiting for task_configs of connector x since 12 s"

    def has_started(self) -> bool:
        return self.started

    def health_check(self) -> Future[None]:
        return self._answer(None)

    def figures(self) -> WorkerFigures:
        return WorkerFigures(connector_startups=Startups(len(self.configs)))

    def put_logger_level(self, logger: str, level: str) -> Future[None]:
        self.levels.append((logger, level))
        return self._answer(None)

    def server_info(self) -> ServerInfo:
        return ServerInfo("4.3.1", "abc", "cluster", "0.1.0")

    def connectors(self) -> tuple[str, ...]:
        return tuple(sorted(self.configs))

    def revision(self) -> tuple[int, int]:
        return next(self._revisions), 0

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

    def spark_attempts(self, name: str) -> Future[Mapping[int, SparkAttempt]]:
        return self._answer(dict(self.spark))

    def connector_health(self, names: Sequence[str]) -> Future[Mapping[str, Any]]:
        return self._answer({name: {"name": name, "why": self.trace} for name in names})

    def connector_history(self, name: str | None) -> Future[Any]:
        return self._answer({"of": name, "lag": [None, 1.5]})

    def workers(self) -> Future[WorkersInfo]:
        cores = SparkCores(1, 4, 2)
        found = WorkerInfo("h:8083", "http://h:8083/", "0.1.0", 1700000000000, 1, 2, cores, 1000, 0.5, 8, 40, 2, True)
        return self._answer(WorkersInfo("h:8083", 42, (found,), {"g:8083": "has not answered"}))

    def active_topics(self, name: str) -> tuple[str, ...]:
        if self.error is not None:
            raise self.error
        return ("a", "b") if name in self.configs else ()

    def reset_active_topics(self, name: str) -> None:
        if self.error is not None:
            raise self.error

    def connector_plugins(self, connectors_only: bool = True) -> tuple[PluginInfo, ...]:
        self.asked = connectors_only
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

    def offset_bounds(self, name: str) -> Future[OffsetBounds | None]:
        return self._answer(self.bounds.get(name))

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


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Serve an app at a port that is free, and return its URL."""
    listeners = BoundListeners.bind(["http://127.0.0.1:0"])
    server = RestServer(app, listeners)
    server.start()
    try:
        yield listeners.local_url
    finally:
        server.stop()


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[InMemoryHerder, httpx2.Client]]:
    """One server for all tests: starting and stopping it is most of the time of a test."""
    herder = InMemoryHerder()
    app = create_app(herder, request_timeout=0.3, monitoring=Monitoring(engine_failure=lambda: herder.trouble))
    with serving(app) as url, httpx2.Client(base_url=url, timeout=10) as http:
        yield herder, http


@pytest.fixture
def herder(served: tuple[InMemoryHerder, httpx2.Client]) -> InMemoryHerder:
    served[0].reset()
    return served[0]


@pytest.fixture
def client(herder: InMemoryHerder, served: tuple[InMemoryHerder, httpx2.Client]) -> httpx2.Client:
    return served[1]


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with what it was asked."""
    request = Request(scope, receive)
    body = await request.body()
    said = {"method": request.method, "path": request.url.path, "scheme": request.url.scheme, "size": len(body)}
    await JSONResponse(said)(scope, receive, send)


class ServedApi:
    """The API of a worker with some properties, over real sockets."""

    def __init__(
        self,
        properties: Mapping[str, str],
        make_app: Callable[[Endpoints], ASGIApp],
        herder: InMemoryHerder,
        make_access: Callable[[WorkerConfig], WorkersAccess] = WorkersAccess,
    ) -> None:
        needed = {"bootstrap.servers": "b:1", "key.converter": "StringConverter", "value.converter": "StringConverter"}
        config = WorkerConfig({**needed, "listeners": "http://127.0.0.1:0", **properties})
        extensions = RestExtensions(config, Plugins())
        self.endpoints = Endpoints.open(config)
        extensions.register(herder)
        self._server = worker_api(make_app(self.endpoints), self.endpoints, config, extensions, make_access(config))
        self._server.start()
        listeners = [each.listener for each in self.endpoints.listeners.bound]
        self.urls = [f"{listener.scheme}://{listener.host}:{listener.port}" for listener in listeners]
        self.url = self.urls[0]

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture
def serve_api() -> Iterator[Callable[..., ServedApi]]:
    """Serves ``echo``, or what `make_app` makes, as a worker with such properties would; until the test has ended."""
    served: list[ServedApi] = []

    def serve(
        properties: Mapping[str, str],
        make_app: Callable[[Endpoints], ASGIApp] = lambda endpoints: echo,
        herder: InMemoryHerder | None = None,
        make_access: Callable[[WorkerConfig], WorkersAccess] = WorkersAccess,
    ) -> ServedApi:
        served.append(ServedApi(properties, make_app, herder or InMemoryHerder(), make_access))
        return served[-1]

    yield serve
    for each in served:
        each.stop()


@dataclass(frozen=True)
class Certificates:
    """Files of a test's own authority; each of a worker's or client's holds its key and its certificates."""

    ca: str
    worker: str
    client: str
    elsewhere: str
    """A certificate of another host."""
    vera: str
    """A client's, with the common name vera."""
    strangers: str
    """One of another authority."""


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    directory = tmp_path_factory.mktemp("certificates")
    authority, other = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(directory / "ca.pem")

    def issued(ca: trustme.CA, name: str, *identities: str) -> str:
        ca.issue_cert(*identities).private_key_and_cert_chain_pem.write_to_path(directory / name)
        return str(directory / name)

    def named(file: str, common_name: str) -> str:
        cert = authority.issue_cert("someone@example.org", common_name=common_name)
        cert.private_key_and_cert_chain_pem.write_to_path(directory / file)
        return str(directory / file)

    return Certificates(
        str(directory / "ca.pem"),
        issued(authority, "worker.pem", "127.0.0.1"),
        issued(authority, "client.pem", "client@example.org"),
        issued(authority, "elsewhere.pem", "elsewhere.example.org"),
        named("vera.pem", "vera"),
        issued(other, "strangers.pem", "127.0.0.1"),
    )
