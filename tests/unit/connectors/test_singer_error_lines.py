# SPDX-License-Identifier: Apache-2.0
"""Lines of standard errors, as singer-python and the Meltano SDK write them."""

from __future__ import annotations

import json
import logging
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.plugin_metrics import Counter
from headrace.connectors.singer.child_runs import ErrorLog
from headrace.connectors.singer.error_lines import Measurement, TapMetrics, level_of, measurement

COUNT = {"type": "counter", "metric": "record_count", "value": 7, "tags": {"stream": "orders"}}
SDK = "2024-01-01 10:00:00,123 | INFO     | singer_sdk.metrics   | METRIC: "


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("INFO Starting sync", logging.INFO),
        ("CRITICAL tap_shop 2024-01-01 no such database", logging.CRITICAL),
        ("time=2024-01-01 10:00:00 name=tap level=WARNING message=slow", logging.WARNING),
        ("2024-01-01 10:00:00,123 | ERROR    | tap-csv | no file", logging.ERROR),
        ("[2024-01-01T10:00:00Z] [warn] no", logging.INFO),
        ("2024-01-01T10:00:00Z [DEBUG] yes", logging.DEBUG),
        ('{"level": "error", "message": "no file"}', logging.ERROR),
        ("Traceback (most recent call last):", logging.ERROR),
        ("Connected; ERROR is a word of this line", logging.INFO),
        ("INFORMATION", logging.INFO),
    ],
)
def test_levels(line: str, level: int) -> None:
    assert level_of(line, logging.INFO) == level


@pytest.mark.parametrize(
    "before",
    ["INFO METRIC: ", "INFO singer 2024-01-01 10:00:00,123 METRIC: ", "time=x level=INFO message=METRIC: ", SDK],
)
def test_measurements(before: str) -> None:
    assert measurement(before + json.dumps(COUNT)) == Measurement("counter", "record_count", "orders", "", 7.0)


def test_other_spellings() -> None:
    former = {"metric_type": "timer", "metric": "http_request_duration", "value": 0.5}
    tags = {"endpoint": "/orders", "http_status_code": 200, "status": "succeeded"}
    expected = Measurement("timer", "http_request_duration", "/orders", "succeeded", 0.5)
    assert measurement(SDK + json.dumps({**former, "tags": tags})) == expected
    line = json.dumps({"level": "info", "message": f"METRIC: {json.dumps(COUNT)}"})
    assert measurement(line) == Measurement("counter", "record_count", "orders", "", 7.0)


@pytest.mark.parametrize(
    "more",
    [
        {"value": "7"},
        {"value": -1},
        {"value": True},
        {"value": float("nan")},
        {"type": "gauge"},
        {"metric": "Bad name"},
    ],
)
def test_no_measurements(more: dict[str, Any]) -> None:
    assert measurement(f"INFO METRIC: {json.dumps({**COUNT, **more})}") is None
    assert measurement("INFO METRIC: {") is None


@given(st.text(max_size=60))
def test_any_line(text: str) -> None:
    assert measurement(f"METRIC: {text}") is None
    level_of(text, logging.INFO)


def test_a_stack_trace_has_one_level(caplog: pytest.LogCaptureFixture) -> None:
    lines = ["INFO begins", "ERROR no file", "Traceback (most recent call last):", '  File "x"', "INFO ends"]
    child: Any = SimpleNamespace(error_lines=deque(lines), code=0)
    with caplog.at_level(logging.DEBUG, "headrace"):
        ErrorLog("tap-csv").log(child)
    assert [each.levelno for each in caplog.records] == [20, 40, 40, 40, 20]


def test_totals(caplog: pytest.LogCaptureFixture) -> None:
    counters: dict[tuple[str, ...], Counter] = {}

    def counter(name: str, description: str, tags: dict[str, str]) -> Counter:
        return counters.setdefault((name, *tags.values()), Counter())

    metrics: Any = SimpleNamespace(counter=counter)
    added = TapMetrics(metrics, most=3)
    for value in (2.0, 3.0):
        added.add(Measurement("counter", "record_count", "a", "", value))
        added.add(Measurement("timer", "job_duration", "a", "succeeded", value))
    added.add(Measurement("counter", "record_count", "b", "", 1.0))
    added.add(Measurement("counter", "record_count", "c", "", 1.0))
    assert {name: each.value() for name, each in counters.items()} == {
        ("tap-record-count-total", "a"): 5,
        ("tap-job-duration-seconds-total", "a", "succeeded"): 5,
        ("tap-job-duration-measurements-total", "a", "succeeded"): 2,
    }
    assert caplog.text.count("more than 3 metrics") == 1
