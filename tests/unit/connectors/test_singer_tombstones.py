# SPDX-License-Identifier: Apache-2.0
"""Tombstones of SingerSource for rows that are gone, with a real tap of a table that changes between its runs."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.plugin_metrics import Counter
from headrace.api.record import SourceRecord
from headrace.api.source import CommittedRecord, TransactionContext
from headrace.connectors.singer import tombstones
from headrace.connectors.singer.singer_source import SingerSourceTask
from tests.support.polling import wait_for

TAP = Path(__file__).parents[2] / "plugins" / "table_tap.py"


class Topic(TransactionContext):
    """What a task gets from the runtime, and the topic of its stream, in memory."""

    def __init__(self) -> None:
        self.stored: list[SourceRecord] = []
        self.reads = 0
        self.aborts = 0
        self.others: list[CommittedRecord] = []
        self.on_read: Callable[[], None] = lambda: None
        self.transaction_context: TransactionContext | None = None

    @property
    def offset_storage_reader(self) -> Topic:
        return self

    def offset(self, partition: Any) -> dict[str, Any] | None:
        return next((dict(each.source_offset) for each in reversed(self.stored) if each.source_offset), None)

    def plugin_metrics(self) -> Topic:
        return self

    def counter(self, *_: Any) -> Counter:
        return Counter()

    def commit_transaction(self, record: SourceRecord | None = None) -> None:
        pass

    def abort_transaction(self, record: SourceRecord | None = None) -> None:
        self.aborts += 1

    def read_topic(self, topic: str) -> Iterator[CommittedRecord]:
        assert topic == "rows"
        self.reads += 1
        self.on_read()
        yield from self.others
        for each in self.stored:
            headers = tuple((header.key, str(header.value).encode()) for header in each.headers)
            yield CommittedRecord(b"key", None if each.value is None else b"value", headers)

    def latest(self) -> set[int]:
        """The rows that a compacted topic keeps."""
        last = {each.key.get("id"): each.value for each in self.stored}
        return {key for key, value in last.items() if value is not None}

    def tombstones(self) -> list[int]:
        return [each.key.get("id") for each in self.stored if each.value is None]


class Run:
    """A task of a tap that reads a table from a file."""

    def __init__(self, path: Path, topic: Topic) -> None:
        self._path, self.topic = path, topic
        self.task = SingerSourceTask()

    def start(self, **props: str) -> None:
        self.task = SingerSourceTask()
        self.task.initialize(self.topic)  # type: ignore[arg-type]
        command = {"singer.command": f"{sys.executable} {TAP}", "catalog": "none", "singer.interval.ms": "20"}
        config = {"singer.config": json.dumps({"table": str(self._path)}), "singer.tombstones": "true"}
        self.task.start({"name": "shop", **command, **config, **props})

    def table(self, *ids: int, **more: Any) -> None:
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps({"rows": [{"id": each} for each in ids], **more}))
        new.rename(self._path)

    def poll(self) -> list[SourceRecord]:
        found: list[SourceRecord] = []
        with suppress(RetriableError):  # after which the runtime polls again
            found = self.task.poll() or []
        self.topic.stored += found
        return found

    def until(self, condition: Callable[[], object], what: str) -> None:
        def polled() -> bool:
            self.poll()
            return bool(condition())

        wait_for(polled, 30, lambda: f"{what}: {self.topic.latest()} {self.topic.tombstones()}")

    def next_run(self) -> None:
        """Poll until two runs have ended: the second has begun after this call."""
        counter = self.task._run_count
        last = counter.value() + 2
        self.until(lambda: counter.value() > last, "two runs")

    def stop(self) -> None:
        self.task.stop()
        assert self.task.poll() is None


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path / "table.json", Topic())
    yield made
    made.stop()


@pytest.mark.parametrize("activate", ["after", "before", "both"])
def test_a_row_that_is_gone_gets_one_tombstone(run: Run, activate: str) -> None:
    run.table(1, 2, 3, activate=activate)
    run.start()
    run.until(lambda: run.topic.latest() == {1, 2, 3}, "the rows")
    run.table(1, 3, 4, activate=activate)
    run.until(lambda: run.topic.latest() == {1, 3, 4}, "a row less and one more")
    run.next_run()
    assert run.topic.tombstones() == [2]
    assert run.topic.reads == 1
    tombstone = next(each for each in run.topic.stored if each.value is None)
    assert (tombstone.topic, tombstone.value_schema) == ("rows", None)
    assert tombstone.key_schema == run.topic.stored[0].key_schema
    run.table(2, activate=activate)
    run.until(lambda: run.topic.latest() == {2}, "a row that has come back")
    run.table(activate=activate)
    run.until(lambda: not run.topic.latest(), "no row")
    assert run.topic.tombstones() == [2, 1, 3, 4, 2]


def test_a_task_that_starts_again_reads_what_it_has_written(run: Run) -> None:
    run.table(1, 2, 3)
    run.start()
    run.until(lambda: run.topic.latest() == {1, 2, 3}, "the rows")
    run.stop()
    run.table(3)
    run.start()
    run.until(lambda: run.topic.latest() == {3}, "two rows less")
    run.next_run()
    assert run.topic.tombstones() == [1, 2]
    assert run.topic.reads == 2


def test_rows_of_others_in_the_topic_are_left_alone(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    for name, row in (("shop2", 9), ("shop", 1)):
        run.table(row)
        run.start(name=name)
        run.until(lambda row=row: row in run.topic.latest(), "a row")  # type: ignore[misc]
        run.stop()
    run.topic.others = [CommittedRecord(b"k", b"v"), CommittedRecord(b"gone", None)]
    run.table(2)
    with caplog.at_level(logging.INFO):
        run.start()
        run.until(lambda: run.topic.latest() == {2, 9}, "the rows")
    assert run.topic.tombstones() == [1]
    assert "Topic rows has 1 records with headers of stream 'rows', and 2 others, whose rows get no" in caplog.text


def test_a_table_is_resumed_with_the_same_version(run: Run) -> None:
    """Rows of a former run that has failed, which the next one does not send again, are still there."""
    run.table(1, 2, 3, 4, 5, version=1)
    run.start()
    run.until(lambda: run.topic.latest() == {1, 2, 3, 4, 5}, "the rows")
    run.table(1, 2, 3, version=2, batch=2, end=1)
    run.until(lambda: [each.key.get("id") for each in run.topic.stored].count(2) >= 2, "two rows of the new version")
    run.stop()
    run.table(4, version=2)
    run.start()
    run.until(lambda: run.topic.latest() == {1, 2, 4}, "without 3 and 5")
    assert run.topic.tombstones() == [3, 5]


def test_a_run_that_fails_has_no_effect(run: Run) -> None:
    run.table(1, 2)
    run.start(**{"singer.retries": "0"})
    run.until(lambda: run.topic.latest() == {1, 2}, "the rows")
    run.table(2, activate="before", end=1)
    with pytest.raises(ConnectError, match="ended with code 1"):
        run.until(lambda: False, "a failure")
    assert run.topic.tombstones() == []
    run.table(2, activate="before")
    run.until(lambda: run.topic.latest() == {2}, "a run that does not fail")


def test_rows_of_an_aborted_transaction_were_not_written(run: Run) -> None:
    run.topic.transaction_context = run.topic
    run.table(1, 2)
    run.start(**{"singer.held.records": "2"})
    run.until(lambda: run.topic.latest() == {1, 2}, "the rows")
    # Five rows, of which two wait, without a STATE: the other three are in the open transaction.
    run.table(3, 4, 5, 6, 7, end=1)
    kept = list(run.topic.stored)
    run.until(lambda: run.topic.aborts, "an abort")
    run.topic.stored = [each for each in run.topic.stored if each in kept or each.key.get("id") < 3]
    run.table(1)
    run.until(lambda: run.topic.latest() == {1}, "the rest")
    assert run.topic.tombstones() == [2]
    assert run.topic.reads == 2


@pytest.mark.parametrize("state", [True, False])
def test_exactly_once_needs_no_state_after_tombstones(run: Run, state: bool) -> None:
    run.table(1, 2, activate="before", batch=1, state=state)
    run.start(**{"singer.exactly.once": "true"})
    run.until(lambda: run.topic.latest() == {1, 2}, "the rows")
    run.table(2, activate="before", batch=1, state=state)
    run.until(lambda: run.topic.latest() == {2}, "a row less")


def test_tombstones_of_a_large_table_come_with_several_polls(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tombstones, "MOST", 10)
    run.table(*range(100))
    run.start(**{"singer.held.records": "5"})
    run.until(lambda: len(run.topic.latest()) == 100, "the rows")
    run.table(5)
    most = 0

    def gone() -> bool:
        nonlocal most
        most = max(most, sum(each.value is None for each in run.poll()))
        return run.topic.latest() == {5}

    wait_for(gone, 30, "the tombstones")
    assert 5 <= most <= 15
    assert sorted(run.topic.tombstones()) == [each for each in range(100) if each != 5]


def test_keys_as_the_tap_writes_them_otherwise(run: Run) -> None:
    """The same key with other digits or another zone is the same row."""
    schema = {
        "type": "object",
        "properties": {"id": {"type": "number", "multipleOf": 0.01}, "at": {"type": "string", "format": "date-time"}},
    }
    own = json.dumps({"schema": schema, "keys": ["id", "at"]})[:-1]
    for number, row in enumerate(('1.5, "at": "2024-01-01T01:00:00+01:00"', '1.50, "at": "2024-01-01T00:00:00.000Z"')):
        run._path.write_text(f'{own}, "rows": [{{"id": {row}}}]}}')
        if number == 0:
            run.start()
        run.next_run()
    assert len({each.headers.last_with_name("singer.key") for each in run.topic.stored}) == 1
    assert run.topic.tombstones() == []


def test_a_stream_without_a_key_is_said_once(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    run.table(1, keys=[])
    run.start()
    run.next_run()
    assert caplog.text.count("Stream 'rows' has no key_properties: rows that are gone get no tombstones") == 1
    assert not any(each.value is None or each.has_headers for each in run.topic.stored)


def test_rows_of_another_key_stay_and_are_counted(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    run.table(1, 2)
    run.start()
    run.until(lambda: run.topic.latest() == {1, 2}, "the rows")
    properties = {"id": {"type": "string"}, "note": {"type": "string"}}
    run.table(schema={"type": "object", "properties": properties})
    run.until(lambda: "2 rows of stream 'rows' are gone and get no tombstones" in caplog.text, "a line")
    assert run.topic.tombstones() == []


def test_a_stop_ends_the_reading_of_the_topic(run: Run) -> None:
    run.table(1, 2)
    run.start()
    run.until(lambda: run.topic.latest() == {1, 2}, "the rows")
    run.stop()
    run.table(2)
    run.start()
    run.topic.on_read = run.task.stop
    wait_for(lambda: run.poll() == [] and run.topic.reads == 2, 30, "a read")
    assert run.topic.tombstones() == []


def test_nothing_of_it_without_the_property(run: Run) -> None:
    run.table(1, 2)
    run.start(**{"singer.tombstones": "false"})
    run.until(lambda: run.topic.latest() == {1, 2}, "the rows")
    run.table(2)
    run.next_run()
    assert run.topic.tombstones() == []
    assert run.topic.reads == 0
    assert not any(each.has_headers for each in run.topic.stored)
