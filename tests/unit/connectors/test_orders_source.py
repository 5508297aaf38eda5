# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError
from headrace.api.record import SourceRecord
from headrace.api.source import ExactlyOnceSupport
from headrace.connectors.sample.orders_source import (
    CONFIG_DEF,
    SOURCE_PARTITION,
    OrdersSourceConnector,
    OrdersSourceTask,
    order,
)

Start = Callable[..., OrdersSourceTask]
ORDER_1 = {
    "id": 1,
    "customer": "Ines",
    "item": "bread",
    "quantity": 4,
    "price": Decimal("3.20"),
    "time": datetime.datetime(2026, 1, 1, 0, 0, 37, tzinfo=datetime.UTC),
}


@pytest.fixture
def start(context: Callable[..., Any]) -> Start:
    def make(stored: dict[str, Any] | None = None, **props: str) -> OrdersSourceTask:
        task = OrdersSourceTask()
        task.initialize(context(stored))
        task.start({"topic": "t", **{key.replace("_", "."): props[key] for key in props}})
        return task

    return make


def polled(task: OrdersSourceTask, count: int) -> list[SourceRecord]:
    found: list[SourceRecord] = []
    while len(found) < count:
        found += task.poll() or []
    return found


def test_an_order_is_the_same_each_time_and_another_than_its_neighbours() -> None:
    assert order(7) == order(7)
    # These are in users' topics already: tasks that continue write the ones that follow.
    assert order(1).as_dict() == ORDER_1
    assert len({str(order(number)) for number in range(1, 500)}) == 499


def test_orders_are_numbered_and_each_has_its_number_as_offset(start: Start) -> None:
    records = polled(start(throughput="1000"), 20)
    assert [record.value.get("id") for record in records] == list(range(1, len(records) + 1))
    assert all(record.source_partition == SOURCE_PARTITION for record in records)
    assert all(record.source_offset == {"id": record.value.get("id")} for record in records)
    assert all(record.key == record.value.get("customer") for record in records)


def test_a_task_continues_after_the_last_committed_order(start: Start) -> None:
    assert polled(start({"id": 41}), 1)[0].value == order(42)


def test_no_orders_follow_the_last_one(start: Start) -> None:
    task = start({"id": 40}, throughput="1000", num_orders="43")
    assert [record.value.get("id") for record in polled(task, 3)] == [41, 42, 43]
    assert task.poll() is None


def test_a_task_that_has_more_orders_than_wanted_sends_none(start: Start) -> None:
    assert start({"id": 44}, throughput="1000", num_orders="43").poll() is None


def test_the_throughput_bounds_a_batch_and_no_burst_follows_a_pause(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("headrace.connectors.sample.orders_source.time.monotonic", lambda: now)
    monkeypatch.setattr("headrace.connectors.sample.orders_source._POLL_SECONDS", 0)
    task = start(throughput="8")
    now = 100.5
    assert len(task.poll() or []) == 5  # the first one at once, and four of half a second
    now = 500.0
    assert len(task.poll() or []) == 8


def test_a_stopped_task_returns_at_once(start: Start) -> None:
    task = start()
    task.stop()
    assert task.poll() is None


@pytest.mark.parametrize("offset", [{}, {"id": "1"}, {"id": -1}, {"id": True}])
def test_offsets_that_no_task_can_continue_from_are_refused(start: Start, offset: dict[str, Any]) -> None:
    with pytest.raises(ConnectError, match="'id' key"):
        OrdersSourceConnector().alter_offsets({}, [(SOURCE_PARTITION, offset)])
    with pytest.raises(ConnectError, match="'id' key"):
        start(offset)


def test_offsets_of_another_partition_are_refused_and_resets_are_not() -> None:
    connector = OrdersSourceConnector()
    with pytest.raises(ConnectError, match="only source partition"):
        connector.alter_offsets({}, [({"orders": "others"}, {"id": 1})])
    assert connector.alter_offsets({}, [(SOURCE_PARTITION, {"id": 1}), ({"orders": "others"}, None)])


def test_one_task_which_is_exactly_once() -> None:
    connector = OrdersSourceConnector()
    connector.start({"topic": "t"})
    assert connector.task_configs(3) == [{"topic": "t"}]
    assert connector.exactly_once_support({}) is ExactlyOnceSupport.SUPPORTED
    with pytest.raises(ConfigError, match="throughput"):
        CONFIG_DEF.parse({"topic": "t", "throughput": "0"})
