# SPDX-License-Identifier: Apache-2.0
"""Statuses have the generation in which a connector or task was this worker's, however late they are written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from headrace.herder.core.herder_actions import StartConnector, StartTask
from headrace.herder.engine.action_runner import ActionRunner
from headrace.herder.engine.herder_services import HerderServices
from headrace.herder.engine.statuses import StatusReporter
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.storage.memory_status_backing_store import MemoryStatusBackingStore
from headrace.worker.stages import Stages

TASK = ConnectorTaskId("c", 0)


class Group:
    generation = 3


@pytest.fixture
def group() -> Group:
    return Group()


@pytest.fixture
def store() -> MemoryStatusBackingStore:
    return MemoryStatusBackingStore(lambda keys: None)


@pytest.fixture
def statuses(group: Group, store: MemoryStatusBackingStore) -> StatusReporter:
    return StatusReporter(store, "w:1", lambda: group.generation)


@pytest.fixture
def runner(statuses: StatusReporter) -> Iterator[ActionRunner]:
    worker = SimpleNamespace(start_task=lambda *start: None, start_connector=lambda *start: Future())
    services = HerderServices(worker, None, None, statuses, None, None, Stages(time.monotonic))  # type: ignore[arg-type]
    made = ActionRunner(services, None, None, time.monotonic)  # type: ignore[arg-type]
    yield made
    made.close()


def test_what_was_lost_before_it_ran_ends_in_the_generation_of_its_start(
    group: Group, store: MemoryStatusBackingStore, statuses: StatusReporter, runner: ActionRunner
) -> None:
    """A process can stand still while its worker's session ends, others start the task, and the worker comes back."""
    runner.perform(StartTask(TASK, {}, {}, TargetState.STARTED))
    runner.perform(StartConnector("c", {}, TargetState.STARTED))
    group.generation = 9
    statuses.on_shutdown(TASK)
    statuses.on_failure("c", "late")
    task, connector = store.task(TASK), store.connector("c")
    assert task is not None and connector is not None
    assert (task.generation, connector.generation) == (3, 3)
