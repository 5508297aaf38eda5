# SPDX-License-Identifier: Apache-2.0
"""Failures in statuses of any worker, and restarts of what has failed on this one."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError
from headrace.config.restart_config import RestartRules
from headrace.herder.core.herder_events import FailureSeen, RestartPlanned
from headrace.herder.engine.automatic_restarts import AutomaticRestarts, is_mistake
from headrace.herder.engine.statuses import StatusReporter
from headrace.herder.engine.update_listeners import StatusUpdateListener
from headrace.metrics.figures import RunFigures, TaskRunFigures, WorkerFigures
from headrace.model.auto_restart import ON_FAILURE, AutoRestart, RestartCount
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.storage.memory_status_backing_store import MemoryStatusBackingStore
from headrace.worker.stages import trace_of

T0, T1 = ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)
RULES = RestartRules(ON_FAILURE, jitter=0.0)
JAVA = """org.apache.kafka.connect.errors.ConnectException: {}
\tat org.apache.kafka.connect.runtime.WorkerTask.doStart(WorkerTask.java:175)
Caused by: {}
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


def raised(error: BaseException, cause: BaseException | None = None, handled: BaseException | None = None) -> str:
    try:
        try:
            raise handled or error
        except BaseException:
            if handled is None:
                raise
            if cause is None:
                raise error  # noqa: B904 - the other error was only handled
            raise error from cause
    except BaseException as seen:
        return trace_of(seen)


@pytest.mark.parametrize(
    ("trace", "mistake"),
    [
        (raised(ConfigError.invalid("topic", "a b")), True),
        (raised(ConnectError("broken")), False),
        (raised(ValueError("headrace.api.errors.ConfigError: no line of its own")), False),
        (raised(ConnectError("refused"), ConfigError("why"), ConfigError("why")), True),
        (raised(ConnectError("refused"), handled=ConfigError("another matter")), False),
        ("org.apache.kafka.common.config.ConfigException: no\n\tat org.apache.X.y(X.java:1)\n", True),
        (JAVA.format("x", "org.apache.kafka.common.config.ConfigException: no"), True),
        (JAVA.format("x", "java.net.ConnectException: Connection refused"), False),
        (JAVA.format("org.apache.kafka.common.config.ConfigException: quoted", "java.io.IOException"), False),
        (None, False),
        ("", False),
    ],
)
def test_mistakes_are_known_by_their_traces(trace: str | None, mistake: bool) -> None:
    assert is_mistake(trace) is mistake, trace


class Inbox(list[Any]):
    post = list.append


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def store(inbox: Inbox) -> MemoryStatusBackingStore:
    config = ClusterConfigState(connector_configs={"c": {}}, task_counts={"c": 2})
    listener = StatusUpdateListener(inbox, lambda: config, lambda name: None)  # type: ignore[arg-type]
    made = MemoryStatusBackingStore(lambda keys: listener.on_status_update(made, keys))
    return made


@pytest.fixture
def reporter(store: MemoryStatusBackingStore) -> StatusReporter:
    return StatusReporter(store, "w:1", lambda: 0)


@pytest.fixture
def restarts(store: MemoryStatusBackingStore, reporter: StatusReporter) -> AutomaticRestarts:
    return AutomaticRestarts(RULES, store, reporter)


def test_a_failed_status_is_seen(inbox: Inbox, reporter: StatusReporter) -> None:
    reporter.on_running(T0)
    reporter.on_topics(T0, ["t"])
    assert not inbox
    reporter.on_failure(T0, "broken")
    reporter.on_failure("c", "broken")
    assert inbox == [FailureSeen(), FailureSeen()]


def test_all_failures_are_read(restarts: AutomaticRestarts, reporter: StatusReporter) -> None:
    reporter.on_running(T1)
    reporter.on_failure(T0, raised(OSError("disk")))
    reporter.on_failure("c", "a mistake")
    read = restarts.read()
    assert [(failure.id, failure.permanent) for failure in read.failures] == [(T0, False), ("c", True)]
    assert all(abs(failure.failed_ms - time.time() * 1000) < 60_000 for failure in read.failures)
    assert max(failure.failed_ms for failure in read.failures) <= read.now_ms


def test_only_what_has_failed_here_is_restarted(
    restarts: AutomaticRestarts, reporter: StatusReporter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert restarts.plan(T0, RestartCount(1, 0)) is None
    reporter.on_failure(T0, "broken")
    reporter.on_failure("c", "broken")
    assert restarts.plan(T0, RestartCount(2, 0)) == RestartPlanned((), (T0,))
    assert "Task c-0 has failed and is restarted automatically: restart 2 in a row" in caplog.text
    assert restarts.plan("c", RestartCount(1, 0)) == RestartPlanned(("c",), ())
    reporter.on_startup(T0)
    reporter.on_shutdown("c")
    assert restarts.plan(T0, RestartCount(2, 0)) is None and restarts.plan("c", RestartCount(1, 0)) is None


def test_answers_and_figures(restarts: AutomaticRestarts, reporter: StatusReporter) -> None:
    now = int(time.time() * 1000)
    config = ClusterConfigState(
        connector_configs={"c": {}},
        task_counts={"c": 2},
        restart_counts={T0: RestartCount(2, now), "c": RestartCount(7, now)},
    )
    reporter.on_failure(T0, raised(OSError("disk")))
    reporter.on_failure("c", raised(OSError("disk")))
    health = {"c": {"verdict": "failed", "connector": {"state": "FAILED"}, "tasks": [{"id": 0}, {"id": 1}]}}
    shown = restarts.with_health(health, config)["c"]
    assert shown["verdict"] == "failed" and shown["connector"]["state"] == "FAILED"
    first, second = (task["auto_restart"] for task in shown["tasks"])
    assert second == asdict(AutoRestart(ON_FAILURE, 0, 7, next_attempt_ms=None, gave_up=False, reason=None))
    assert (first["attempts"], first["gave_up"]) == (2, False)
    assert now + 40_000 <= first["next_attempt_ms"] < now + 100_000
    given_up = shown["connector"]["auto_restart"]
    assert given_up["gave_up"] and given_up["next_attempt_ms"] is None
    assert "tasks.restart.max.attempts" in given_up["reason"]
    assert json.loads(json.dumps(shown)) == shown
    restarts.plan(T0, RestartCount(3, now))
    figures = WorkerFigures(tasks={T0: TaskRunFigures(RunFigures("failed", 0.0, 0.0), {"x": 1.0})})
    assert restarts.with_restarts(figures, config).tasks[T0].values == {
        **{"x": 1.0, "auto-restarts-total": 1.0, "auto-restart-attempts": 2.0}
    }
