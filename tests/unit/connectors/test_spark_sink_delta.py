# SPDX-License-Identifier: Apache-2.0
"""Who may write to a table that knows nothing but versions of applications, as one of Delta Lake does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.connectors.common.batch_log import FencedError
from headrace.connectors.spark_sink import spark_sink_delta
from headrace.connectors.spark_sink.spark_sink_config import SinkSettings

PROPS = {"name": "c", "spark.format": "delta", "path": "/table"}


class Log:
    """What a table of Delta's has: rows, and of each application the latest version."""

    def __init__(self) -> None:
        self.rows: list[int] | None = None
        self.versions: dict[str, int] = {}

    def commit(self, application: str, version: int, rows: list[int]) -> None:
        known = self.versions.get(application)
        if known is not None and version <= known:
            return  # as Delta does, without a word
        self.versions[application] = version
        self.rows = [*(self.rows or []), *rows]


class Table(spark_sink_delta._DeltaTable):
    """Over such a log, in the place of Spark."""

    def exists(self) -> bool:
        return self._spark.log.rows is not None

    def version(self) -> int | None:
        return self._spark.log.versions.get(self._application)

    def nothing(self) -> Any:
        return []

    def _write(self, frame: Any, version: int) -> None:
        self._spark.log.commit(self._application, version, frame)


class Task:
    """As `SinkTarget` has it: a place to go on at, and a number."""

    def __init__(self, log: Log, partition: int = 0, topic_id: str = "") -> None:
        self._spark = SimpleNamespace(log=log, createDataFrame=lambda table: table)
        self._place = {"partition": partition, "topic_id": topic_id}
        (found,) = spark_sink_delta.take_over(
            self._spark, None, SinkSettings.of(PROPS).job("t", [self._place])
        ).to_pylist()
        self.next, self.number = found["next"], found["number"]

    def write(self, last: int) -> None:
        batch = {**self._place, "first": self.next, "last": last, "next": self.next}
        settings = SinkSettings.of(PROPS).job("t", [{**batch, "number": self.number}])
        spark_sink_delta.write(self._spark, list(range(self.next, last + 1)), settings)  # type: ignore[arg-type]
        self.next, self.number = last + 1, self.number + 1


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    monkeypatch.setattr(spark_sink_delta, "_DeltaTable", Table)
    monkeypatch.setattr(spark_sink_delta, "rows", lambda frame, settings: frame)
    return Log()


def test_batches_follow_each_other_and_a_successor_follows_them(log: Log) -> None:
    first = Task(log)
    first.write(4)
    first.write(9)
    second = Task(log)
    assert second.next == 10
    second.write(11)
    assert log.rows == list(range(12))
    assert Task(log).next == 12
    assert Task(log, partition=1).next == 0


def test_a_predecessor_that_is_still_alive_writes_no_more(log: Log) -> None:
    former = Task(log)
    former.write(4)
    successor = Task(log)
    with pytest.raises(FencedError, match="t-0: another task writes this partition"):
        former.write(20)
    successor.write(7)
    with pytest.raises(FencedError):
        former.write(20)
    assert log.rows == list(range(8))


def test_one_that_has_looked_before_its_successor_came_is_too_late(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stood still between its look at the table and its commit, and its batch reaches further."""
    former = Task(log)
    former.write(4)

    def slow(frame: Any, settings: Any) -> Any:
        monkeypatch.setattr(spark_sink_delta, "rows", lambda frame, settings: frame)
        Task(log).write(6)
        return frame

    monkeypatch.setattr(spark_sink_delta, "rows", slow)
    with pytest.raises(FencedError):
        former.write(20)
    assert log.rows == list(range(7))


def test_a_commit_that_was_not_answered_is_found_by_who_asks_again(log: Log) -> None:
    task = Task(log)
    task.write(4)
    # As after every error: the same task takes the partition over from itself.
    again = Task(log)
    assert again.next == 5
    assert log.rows == [0, 1, 2, 3, 4]


def test_of_a_topic_that_is_created_again_nothing_is_written_yet(log: Log) -> None:
    Task(log, topic_id="former").write(4)
    assert Task(log, topic_id="former").next == 5
    task = Task(log, topic_id="new")
    task.write(2)
    assert log.rows == [0, 1, 2, 3, 4, 0, 1, 2]
    assert Task(log, topic_id="new").next == 3


def test_many_take_overs_and_large_offsets_have_room(log: Log) -> None:
    task = Task(log)
    task.write(0)
    application = next(iter(log.versions))
    log.versions[application] = spark_sink_delta._version(2**18, 2**43)
    task = Task(log)
    assert task.next == 2**43
    assert log.versions[application] < 2**63
    task.number += 2**31  # so many batches later
    batch = {**task._place, "first": task.next, "last": task.next, "next": task.next, "number": task.number}
    spark_sink_delta.write(task._spark, [7], SinkSettings.of(PROPS).job("t", [batch]))  # type: ignore[arg-type]
    assert spark_sink_delta._parts(log.versions[application]) == (2**18 + 1, 2**43 + 1)
