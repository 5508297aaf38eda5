# SPDX-License-Identifier: Apache-2.0
"""What all tests of a process share: one broker and one worker, with its one Spark session, for the whole run."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpcore2
import httpx2
import pytest

from headrace.api import protected_files
from headrace.api.errors import ConfigError
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from tests import tiers
from tests.console.browser import found_chromium
from tests.support.debian import or_skip
from tests.support.postgres import H2, Postgres, fetched_driver, found_postgres, h2_url
from tests.support.worker_process import WorkerProcess, once_settled

_numbers = itertools.count()
QUICK_GROUPS = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}
"""A broker's properties: consumers may ask for short sessions, and those of the new protocol soon learn of others."""
QUICK_ABORTS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
"""What a killed task leaves open is ended at its time-out, not up to ten seconds later."""
NO_RETENTION = {"log.initial.task.delay.ms": str(24 * 3600 * 1000)}
"""Else a broker that has run for half a minute deletes records with the timestamps of former years."""
# Processes that are started inherit that SIGINT is ignored, as it is where a shell runs the tests in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Each client would read anew all certificates that the machine trusts, which takes longer than most requests.
httpcore2.default_ssl_context = functools.cache(httpcore2.default_ssl_context)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Tests and their modules stay until the end: nothing is gained by looking whether they are garbage."""
    gc.disable()
    result = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return result


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True for a file without a test of the tier that is run, else None: pytest decides."""
    return tiers.has_none(collection_path, config.option.markexpr) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[tiers.UNKNOWN] = tiers.unknown(items)
    tiers.sort(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What has to be installed is installed now: it can take longer than a test may."""
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    if "browser" in wanted and not session.config.option.collectonly:
        with suppress(ConfigError):  # likewise
            found_chromium()
    if "postgres" in wanted and not session.config.option.collectonly:
        with suppress(ConfigError):  # its tests skip themselves, and say why
            found_postgres()


@pytest.fixture(scope="session")
def broker() -> Iterator[EmbeddedBroker]:
    """The one broker of the run; a test that stops it starts it again, or uses one of its own."""
    properties = QUICK_GROUPS | QUICK_ABORTS | NO_RETENTION
    with EmbeddedBroker(port=0, properties=properties, jvm_options=QUICK_START_JVM_OPTIONS) as running:
        yield running


@pytest.fixture(scope="session")
def worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """An exactly-once worker that lives as long as the run."""
    with WorkerProcess(tmp_path_factory.mktemp("worker"), broker.bootstrap_servers) as running:
        running.await_answer(path="/connectors")  # before, while it starts, it is 503
        yield running


@pytest.fixture(scope="session")
def at_least_once_worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker whose sources are not exactly-once, in a group of its own."""
    properties = {"group.id": "headrace-at-least-once", "exactly.once.source.support": "disabled"}
    with WorkerProcess(tmp_path_factory.mktemp("at-least-once"), broker.bootstrap_servers, **properties) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """A connector that a test leaves with a shared worker would take the next one's time, and its blows."""
    real = {mark.name for mark in request.node.iter_markers()} & {"integration", "faults"}
    names = ("worker", "at_least_once_worker", "jdbc_worker")
    shared = [name for name in names if real and name in request.fixturenames]
    workers = [each for each in map(request.getfixturevalue, shared) if isinstance(each, WorkerProcess)]
    before = [worker.connectors() for worker in workers]
    yield
    for worker, names in zip(workers, before, strict=True):
        for name in worker.connectors() - names:
            with suppress(httpx2.HTTPError, AssertionError):
                once_settled(lambda worker=worker, name=name: worker.rest.delete(f"/connectors/{name}"))  # type: ignore[misc]


@pytest.fixture(autouse=True)
def no_files_stay_protected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that a test has in this process protects its files from all that runs in it."""
    monkeypatch.setattr(protected_files, "_protected", protected_files._protected)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The one PostgreSQL of the run; a test that kills it starts it again."""
    with Postgres(or_skip(found_postgres)) as running:
        yield running


@pytest.fixture(scope="session")
def jdbc_worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """An exactly-once worker, as `worker`, in a group of its own, whose Spark has the drivers of PostgreSQL and H2."""
    jars = {"group.id": "headrace-jdbc-tests", "spark.jars": or_skip(lambda: fetched_driver(H2))}
    jars["spark.jdbc.urls.allowed"] = f"jdbc:postgresql:*,jdbc:mysql:*,{h2_url('*', Path('*'))}"
    with WorkerProcess(tmp_path_factory.mktemp("jdbc-worker"), broker.bootstrap_servers, **jars) as running:
        yield running


@pytest.fixture
def unique() -> str:
    """A name for topics and connectors that no other test has."""
    return f"t{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def own_worker(broker: EmbeddedBroker, tmp_path: Path, unique: str) -> Iterator[WorkerProcess]:
    """A worker of the test's own to kill, in a group of its own; the test starts it."""
    process = WorkerProcess(tmp_path, broker.bootstrap_servers, **{"group.id": f"group-{unique}"})
    try:
        yield process
    finally:
        process.close()
