# SPDX-License-Identifier: Apache-2.0
"""Tasks as they are put together; nothing connects."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headrace.api.errors import ConfigError
from headrace.api.lag import Lag, LagUnit
from headrace.api.source import SourceTask
from headrace.config.worker_config import CLIENT_METRICS_INTERVAL
from headrace.kafka.admin import topic_admin
from headrace.kafka.data.record_producer import RecordProducer
from headrace.model.ids import ConnectorTaskId
from headrace.task.source import topic_creation
from headrace.task.source.source_task_factory import RunnableSourceTask, create_source_task
from headrace.task.source.transaction_commits import TransactionCommits
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_spec import TaskKind, TaskSpec
from tests.unit.task import support_plugins

STRING = "org.apache.kafka.connect.storage.StringConverter"
SPEC = TaskSpec(
    id=ConnectorTaskId("c", 0),
    kind=TaskKind.SOURCE,
    task_class=f"{support_plugins.__name__}:ScriptedTask",
    task_config={},
    connector_config={"name": "c", "connector.class": "C"},
    worker_config={"key.converter": STRING, "value.converter": STRING},
    producer={"bootstrap.servers": "127.0.0.1:1", "transactional.id": "g-c-0"},
    consumer={},
    offsets_topic="offsets",
    exactly_once=True,
)
DEAD = {"errors.deadletterqueue.topic.name": "dead"}
SECONDS = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "5000"}


@pytest.fixture
def make(link: Any, control: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    def made(spec: TaskSpec = SPEC, **properties: str) -> RunnableSourceTask:
        task = create_source_task(
            replace(spec, connector_config={**SPEC.connector_config, **properties}), link, control
        )
        task.close()
        return task

    return made


@pytest.mark.parametrize(
    ("properties", "seconds"),
    [
        ({}, 60),
        ({"errors.retry.timeout": "-1"}, 60),
        (SECONDS, 65),
        ({**SECONDS, "errors.retry.timeout": "30000"}, 95),
        ({**SECONDS, "errors.retry.timeout": "-1"}, 900),
        ({**SECONDS, "errors.retry.timeout": "3600000"}, 900),
        ({**SECONDS, "errors.retry.timeout": "-1", "transaction.boundary.interval.ms": "1000000"}, 1060),
    ],
)
def test_retries_have_their_time_within_an_open_transaction(
    properties: dict[str, str], seconds: int, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    from headrace.task.source import source_task_factory

    producer = source_task_factory.TransactionalProducer

    def noted(given: Any, **more: Any) -> Any:
        seen.append(given["transaction.timeout.ms"])
        return producer(given, **more)

    monkeypatch.setattr(source_task_factory, "TransactionalProducer", noted)
    make(**properties)
    assert seen == [str(seconds * 1000)]


@pytest.mark.parametrize(
    ("boundary", "ahead", "beside"), [("poll", True, True), ("poll", False, False), ("interval", True, False)]
)
def test_tasks_that_say_so_poll_beside_the_commit_of_their_last_poll(
    boundary: str, ahead: bool, beside: bool, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    from headrace.task.source import source_task_factory

    commits = source_task_factory.TransactionCommits

    def noted(*parts: Any, beside_polls: bool) -> Any:
        seen.append(beside_polls)
        return commits(*parts, beside_polls=beside_polls)

    monkeypatch.setattr(source_task_factory, "TransactionCommits", noted)
    monkeypatch.setattr(support_plugins.ScriptedTask, "polls_ahead", ahead)
    make(**{"transaction.boundary": boundary})
    assert seen == [beside]


@pytest.mark.parametrize("running", [True, False])
def test_a_producer_is_not_polled_while_a_commit_runs_on_another_thread(
    running: bool, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed: list[Callable[[], None]] = []
    served: list[RecordProducer] = []
    monkeypatch.setattr(TaskMetrics, "before_report", lambda metrics, refresh: refreshed.append(refresh))
    monkeypatch.setattr(RecordProducer, "serve", lambda producer: served.append(producer))
    monkeypatch.setattr(TransactionCommits, "running", running)
    make(replace(SPEC, worker_config={**SPEC.worker_config, CLIENT_METRICS_INTERVAL: "1000"}))
    served.clear()  # by its close
    for refresh in refreshed:
        refresh()
    assert len(served) == (0 if running else 1)


def test_a_command_is_looked_up_where_the_task_is(make: Any) -> None:
    command = replace(SPEC, task_config={"singer.command": "tap-x"})
    with pytest.raises(ConfigError, match=r"connector c may not start this program"):
        make(command)
    make(replace(command, worker_config={**SPEC.worker_config, "singer.commands.allowed": "tap-x"}))


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_topic_for_records_that_are_not_set_aside_is_warned_of(
    exactly_once: bool, make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    spec = replace(SPEC, exactly_once=exactly_once)
    make(spec, **DEAD, **{"errors.tolerance": "all"})
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        make(spec, **DEAD)
    assert [entry.getMessage() for entry in caplog.records] == [
        "Task c-0: errors.deadletterqueue.topic.name=dead is without effect, as errors.tolerance=none lets no record "
        "be skipped"
    ]


TOPICS = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}


@pytest.mark.parametrize(
    ("worker", "properties", "made"),
    [
        ({}, TOPICS, True),
        ({}, {}, False),
        ({"topic.creation.enable": "false"}, TOPICS, False),
        ({"topic.creation.enable": "false"}, {"topic.creation.default.partitions": "many"}, False),
    ],
)
@pytest.mark.parametrize("exactly_once", [True, False])
def test_topics_are_made_if_worker_and_connector_say_so(
    exactly_once: bool,
    worker: dict[str, str],
    properties: dict[str, str],
    made: bool,
    make: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    class Opened(topic_creation.TopicCreation):
        """With its client made at once, and not for the first topic."""

        def __init__(self, groups: Any, topics: Any, *more: Any) -> None:
            super().__init__(groups, topics, *more)
            topics()

    monkeypatch.setattr(topic_admin, "TopicAdmin", seen.append)
    monkeypatch.setattr(topic_creation, "TopicCreation", Opened)
    more = {"admin.retry.backoff.ms": "7", "admin.client.id": "worker's", **worker}
    spec = replace(SPEC, exactly_once=exactly_once, worker_config={**SPEC.worker_config, **more})
    make(spec, **properties, **{"admin.override.client.id": "own"})
    assert [(props["client.id"], props["retry.backoff.ms"]) for props in seen] == [("own", "7")] * made


def test_bad_properties_are_named(make: Any) -> None:
    with pytest.raises(ConfigError, match=r"errors\.tolerance"):
        make(**{"errors.tolerance": "some"})


class LaggingTask(SourceTask):
    """Ends by ``asked`` once it was asked for its lag."""

    asked: Callable[[], None]

    def version(self) -> str:
        return "1"

    def start(self, props: Any) -> None:
        self._polls = 0

    def poll(self) -> None:
        self._polls += 1
        assert self._polls < 100
        threading.Event().wait(0.1)  # as a source without data

    def lag(self) -> Lag:
        self.asked()
        return Lag(LagUnit.FILES, {"/in": 3})

    def stop(self) -> None: ...


def test_the_loop_asks_for_the_lag_between_polls(link: Any, control: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LaggingTask, "asked", staticmethod(control.stop), raising=False)
    task = create_source_task(replace(SPEC, task_class=f"{__name__}:LaggingTask"), link, control)
    task.start()
    task.execute()
    task.close()
    assert control.progress.measure().lag == Lag(LagUnit.FILES, {"/in": 3})
