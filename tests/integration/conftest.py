# SPDX-License-Identifier: Apache-2.0
"""Every test below needs the real broker or a real Spark session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from typer.testing import CliRunner

from bench.engines import Engine, Headrace
from bench.java_connect import fetch
from faults.proxy import Proxy
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.broker.free_port import free_port
from headrace.cli.main import app
from headrace.plugins.discovery import Plugins
from headrace.rest.app import create_app
from headrace.rest.rest_extensions import RestExtensions
from headrace.rest.server.endpoints import Endpoints
from headrace.rest.worker_api import worker_api
from tests.integration.quick_java import QuickJavaConnect
from tests.support.acls import LENIENT
from tests.support.debian import or_skip
from tests.support.group_of_workers import Cluster
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

Run = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def idle_api(broker: EmbeddedBroker) -> Iterator[httpx2.Client]:
    """The whole REST API of a worker in this process, over a real herder. Its tasks do nothing, so they cost nothing.

    A request that takes longer than 10 s fails, and then some more and the client gives up.
    """
    cluster = Cluster(broker.bootstrap_servers, listeners="http://127.0.0.1:0")
    endpoints = Endpoints.open(cluster.config)
    herder = cluster.start(endpoints.advertised_url)
    api = create_app(herder, request_timeout=10.0)
    server = worker_api(api, endpoints, cluster.config, RestExtensions(cluster.config, Plugins()))
    server.start()
    try:
        with httpx2.Client(base_url=endpoints.listeners.local_url, timeout=15.0) as client:
            wait_for(lambda: client.get("/connectors").status_code == 200, 30, "the worker's start")
            yield client
    finally:
        server.stop()
        cluster.stop()


@pytest.fixture
def cluster(broker: EmbeddedBroker) -> Iterator[Cluster]:
    """Workers without an engine, which the test starts."""
    made = Cluster(broker.bootstrap_servers)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedBroker]:
    """A broker that lets everybody do what no ACL is about."""
    with EmbeddedBroker(port=0, properties=LENIENT, jvm_options=QUICK_START_JVM_OPTIONS) as running:
        yield running


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[EmbeddedBroker]:
    """Another Kafka cluster."""
    with EmbeddedBroker(port=0, jvm_options=QUICK_START_JVM_OPTIONS) as running:
        yield running


@pytest.fixture(scope="module")
def behind() -> Iterator[tuple[Proxy, EmbeddedBroker]]:
    """A proxy, and the broker that sends its clients to it."""
    port = free_port()
    with (
        Proxy(port) as proxy,
        EmbeddedBroker(port=0, jvm_options=QUICK_START_JVM_OPTIONS, proxies={port: proxy.port}) as broker,
    ):
        yield proxy, broker


@pytest.fixture(scope="module", params=[Headrace, QuickJavaConnect], ids=lambda kind: kind.name)
def shared_engine(
    request: pytest.FixtureRequest, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """A worker of headrace, and one of Java Kafka Connect."""
    kind: type[Engine] = request.param
    if kind is QuickJavaConnect:
        or_skip(fetch)
    directory = tmp_path_factory.mktemp(kind.name)
    with kind(broker.bootstrap_servers, directory, group=f"cli-{os.getpid()}-{directory.name}") as running:
        yield running


@pytest.fixture
def engine(shared_engine: Engine) -> Iterator[Engine]:
    """The same; no other test's connectors are there."""
    rest = shared_engine.rest
    yield shared_engine
    for name in rest.get("/connectors") or ():
        rest.remove(name)
    wait_for(lambda: rest.get("/connectors") == [], 60, lambda: f"no connectors: {rest.get('/connectors')}")


@pytest.fixture
def run(engine: Engine, tmp_path: Path) -> Run:
    """Runs a command that has to exit with `code`; returns its stdout, or its stderr if that is not 0."""

    def run(*args: str, code: int = 0) -> str:
        environment = {"HEADRACE_URL": engine.rest.url, "XDG_CONFIG_HOME": str(tmp_path)}
        result = CliRunner().invoke(app, list(args), env=environment)
        assert result.exit_code == code, (args, result.stdout, result.stderr)
        return result.stderr if code else result.stdout

    return run


@pytest.fixture(scope="module")
def previewing(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker that leads its group, with a secret in a file."""
    directory = tmp_path_factory.mktemp("previews")
    (directory / "secrets.properties").write_text("token=open-sesame\n")
    properties = {
        "group.id": "previews",
        "config.providers": "file",
        "config.providers.file.class": "FileConfigProvider",
    }
    with WorkerProcess(directory, broker.bootstrap_servers, **properties) as running:
        running.await_answer(path="/connectors")
        # It leads its group, and has written what it writes once.
        wait_for(lambda: running.rest.put("/connectors/none/pause").status_code == 404, 60, "the worker to lead")
        yield running
