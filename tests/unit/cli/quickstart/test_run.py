# SPDX-License-Identifier: Apache-2.0
"""The steps of a quickstart, with services in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headrace.api.errors import ConnectError
from headrace.cli.quickstart import run as run_module
from headrace.cli.quickstart.connector_pair import orders_to_parquet
from headrace.cli.quickstart.observation import Observation
from headrace.cli.quickstart.run import Limits, Run

VERDICTS = {"orders": "healthy", "orders-to-parquet": "healthy"}


class Rows:
    """A row more each time that it is looked."""

    def __init__(self, begin: int = 0, step: int = 1) -> None:
        self.rows, self.step = begin, step

    def count(self) -> int:
        self.rows += self.step
        return self.rows - self.step

    def column(self, name: str) -> Any:
        return np.arange(self.rows)


class Services:
    def __init__(self, records: int = 9) -> None:
        self.records = SimpleNamespace(count=lambda: records, offsets_to_end=lambda seconds: np.arange(records))
        self.verdicts = dict(VERDICTS)
        self.stopped: list[str] = []
        self.ended = False

    def check(self) -> None:
        if self.ended:
            raise ConnectError("The broker has ended")

    def metrics(self) -> str:
        return ""

    def ask(self, *segments: str, **params: Any) -> Any:
        if segments == ("connectors",):
            return {
                name: {"health": {"verdict": one, "why": "the disk is full"}} for name, one in self.verdicts.items()
            }
        return {"connector": {"state": "STOPPED" if self.stopped else "RUNNING"}, "tasks": []}

    def stop_connector(self, name: str) -> None:
        self.stopped.append(name)


class View:
    def __init__(self) -> None:
        self.steps: list[str] = []
        self.seen: list[Observation] = []

    def wait(self, what: str) -> None: ...

    def done(self, what: str, seconds: float) -> None:
        self.steps.append(what)

    def count(self, seen: Observation, seconds: float) -> None:
        self.seen.append(seen)

    def say(self, lines: Sequence[str]) -> None: ...

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Time passes where it is waited for."""
    now = SimpleNamespace(time=0.0)

    def sleep(seconds: float) -> None:
        now.time += seconds

    monkeypatch.setattr(run_module, "time", SimpleNamespace(sleep=sleep))
    yield now


def run_of(services: Services, rows: Rows, view: View, clock: SimpleNamespace) -> Run:
    pair = orders_to_parquet(Path("/out"), 20, None)
    return Run(services, pair, rows, view, lambda: clock.time)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limits", "rows", "seconds"),
    [
        (Limits(records=3), 3, 1.5),
        (Limits(seconds=2), 5, 2.5),  # since the first row, which is there after half a second
        (Limits(seconds=2, records=3), 3, 1.5),
        (Limits(seconds=0), 1, 0.5),
    ],
)
def test_copying_ends_at_a_limit(limits: Limits, rows: int, seconds: float, clock: SimpleNamespace) -> None:
    view = View()
    run_of(Services(), Rows(), view, clock).copy(limits)
    assert (view.seen[-1].rows, clock.time) == (rows, seconds)
    assert view.steps == ["first record in topic orders", "first row in Parquet after 0 s"]


def test_a_failed_connector_ends_it(clock: SimpleNamespace) -> None:
    services = Services()
    services.verdicts["orders-to-parquet"] = "failed"
    with pytest.raises(ConnectError, match="orders-to-parquet has failed: the disk is full"):
        run_of(services, Rows(), View(), clock).copy(Limits())


def test_a_process_that_has_ended_ends_it(clock: SimpleNamespace) -> None:
    services = Services()
    services.ended = True
    with pytest.raises(ConnectError, match="The broker has ended"):
        run_of(services, Rows(), View(), clock).copy(Limits())


def test_all_is_counted_once_the_source_has_stopped_and_the_sink_has_written(clock: SimpleNamespace) -> None:
    services = Services(records=4)
    comparison = run_of(services, Rows(2), View(), clock).compare()
    assert services.stopped == ["orders"]
    assert (comparison.records, comparison.missing, comparison.duplicates) == (4, 0, 0)
    assert comparison.rows >= 4


def test_rows_that_do_not_come_are_an_error(clock: SimpleNamespace) -> None:
    with pytest.raises(ConnectError, match="Waited 60 s for all rows in Parquet"):
        run_of(Services(records=4), Rows(3, step=0), View(), clock).compare()
