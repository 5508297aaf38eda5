# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging

import pytest

from headrace.cli.start_report import StartReport
from tests.unit.clock import Clock


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "headrace.cli.start_report")
    return caplog


def test_steps_are_logged_after_a_second_and_at_growing_intervals(lines: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    report = StartReport("broker:9092", "http://here:8083", clock)
    refused = "waiting for Kafka to answer (connection refused)"
    for tenths in range(1000):
        report.observe(refused if tenths else "waiting for Kafka to answer")
        clock.now = 100 + (tenths + 1) / 10
    assert lines.messages == [
        f"The worker is {refused}",
        *(f"The worker is {refused}, since {seconds} s" for seconds in (10, 20, 40, 80)),
    ]


def test_quick_steps_are_not_logged_and_the_end_once(lines: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    report = StartReport("broker:9092", "http://here:8083", clock)
    report.begin()
    for stage in ("waiting for Kafka to answer", "reading the internal topics; idle", "joining the group; idle"):
        report.observe(stage)
        clock.now += 0.9
        report.observe(stage)
    for _ in range(3):
        report.observe("idle", started=True)
        clock.now += 100
    assert lines.messages[1:] == [
        "Connecting to Kafka at broker:9092",
        "The worker is ready after 2.7 s: http://here:8083",
    ]
    assert lines.messages[0].endswith("the REST API listens at http://here:8083")
