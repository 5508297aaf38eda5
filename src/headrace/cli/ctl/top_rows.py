# SPDX-License-Identifier: Apache-2.0
"""The rows of `headrace top`, made of the answer of ``GET /connectors?expand=status&expand=health``. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any, Final

from headrace.cli.ctl.statuses import Json, lag_of, parts


@dataclass(frozen=True, slots=True)
class Row:
    """A connector, or a task of it. None is unknown, as most is of Java's workers. Times are ages in milliseconds."""

    name: str
    state: str | None
    verdict: str | None
    running: tuple[int, int] | None
    """The tasks that run, and all tasks; None of a task."""
    failed: int
    records: float | None
    bytes: float | None
    lag: int | None
    lag_unit: str | None
    errors: int | None
    retries: int | None
    restarts: int | None
    commit: int | None
    stage: str | None
    worker: str | None
    tasks: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums over a cluster's connectors."""

    workers: int
    connectors: int
    tasks: int
    running: int
    failed: int
    records: float | None
    bytes: float | None


class Sort(str, Enum):
    """The values of ``--sort``. Numbers begin with the largest, verdicts with the worst."""

    NAME = "name"
    STATE = "state"
    HEALTH = "health"
    RECORDS = "records"
    BYTES = "bytes"
    LAG = "lag"
    ERRORS = "errors"
    RETRIES = "retries"
    RESTARTS = "restarts"
    COMMIT = "commit"
    STAGE = "stage"
    WORKER = "worker"

    def __str__(self) -> str:
        return self.value


_VERDICTS: Final = ("failed", "stalled", "degraded", "healthy")
_TEXTS: Final = (Sort.STATE, Sort.STAGE, Sort.WORKER)


def rows(answer: Json, patterns: Sequence[str] = ()) -> list[Row]:
    """Return a row for each connector whose name matches one of the patterns, if there are any."""
    named = {name for name in answer if not patterns or any(fnmatchcase(name, each) for each in patterns)}
    return [_connector(name, known) for name, known in answer.items() if name in named and "status" in known]


def totals(found: Iterable[Row]) -> Totals:
    """Return the sums of connectors' rows. A worker that runs nothing is in no row."""
    connectors = list(found)
    workers = {each.worker for row in connectors for each in (row, *row.tasks)}
    tasks = [task for row in connectors for task in row.tasks]
    return Totals(
        workers=len(workers - {None, ""}),
        connectors=len(connectors),
        tasks=len(tasks),
        running=sum(task.state == "RUNNING" for task in tasks),
        failed=sum(task.state == "FAILED" for task in tasks),
        records=_sum(task.records for task in tasks),
        bytes=_sum(task.bytes for task in tasks),
    )


def arranged(found: Iterable[Row], sort: Sort, *, with_tasks: bool) -> list[Row]:
    """Return the rows in order; with tasks each below its connector, in the same order."""
    arranged_rows: list[Row] = []
    for row in _ordered(sorted(found, key=lambda row: row.name), sort):
        arranged_rows.append(row)
        arranged_rows += _ordered(row.tasks, sort) if with_tasks else ()
    return arranged_rows


def _connector(name: str, known: Json) -> Row:
    status, health = known["status"], known.get("health") or {}
    judged = {part: content for part, content in parts(health)} if health else {}
    tasks = tuple(_task(part, content, judged.get(part, {})) for part, content in parts(status) if part != "connector")
    lags = [(task.lag, task.lag_unit) for task in tasks if task.lag is not None]
    units = {unit for _, unit in lags}
    connector = status.get("connector", {})
    return Row(
        name=name,
        state=connector.get("state"),
        verdict=health.get("verdict"),
        running=(sum(task.state == "RUNNING" for task in tasks), len(tasks)),
        failed=sum(task.state == "FAILED" for task in tasks),
        records=_sum(task.records for task in tasks),
        bytes=_sum(task.bytes for task in tasks),
        lag=_sum(lag for lag, _ in lags) if len(units) == 1 else None,
        lag_unit=units.pop() if len(units) == 1 else None,
        errors=_sum(task.errors for task in tasks),
        retries=_sum(task.retries for task in tasks),
        restarts=_sum(task.restarts for task in tasks),
        commit=max((task.commit for task in tasks if task.commit is not None), default=None),
        stage=_stages(task.stage for task in tasks if task.stage),
        worker=connector.get("worker_id"),
        tasks=tasks,
    )


def _task(name: str, status: Json, health: Json) -> Row:
    errors, restarts, lag = health.get("errors") or {}, health.get("restarts") or {}, lag_of(health)
    return Row(
        name=f"  {name}",
        state=status.get("state"),
        verdict=health.get("verdict"),
        running=None,
        failed=0,
        records=health.get("records_per_second"),
        bytes=health.get("bytes_per_second"),
        lag=lag[0] if lag else None,
        lag_unit=lag[1] if lag else None,
        errors=errors.get("errors"),
        retries=errors.get("retries"),
        restarts=restarts.get("count"),
        commit=health.get("last_commit"),
        stage=health.get("stage"),
        worker=status.get("worker_id"),
    )


def _sum(numbers: Iterable[Any]) -> Any:
    """Return the sum of what is known, None if nothing is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _stages(stages: Iterable[str]) -> str | None:
    """Return the stages of several tasks, the most frequent first: "polling 3, committing 1"."""
    counted = Counter(stages).most_common()
    if len(counted) <= 1:
        return counted[0][0] if counted else None
    return ", ".join(f"{stage} {count}" for stage, count in counted)


def _ordered(found: Iterable[Row], sort: Sort) -> list[Row]:
    """Return the rows in order; those of which nothing is known are the last, and equal ones stay as they are."""
    if sort is Sort.NAME:
        return list(found)

    def key(row: Row) -> tuple[bool, Any]:
        value: Any = row.verdict if sort is Sort.HEALTH else getattr(row, sort.value)
        if value is None:
            return True, 0
        if sort is Sort.HEALTH:
            return False, _VERDICTS.index(value) if value in _VERDICTS else len(_VERDICTS)
        return False, value if sort in _TEXTS else -value

    return sorted(found, key=key)
