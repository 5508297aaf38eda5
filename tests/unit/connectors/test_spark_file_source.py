# SPDX-License-Identifier: Apache-2.0
"""The whole task over files in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.api import arrow
from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.api.frames import FrameJob
from headrace.connectors.common.spark_source import SPLITS
from headrace.connectors.spark_files.file_ledger import FileLedger
from headrace.connectors.spark_files.spark_file_frames import ROW
from headrace.connectors.spark_files.spark_file_source import SparkFileSourceConnector, SparkFileSourceTask
from tests.tiers import examples

PROPS = {"name": "c", "topic": "rows", "path": "/in", "spark.format": "json", "poll.interval.ms": "1"}


def props(**more: str) -> dict[str, str]:
    return PROPS | {name.replace("_", "."): value for name, value in more.items()}


class Directory:
    """`Frames` whose jobs read files of one column, `id`, and bring so many rows at a time."""

    def __init__(self, at_once: int = 2) -> None:
        self._at_once = at_once
        self.files: dict[str, tuple[int, list[int]]] = {}
        self.first = 0
        """The number that rows begin with, were Spark to read a file in pieces."""
        self.errors: list[ConnectError] = []
        self.opened: list[tuple[str, int]] = []
        self.cleaned: list[str] = []

    def put(self, name: str, modified: int, rows: list[int]) -> None:
        self.files[f"file:/in/{name}"] = modified, rows

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        match job.function.rpartition(":")[2]:
            case "listing":
                rows = [{"path": p, "modified": m, "size": len(r)} for p, (m, r) in self.files.items()]
                return pa.Table.from_pylist(rows)
            case "columns":
                return pa.table({"columns": [json.dumps([["id", "bigint"]])]})
            case _:
                for path, target in json.loads(job.settings["files"]).items():
                    assert target == path.replace("file:/in", "/out")
                    self.files.pop(path)
                    self.cleaned.append(path.rpartition("/")[2])
                return pa.table({})

    @contextmanager
    def stream(self, job: FrameJob) -> Iterator[Iterator[pa.RecordBatch]]:
        path, row = job.settings["path"], int(job.settings["row"])
        self.opened.append((path.rpartition("/")[2], row))
        yield self._batches(path, row)

    def _batches(self, path: str, row: int) -> Iterator[pa.RecordBatch]:
        if path not in self.files:
            raise ConfigError("[PATH_NOT_FOUND] Path does not exist")
        rows = self.files[path][1]
        for start in range(row, len(rows), self._at_once):
            if self.errors:
                raise self.errors.pop()
            part = rows[start : start + self._at_once]
            numbers = range(self.first + start, self.first + start + len(part))
            yield pa.RecordBatch.from_pydict({"id": part, ROW: list(numbers)})


class Context:
    transaction_context = None

    def __init__(self, directory: Directory, stored: dict[str, Any]) -> None:
        self.frames = directory
        self.offset_storage_reader = self
        self._stored = stored

    def offsets(self, partitions: list[dict[str, Any]]) -> list[Any]:
        return [self._stored.get(json.dumps(partition)) for partition in partitions]


def started(directory: Directory, config: dict[str, str], stored: dict[str, Any]) -> SparkFileSourceTask:
    task = SparkFileSourceTask()
    task.initialize(Context(directory, stored))  # type: ignore[arg-type]
    connector = SparkFileSourceConnector()
    connector.start(config)
    (own,) = connector.task_configs(1)
    task.start(own)
    return task


def polled(task: SparkFileSourceTask, stored: dict[str, Any], polls: int) -> list[int]:
    """The ids of some polls, each of which is committed."""
    ids: list[int] = []
    for _ in range(polls):
        table = task.poll()
        if table is not None:
            arrow.validate_table(table)
            ids += [value["id"] for value in table.column("value").to_pylist()]
            for partition, offset in arrow.last_offsets(table):
                stored[json.dumps(partition)] = json.loads(json.dumps(offset))
    return ids


def test_the_last_rows_of_a_file_say_that_it_is_completed() -> None:
    directory, stored = Directory(), {}
    directory.put("a", 5, [1, 2, 3, 4, 5])
    task = started(directory, props(batch_max_rows="2"), stored)
    assert polled(task, stored, 1) == [1, 2]
    (offset,) = stored.values()
    assert (offset["file"], offset["row"]) == ("file:/in/a", 2)
    assert polled(task, stored, 2) == [3, 4, 5]
    (offset,) = stored.values()
    assert "file" not in offset
    assert len(FileLedger.of(offset).done[5]) == 1


def test_a_death_in_the_middle_goes_on_inside_the_file() -> None:
    directory, stored = Directory(), {}
    directory.put("a", 5, [1, 2, 3, 4, 5])
    assert polled(started(directory, props(batch_max_rows="2"), stored), stored, 1) == [1, 2]
    assert polled(started(directory, props(batch_max_rows="9"), stored), stored, 1) == [3, 4, 5]
    assert directory.opened == [("a", 0), ("a", 2)]


def test_an_error_in_the_middle_goes_on_inside_the_file() -> None:
    directory, stored = Directory(), {}
    directory.put("a", 5, [1, 2, 3, 4, 5, 6])
    task = started(directory, props(batch_max_rows="2"), stored)
    assert polled(task, stored, 1) == [1, 2]
    directory.errors.append(RetriableError("lost"))
    with pytest.raises(RetriableError, match="lost"):
        polled(task, stored, 9)
    assert polled(task, stored, 9) == [3, 4, 5, 6]


def test_a_file_that_has_gone_before_it_was_read_is_passed_over() -> None:
    directory, stored = Directory(), {}
    directory.put("a", 1, [1])
    directory.put("b", 2, [2])
    directory.put("c", 3, [3])
    task = started(directory, props(), stored)
    assert polled(task, stored, 1) == [1]
    del directory.files["file:/in/b"]
    assert polled(task, stored, 3) == [3]


def test_rows_that_come_in_pieces_have_no_place() -> None:
    directory = Directory()
    directory.put("a", 5, [1, 2])
    directory.first = 1 << 33
    with pytest.raises(ConnectError, match="they have no place"):
        started(directory, props(), {}).poll()


def test_what_is_completed_for_good_is_moved_and_nothing_else() -> None:
    directory, stored = Directory(), {}
    for number in range(6):
        directory.put(f"{number}", number + 1, [number])
    more = {"completed.action": "move", "completed.directory": "/out", "late.files.max": "4"}
    task = started(directory, props(**more), stored)
    # Polled is not committed.
    assert task.poll() is not None
    assert task.poll() is not None
    assert task.poll() is not None
    assert directory.cleaned == []
    stored.clear()
    again = started(directory, props(**more), stored)
    # In time, before the ledger forgets the first ones: it keeps four.
    assert polled(again, stored, 5) == [0, 1, 2, 3, 4]
    assert directory.cleaned == ["0", "1", "2", "3"]
    assert polled(again, stored, 3) == [5]
    wanted = [f"{number}" for number in range(6)]
    for _ in range(300):
        again.poll()
        if directory.cleaned == wanted:
            break
    assert directory.cleaned == wanted


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=8),
    st.integers(1, 5),
    st.integers(1, 4),
    st.lists(st.integers(1, 5), max_size=5),
    st.sampled_from(["1", "3"]),
)
def test_whatever_the_files_and_batches_and_deaths_each_row_comes_once(
    sizes: list[tuple[int, int]], batch: int, at_once: int, lives: list[int], splits: str
) -> None:
    directory, stored = Directory(at_once), {}
    expected = []
    for number, (modified, rows) in enumerate(sizes):
        ids = [number * 100 + row for row in range(rows)]
        directory.put(f"{number}", modified, ids)
        expected += [(modified, str(number), id) for id in ids]
    config = props(batch_max_rows=str(batch), partition_count=splits)
    seen: list[int] = []
    for polls in lives:  # each ends without a word
        seen += polled(started(directory, config, stored), stored, polls)
    seen += polled(started(directory, config, stored), stored, sum(rows for _, rows in sizes) + 20)
    in_order = [id for _, _, id in sorted(expected)]
    assert (seen if splits == "1" else sorted(seen)) == (in_order if splits == "1" else sorted(in_order))


def test_splits_are_shared_by_tasks_and_no_more_tasks_than_there_are() -> None:
    connector = SparkFileSourceConnector()
    connector.start(props(partition_count="3"))
    assert [json.loads(task[SPLITS]) for task in connector.task_configs(2)] == [[0, 2], [1]]
    assert len(connector.task_configs(9)) == 3


@pytest.mark.parametrize(
    ("more", "property"),
    [
        ({"completed_action": "move"}, "completed.directory"),
        ({"completed_action": "move", "completed_directory": "/in/done"}, "completed.directory"),
        ({"completed_action": "move", "completed_directory": "/in-done"}, None),
        ({"schema_evolution": "perhaps"}, "schema.evolution"),
    ],
)
def test_properties_that_do_not_go_together_are_reported(more: dict[str, str], property: str | None) -> None:
    wrong = [each.name for each in SparkFileSourceConnector().validate(props(**more)) if each.error_messages]
    assert wrong == ([] if property is None else [property])


def test_an_operators_offsets_are_looked_at() -> None:
    connector = SparkFileSourceConnector()
    assert connector.alter_offsets(PROPS, [({"path": "/in"}, {"file": "file:/in/a", "row": 3}), ({"path": "/x"}, None)])
    with pytest.raises(ConnectError, match="no source partition"):
        connector.alter_offsets(PROPS, [({"path": "/x"}, {"row": 3})])
    with pytest.raises(ConnectError, match="Offset field 'rows'"):
        connector.alter_offsets(PROPS, [({"path": "/in"}, {"rows": 3})])
