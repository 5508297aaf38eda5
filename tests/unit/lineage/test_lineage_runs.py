# SPDX-License-Identifier: Apache-2.0
"""Which events follow from what a worker has; and an enabled lineage that cannot work."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Iterable

import pytest

from headrace.api.datasets import Dataset
from headrace.api.errors import ConfigError
from headrace.config.standalone_config import StandaloneConfig
from headrace.lineage import lineage_reporter
from headrace.lineage.lineage_reporter import LineageReporter, create_lineage
from headrace.lineage.lineage_runs import INTERVAL, Condition, RunEvent, Runs, SeenConnector, step
from tests.support.polling import wait_for

UP, FAILED, DOWN, UNCLEAR = Condition.UP, Condition.FAILED, Condition.DOWN, Condition.UNCLEAR
FILE, TOPIC = Dataset("file", "/in"), Dataset("kafka://b:1", "t")


def history(*seen: tuple[float, SeenConnector | None]) -> list[str]:
    """The states of the events, each with its run's number, after the connector was seen so at these times."""
    numbers = itertools.count(1)
    runs: Runs = {}
    states = []
    for now, connector in seen:
        runs, events = step(runs, {} if connector is None else {"c": connector}, now, lambda: str(next(numbers)))
        states += [f"{event.state.value} {event.run_id}" for event in events]
    return states


def up(starts: int = 1, *outputs: Dataset) -> SeenConnector:
    return SeenConnector(starts, UP, (FILE,), outputs)


def test_a_run_from_start_to_end():
    seen = [(0, up()), (1, up()), (2, up(1, TOPIC)), (3, up(1, TOPIC)), (4, None), (5, None)]
    assert history(*seen) == ["START 1", "RUNNING 1", "COMPLETE 1"]
    assert history((0, up()), (1, SeenConnector(1, DOWN)), (2, up(2))) == ["START 1", "COMPLETE 1", "START 2"]


def test_running_is_repeated_each_minute_and_when_a_schema_changes():
    with_schema = Dataset(TOPIC.namespace, TOPIC.name, (("a", "int32"),))
    seen = [(0, up()), (INTERVAL - 1, up()), (INTERVAL, up()), (INTERVAL + 1, up()), (INTERVAL + 2, up(1, with_schema))]
    assert history(*seen, (2 * INTERVAL + 1, up(1, with_schema))) == ["START 1", "RUNNING 1", "RUNNING 1"]


def test_a_restart_is_another_run_even_if_it_was_not_seen_down():
    assert history((0, up(1)), (1, up(2))) == ["START 1", "COMPLETE 1", "START 2"]
    assert history((0, up(1)), (1, SeenConnector(2, UNCLEAR)), (2, up(2))) == ["START 1", "COMPLETE 1", "START 2"]


def test_a_failure_ends_the_run_and_what_follows_is_another():
    failed = SeenConnector(1, FAILED, error="ValueError: no")
    assert history((0, failed), (1, failed), (99, failed)) == ["START 1", "FAIL 1"]
    assert history((0, up()), (1, failed), (2, failed), (3, up()), (4, None)) == [
        "START 1",
        "FAIL 1",
        "START 2",
        "COMPLETE 2",
    ]
    assert history((0, up()), (1, failed), (2, None)) == ["START 1", "FAIL 1"]
    again = SeenConnector(2, FAILED)
    assert history((0, failed), (1, again)) == ["START 1", "FAIL 1", "START 2", "FAIL 2"]


class View:
    def connectors(self) -> dict[str, SeenConnector]:
        return {"c": up()}

    def topics_of_other_workers(self) -> Iterable[Dataset]:
        return [TOPIC]


class Events:
    """Keeps events, or fails, or hangs."""

    def __init__(self) -> None:
        self.states: list[str] = []
        self.schemas: list[Dataset] = []
        self.error: Exception | None = None
        self.answers = threading.Event()
        self.answers.set()
        self.called = threading.Event()

    def send(self, event: RunEvent) -> None:
        self.called.set()
        self.answers.wait(60)
        if self.error is not None:
            raise self.error
        self.states.append(event.state.value)

    def send_schemas(self, datasets: Iterable[Dataset]) -> None:
        if self.error is not None:
            raise self.error
        self.schemas += datasets


def test_the_end_completes_all_runs():
    events = Events()
    reporter = LineageReporter(events)
    reporter.begin(View())
    wait_for(lambda: events.schemas == [TOPIC], 10, "the topic's schema")
    reporter.close()
    assert events.states == ["START", "COMPLETE"]


def test_a_backend_that_hangs_or_fails_is_not_waited_for(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lineage_reporter, "_STOP_TIMEOUT", 0.2)
    hanging = Events()
    hanging.answers.clear()
    reporter = LineageReporter(hanging)
    reporter.begin(View())
    assert hanging.called.wait(30)
    began = time.monotonic()
    reporter.close()
    assert time.monotonic() - began < 15
    hanging.answers.set()
    failing = Events()
    failing.error = OSError("refused")
    reporter = LineageReporter(failing)
    reporter.begin(View())
    wait_for(lambda: "cannot be sent" in caplog.text, 10, "the line")
    began = time.monotonic()
    reporter.close()
    assert time.monotonic() - began < 2
    assert caplog.text.count("Lineage events cannot be sent, and are dropped until they can: OSError: refused") == 1


def config(**more: str) -> StandaloneConfig:
    name = "org.apache.kafka.connect.storage.StringConverter"
    return StandaloneConfig(
        {"key.converter": name, "value.converter": name, "offset.storage.file.filename": "x", **more}
    )


def test_lineage_is_off_by_default_and_needs_its_package(monkeypatch: pytest.MonkeyPatch):
    assert create_lineage(config()) is None
    monkeypatch.setitem(sys.modules, "headrace.lineage.openlineage_events", None)
    with pytest.raises(ConfigError, match=r"lineage\.enabled.*install headrace with the extra 'lineage'"):
        create_lineage(config(**{"lineage.enabled": "true"}))


def test_a_configuration_of_openlineage_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENLINEAGE_URL", "nowhere")
    with pytest.raises(ConfigError, match=r"lineage\.enabled.*nowhere"):
        create_lineage(config(**{"lineage.enabled": "true"}))
