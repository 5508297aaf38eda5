# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.logs.loggers import Loggers
from headrace.spark.frames.frame_breaker import BreakerLimits
from headrace.spark.task.shared_processes import SharedProcesses
from headrace.spark.task.task_engines import OwnEngines
from tests.support.polling import wait_for


class Engine(SimpleNamespace):
    """As a SparkEngine that has nothing to do."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory=directory, running=False)

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False


@pytest.fixture
def made() -> dict[str, list[Engine]]:
    return {}


@pytest.fixture
def engines(tmp_path: Path, made: dict[str, list[Engine]]) -> OwnEngines:
    def engine(connector: str, directory: Path) -> Any:
        made.setdefault(connector, []).append(Engine(directory))
        return made[connector][-1]

    shared = SharedProcesses(Loggers(), lambda launch, reason: None)
    return OwnEngines(tmp_path, BreakerLimits(deaths=1), shared, engine)


def test_the_tasks_of_a_connector_share_an_engine_that_ends_with_the_last(
    engines: OwnEngines, made: dict[str, list[Engine]], tmp_path: Path
) -> None:
    first, second, other = (engines.acquire(name) for name in ("a", "a", "b"))
    assert first is second and other is not first
    assert len({path.name for path in tmp_path.iterdir()}) == 2
    engines.release("a")
    assert made["a"][0].running
    engines.release("a")
    wait_for(lambda: not made["a"][0].running and not made["a"][0].directory.exists(), 10, "the end of a's engine")
    assert made["b"][0].running
    assert engines.acquire("a") is not first
    engines.await_stopped()
    assert not any(engine.running for all in made.values() for engine in all)


def test_deaths_count_on_when_an_engine_has_ended(engines: OwnEngines) -> None:
    engine = engines.acquire("a")
    engine.breaker.engine_died("a", object())
    engines.release("a")
    assert engines.acquire("a").breaker.refusal("a") is not None
    assert engines.acquire("b").breaker.refusal("b") is None
    engines.await_stopped()
