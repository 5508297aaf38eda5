# SPDX-License-Identifier: Apache-2.0
"""The samples of `make soak` show a connector that leaks, and its operators get what they ask for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from faults.cluster import NAME
from headrace.broker.embedded_broker import EmbeddedBroker
from soak.growth import Growth, Sample, growths
from soak.measure import MEASURABLE, load_of, measured
from soak.operators import Operators
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

STARTS = 20


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def measured_worker(
    broker: EmbeddedBroker, temporary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(tmp_path_factory.mktemp("soak"), broker.bootstrap_servers, **{"group.id": "soak-test"})
    worker.environment["TMPDIR"] = str(temporary)
    try:
        worker.start(90, "/connectors")
        yield worker
    finally:
        worker.close()


def test_operators_leave_nothing_behind(measured_worker: WorkerProcess, tmp_path: Path) -> None:
    measured_worker.create(NAME, **{"connector.class": "leaking_source.LeakingSource", "leak": "false"})
    measured_worker.wait_for_tasks(NAME)
    over = threading.Event()
    operators = Operators(SimpleNamespace(workers=[measured_worker]), tmp_path, 0, 0.1)  # type: ignore[arg-type]
    thread = threading.Thread(target=operators.run, args=(over,))
    thread.start()
    try:
        wait_for(lambda: operators.done["read offsets"] or operators.problems, 60, lambda: f"a life: {operators.done}")
    finally:
        over.set()
        thread.join()
    assert operators.problems == []
    assert measured_worker.connectors() == {NAME}
    assert list(tmp_path.iterdir()) == []
    measured_worker.delete(NAME)


def test_a_connector_that_leaks_a_descriptor_with_each_start_is_found(
    measured_worker: WorkerProcess, temporary: Path, unique: str
) -> None:
    tidy = descriptors(measured_worker, temporary, f"{unique}-tidy", "false")
    assert tidy.right, tidy
    leaking = descriptors(measured_worker, temporary, f"{unique}-leaking", "true")
    assert not leaking.right
    assert leaking.amount == pytest.approx(0.8 * STARTS, abs=3)


def descriptors(worker: WorkerProcess, temporary: Path, name: str, leak: str) -> Growth:
    """Return the growth of the worker's descriptors over some starts of a connector."""
    worker.create(name, **{"connector.class": "leaking_source.LeakingSource", "leak": leak})
    worker.wait_for_tasks(name)
    samples = []
    for number in range(STARTS):
        assert worker.rest.post(f"/connectors/{name}/restart").status_code in (202, 204)
        wait_for(lambda: worker.status(name)["connector"]["state"] == "RUNNING", 30, "the connector to run again")
        samples.append(Sample(number, load_of(worker), measured(worker, temporary)))
    worker.delete(name)
    return next(one for one in growths(samples, MEASURABLE) if one.limit.name == "worker_fds")
