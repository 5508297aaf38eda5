# SPDX-License-Identifier: Apache-2.0
"""Metrics that a task's plugin registers itself."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from headrace.api import ConnectError, Monitorable, PluginMetrics
from headrace.config.connector_config import KEY_CONVERTER, VALUE_CONVERTER, ConnectorConfig
from headrace.metrics.plugin_metrics import OwnPluginMetrics, plugin_metric_name
from headrace.plugins.discovery import Plugins
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics, TaskPluginMetrics
from headrace.task.transformation_chain import create_transformation_chain
from tests.unit.task import support_plugins


class Bench:
    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self.reports: list[dict[str, float]] = []
        self.metrics = TaskMetrics(lambda values: self.reports.append(dict(values)), clock)
        self.all = TaskPluginMetrics(self.metrics)
        self.plugin = OwnPluginMetrics(self.all.registry)

    def reported(self) -> dict[str, float]:
        """What is reported a second later, or was reported last."""
        self._clock.now += 1
        self.metrics.report_if_due()
        return self.reports[-1]


@pytest.fixture
def bench(clock: Any) -> Bench:
    return Bench(clock)


def test_gauges_and_counters(bench: Bench) -> None:
    size = [3]
    bench.plugin.gauge("queue-size", "Rows that wait.", lambda: size[0], {"queue": "a b"})
    counter = bench.plugin.counter("rows-total", "Rows.")
    queue = plugin_metric_name("queue-size", "Rows that wait.", {"queue": "a b"})
    rows = plugin_metric_name("rows-total", "Rows.", {})
    assert bench.reported() == {queue: 3, rows: 0}
    counter.add()
    counter.add(4)
    size[0] = 1
    assert bench.reported() == {queue: 1, rows: 5}
    bench.plugin.remove("queue-size", {"queue": "a b"})
    bench.plugin.remove("queue-size")
    assert bench.reported() == {rows: 5}
    with pytest.raises(ValueError, match="only grows"):
        counter.add(-1)


def test_each_name_with_its_tags_is_there_once(bench: Bench) -> None:
    bench.plugin.counter("rows-total", "Rows.", {"table": "a"})
    bench.plugin.counter("rows-total", "Rows.", {"table": "b"})
    with pytest.raises(ConnectError, match=r"metric rows-total with the tags \{'table': 'a'\} already"):
        bench.plugin.counter("rows-total", "Others.", {"table": "a"})
    with pytest.raises(ConnectError, match="may not have a tag task"):
        bench.plugin.gauge("rows", "Rows.", lambda: 1, {"task": "7"})


def test_a_gauge_that_fails_is_left_out_and_logged_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    answers: list[Any] = [ZeroDivisionError("no"), "x", 2]

    def read() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    bench.plugin.counter("rows-total", "Rows.")
    bench.plugin.gauge("odd", "An odd one.", read)
    rows, odd = plugin_metric_name("rows-total", "Rows.", {}), plugin_metric_name("odd", "An odd one.", {})
    with caplog.at_level(logging.WARNING):
        assert bench.reported() == {rows: 0}
        assert bench.reported() == {rows: 0}
    assert len(caplog.records) == 1
    assert bench.reported() == {rows: 0, odd: 2}


class Counting(Monitorable):
    def with_plugin_metrics(self, metrics: PluginMetrics) -> None:
        self.metrics = metrics
        self.seen = metrics.counter("seen-total", "Records.")


def test_plugins_of_one_class_have_tags_of_their_own(bench: Bench) -> None:
    first, second = Counting(), Counting()
    bench.all.monitor(first, {"transform": "a"})
    bench.all.monitor(second, {"transform": "b"})
    bench.all.monitor(object(), {"transform": "c"})
    second.seen.add(2)
    names = [plugin_metric_name("seen-total", "Records.", {"transform": alias}) for alias in ("a", "b")]
    assert bench.reported() == {names[0]: 0, names[1]: 2}
    with pytest.raises(ConnectError, match="may not have a tag transform"):
        first.metrics.counter("odd-total", "Odd.", {"transform": "b"})
    first.metrics.remove("seen-total")
    assert bench.reported() == {names[1]: 2}


def test_all_plugins_of_a_task_are_given_theirs(plugins: Plugins, errors: Any) -> None:
    seen: list[Any] = []

    def monitor(plugin: object, tags: Any) -> None:
        seen.append((type(plugin).__name__, dict(tags)))

    module = support_plugins.__name__
    config = {
        **{"name": "c", "connector.class": "C", "transforms": "one", "transforms.one.type": f"{module}.Suffix"},
        **{"transforms.one.predicate": "short", "predicates": "short", "predicates.short.type": f"{module}.Short"},
        "predicates.short.length": "3",
    }
    create_transformation_chain(ConnectorConfig(config), plugins, errors(tolerates=False), monitor)
    converters = TaskConverters({}, {KEY_CONVERTER: "StringConverter"}, plugins, monitor)
    converters.create_converter(KEY_CONVERTER)
    converters.create_converter(VALUE_CONVERTER)
    converters.header_converter()[1]()
    assert seen == [
        ("Suffix", {"transform": "one"}),
        ("Short", {"predicate": "short"}),
        ("StringConverter", {"converter": "key"}),
        ("JsonConverter", {"converter": "value"}),
        ("SimpleHeaderConverter", {"converter": "header"}),
    ]
