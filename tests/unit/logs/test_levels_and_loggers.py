# SPDX-License-Identifier: Apache-2.0
"""Levels by Kafka Connect's names, and changing them at run time (KIP-495, KIP-976)."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator

import pytest

from headrace.logs.loggers import LoggerLevel, Loggers, apply_levels, level_of, name_of, number_of

_numbers = itertools.count()


@pytest.fixture
def loggers() -> Loggers:
    """At a clock that stands at 17."""
    return Loggers(lambda: 17)


@pytest.fixture
def name() -> Iterator[str]:
    """Of a logger that no other test has; all others have their levels again afterwards."""
    before = Loggers().set_levels()
    yield f"test-{next(_numbers)}"
    for known in Loggers().set_levels():
        logging.getLogger(None if known == "root" else known).setLevel(before.get(known, logging.NOTSET))


@pytest.mark.parametrize(
    ("text", "level", "number"),
    [
        ("TRACE", "TRACE", 5),
        ("debug", "DEBUG", logging.DEBUG),
        ("Info", "INFO", logging.INFO),
        ("WARN", "WARN", logging.WARNING),
        ("WARNING", "WARN", logging.WARNING),
        ("ERROR", "ERROR", logging.ERROR),
        ("FATAL", "FATAL", logging.CRITICAL),
        ("critical", "FATAL", logging.CRITICAL),
        ("OFF", "OFF", 60),
        ("ALL", "ALL", 1),
    ],
)
def test_levels(text: str, level: str, number: int) -> None:
    assert (level_of(text), number_of(level), name_of(number)) == (level, number, level)


@pytest.mark.parametrize("text", ["", "LOUD", "5", "INFO "])
def test_what_is_no_level(text: str) -> None:
    assert level_of(text) is None


def test_numbers_between_levels() -> None:
    assert [name_of(number) for number in (25, 31, 70, 3)] == ["INFO", "WARN", "OFF", "ALL"]


def test_a_level_holds_for_all_below_it(loggers: Loggers, name: str) -> None:
    inherits, own, beside = (logging.getLogger(f"{name}{rest}") for rest in (".a", ".b", "x.c"))
    own.setLevel(logging.ERROR)
    assert loggers.level(name) is None, "it has loggers below it, but is none"
    assert loggers.set_level(name, "debug") == [name, f"{name}.a", f"{name}.b"]
    assert inherits.isEnabledFor(logging.DEBUG) and own.isEnabledFor(logging.DEBUG)
    assert not beside.isEnabledFor(logging.DEBUG)
    assert loggers.level(name) == loggers.level(f"{name}.a") == LoggerLevel("DEBUG", 17)
    assert logging.getLogger(f"{name}.later").isEnabledFor(logging.DEBUG)


def test_only_what_is_another_level_now_counts_as_changed(loggers: Loggers, name: str) -> None:
    logging.getLogger(f"{name}.a").setLevel(logging.ERROR)
    loggers.set_level(name, "WARN")
    logging.getLogger(f"{name}.b")
    assert loggers.set_level(name, "WARN") == []
    assert loggers.level(f"{name}.b") == LoggerLevel("WARN", None)
    with pytest.raises(ValueError, match="LOUD"):
        loggers.set_level(name, "LOUD")


def test_a_logger_that_is_off(loggers: Loggers, name: str) -> None:
    loggers.set_level(name, "OFF")
    assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL)
    assert name not in loggers.all_levels()
    assert loggers.level(name) == LoggerLevel("OFF", 17)


@pytest.mark.parametrize("root", ["root", "ROOT", ""])
def test_the_root_logger(loggers: Loggers, name: str, root: str) -> None:
    logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger().setLevel(logging.INFO)
    changed = loggers.set_level(root, "TRACE")
    assert {"root", name} <= set(changed) and changed == sorted(changed)
    assert loggers.level(root) == LoggerLevel("TRACE", 17)
    assert list(loggers.all_levels()) == sorted(loggers.all_levels())


def test_kafka_connects_names_stand_for_ours(loggers: Loggers, name: str) -> None:
    assert "headrace.rest" in loggers.set_level("org.apache.kafka.connect.runtime.rest.resources", "TRACE")
    assert loggers.level("org.apache.kafka.connect.runtime.rest") == loggers.level("headrace.rest")
    changed = loggers.set_level("org.apache.kafka.connect.runtime.WorkerSourceTask", "TRACE")
    assert "headrace.task" in changed and "headrace.rest" not in changed
    assert loggers.set_level(f"{name}.of.somebody", "FATAL") == [f"{name}.of.somebody"]


def test_what_is_set_for_the_whole_cluster(loggers: Loggers, name: str, caplog: pytest.LogCaptureFixture) -> None:
    loggers.follow(name, "debug")
    assert loggers.level(name) == LoggerLevel("DEBUG", 17)
    loggers.follow(name, "LOUD")
    assert loggers.level(name) == LoggerLevel("DEBUG", 17)
    assert f"'LOUD', the level for logger {name} in the whole cluster, is none: skipped" in caplog.messages


def test_another_process_gets_the_same_levels(loggers: Loggers, name: str) -> None:
    reported: list[dict[str, int]] = []
    loggers.on_change(lambda: reported.append(loggers.set_levels()))
    loggers.set_level(name, "TRACE")
    assert reported[-1][name] == 5 and reported[-1]["root"] == logging.getLogger().level
    logging.getLogger(name).setLevel(logging.NOTSET)
    apply_levels(reported[-1])
    assert logging.getLogger(name).level == 5
