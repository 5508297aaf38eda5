# SPDX-License-Identifier: Apache-2.0
"""MockSource, MockSink and SchemaSource, without a worker."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headrace.api.connector import ConnectorContext
from headrace.api.errors import ConfigError, ConnectError
from headrace.api.plugin_metrics import PluginMetrics
from headrace.connectors.testing.mock_connectors import (
    FailingTask,
    MockSinkConnector,
    MockSinkTask,
    MockSourceConnector,
    MockSourceTask,
)
from headrace.connectors.testing.schema_source import (
    VALUE_SCHEMA,
    VALUE_SCHEMA_2,
    SchemaSourceConnector,
    SchemaSourceTask,
)
from tests.unit.clock import Clock


class Context(ConnectorContext):
    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.event = threading.Event()

    def request_task_reconfiguration(self) -> None: ...

    def raise_error(self, error: BaseException) -> None:
        self.error = error
        self.event.set()

    def plugin_metrics(self) -> PluginMetrics:
        raise NotImplementedError


@pytest.mark.parametrize("kind", [MockSinkConnector, MockSourceConnector])
def test_a_connector_fails_when_asked(kind: Any) -> None:
    connector, context = kind(), Context()
    connector.initialize(context)
    connector.start({"mock_mode": "connector-failure", "delay_ms": "1"})
    assert context.event.wait(5)
    assert "mock_mode=connector-failure" in str(context.error)
    assert len(connector.task_configs(5)) == 1
    connector.stop()


@pytest.mark.parametrize("kind", [MockSinkConnector, MockSourceConnector])
def test_a_connector_that_is_stopped_fails_no_more(kind: Any) -> None:
    connector, context = kind(), Context()
    connector.initialize(context)
    connector.start({"mock_mode": "connector-failure", "delay_ms": "50"})
    connector.stop()
    assert not context.event.wait(0.1)


def test_a_task_fails_after_its_delay() -> None:
    clock = Clock()
    task = FailingTask({"mock_mode": "task-failure"}, clock)
    clock.now += 15
    task.fail_if_due()
    clock.now += 0.1
    with pytest.raises(ConnectError, match="mock_mode=task-failure"):
        task.fail_if_due()
    never = FailingTask({"mock_mode": "connector-failure", "delay_ms": "0"}, clock)
    clock.now += 1e6
    never.fail_if_due()
    with pytest.raises(ConfigError, match="delay_ms"):
        FailingTask({"delay_ms": "-1"}, clock)


def test_the_tasks_use_it() -> None:
    class Context:
        timeouts: list[int] = []

        def timeout_ms(self, timeout_ms: int) -> None:
            self.timeouts.append(timeout_ms)

    props = {"mock_mode": "task-failure", "delay_ms": "0"}
    sink, source = MockSinkTask(), MockSourceTask()
    sink.initialize(Context())  # type: ignore[arg-type]
    sink.start(props)
    assert Context.timeouts == [0]
    with pytest.raises(ConnectError):
        sink.put([])
    source.start(props)
    with pytest.raises(ConnectError):
        source.poll()
    quiet = MockSourceTask()
    quiet.start({})
    quiet.stop()
    assert quiet.poll() is None


def schema_task(context: Any, stored: Any = None, **more: str) -> SchemaSourceTask:
    connector = SchemaSourceConnector()
    connector.start({"topic": "t", "num.messages": "3", **more})
    task = SchemaSourceTask()
    task.initialize(context(stored))
    task.start(connector.task_configs(3)[2])
    return task


def test_schema_source_writes_structs_of_two_versions(context: Any) -> None:
    task = schema_task(context, {"seqno": 4}, **{"multiple.schema": "true", "partition.count": "4"})
    records = task.poll() or []
    assert [r.value_schema for r in records] == [VALUE_SCHEMA, VALUE_SCHEMA_2, VALUE_SCHEMA]
    assert [r.value.get("seqno") for r in records] == [5, 6, 7]
    assert [r.value.get("partitioning") for r in records] == [1, 2, 3]
    assert records[1].value.get("string") == "def"
    assert {(r.topic, r.kafka_partition, r.key) for r in records} == {("t", 2, "key")}
    assert [(r.source_partition, r.source_offset) for r in records][-1] == ({"id": 2}, {"seqno": 7})
    task.stop()
    assert task.poll() is None
    assert VALUE_SCHEMA_2.version == 2 and VALUE_SCHEMA.name == "record"


def test_schema_source_refuses_offsets_that_it_cannot_go_on_from(context: Any) -> None:
    connector = SchemaSourceConnector()
    assert connector.alter_offsets({}, [({"id": 1}, {"seqno": 4}), ({"id": 1}, None)])
    with pytest.raises(ConnectError, match="seqno"):
        connector.alter_offsets({}, [({"id": 1}, {"seqno": "4"})])
    with pytest.raises(ConnectError):
        schema_task(context, {"seqno": -1})
