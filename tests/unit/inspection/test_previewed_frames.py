# SPDX-License-Identifier: Apache-2.0
"""The effect of a step on frames as a preview shows it. Functions play its jobs; integration tests run real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa
import pytest

from headrace.api.errors import ConfigError, DataError, RetriableError
from headrace.api.frames import FrameJob, Frames
from headrace.api.record import SinkRecord, SourceRecord
from headrace.api.schema import Schema
from headrace.config.connector_config import ConnectorConfig, ErrorHandling
from headrace.inspection.preview.observed_frames import ObservedFrameStep, sink_results, source_results
from headrace.inspection.preview.previewed_frames import OfferedFrames, ReadingFrames, StepFrames
from headrace.inspection.preview.previewed_record import Failures, PreviewedRecord
from headrace.inspection.preview.step_functions import EXPLAIN, MAX_ROWS, OF_BATCH, OF_EACH, PLAN, RECORD, WHOLE
from headrace.task.errors.processing_context import Operation, Stage
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_step import FrameRunner, FrameStep
from headrace.task.frames.record_tables import RecordTables
from headrace.task.frames.sink_tables import SinkTables
from headrace.task.task_metrics import TaskMetrics
from headrace.transforms.spark_sql import SparkSql

Rows = Callable[[pa.Table], pa.Table]
CONFIG = {"name": "c", "connector.class": "C"}


class PlayedFrames(Frames):
    """Answers a step's jobs by a function of their input."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.jobs: list[str] = []

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        assert table is not None
        self.jobs.append(job.function)
        return pa.table({PLAN: ["the plan"]}) if job.function == EXPLAIN else self.rows(table)

    def stream(self, job: FrameJob) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        raise NotImplementedError


class Previewed:
    """A step, applied to records of the values."""

    def __init__(self, rows: Rows, values: list[Any], *, sink: bool = False, **config: str) -> None:
        self.played, self.plans = PlayedFrames(rows), list[str]()
        frames = StepFrames(self.played, self.plans.append, each=not sink)
        parsed, failures = ConnectorConfig({**CONFIG, **config}), Failures[Any]()
        sql, metrics = SparkSql(), TaskMetrics(lambda values: None, lambda: 0.0)
        sql.configure({"query": "SELECT 1"})
        handling = ErrorHandling(tolerates=config.get("errors.tolerance") == "all")
        errors: RetryWithTolerance[Any] = RetryWithTolerance(handling, [failures], metrics, lambda seconds: False)
        runner = FrameRunner(frames, ErrorHandling(retry_timeout=0.0), lambda seconds: False)
        tables: Any = SinkTables() if sink else RecordTables()
        step: FrameStep[Any] = FrameStep("sql", sql, runner, tables)
        results = sink_results(step) if sink else source_results(step, frames)
        operation = Operation(Stage.TRANSFORMATION, "SparkSql", "sql")
        self.step = ObservedFrameStep[Any](operation, results, step.close, parsed, errors, failures)
        self.records = [self._record(number, value, sink) for number, value in enumerate(values)]
        self.step.apply(self.records)

    def _record(self, number: int, value: Any, sink: bool) -> PreviewedRecord[Any]:
        schema = Schema.INT64 if isinstance(value, int) else Schema.STRING
        source = SourceRecord({}, {}, "t", value_schema=schema, value=value)
        record: Any = SinkRecord("t", 0, None, None, schema, value, number) if sink else source
        return PreviewedRecord(record, {}, [record])

    @property
    def outcomes(self) -> list[str]:
        return [record.steps[-1]["outcome"] for record in self.records]

    @property
    def values(self) -> list[list[Any]]:
        return [[row.value for row in record.rows] for record in self.records]


def each(*made: tuple[int, Any]) -> Rows:
    """Rows of a source's step: the number of the record, and the value."""
    values = [value for _, value in made]
    return lambda table: pa.table({"topic": ["t"] * len(made), "value": values, RECORD: [n for n, _ in made]})


def test_rows_of_a_sources_records() -> None:
    found = Previewed(each((2, "c"), (0, "a"), (0, "b"), (3, "same")), ["x", "y", "z", "same"])
    assert found.values == [["a", "b"], [], ["c"], ["same"]]
    assert found.outcomes == ["changed", "dropped", "changed", "unchanged"]
    assert [row["value"]["value"] for row in found.records[0].steps[0]["rows"]] == ["a", "b"]
    assert found.records[2].steps[0]["after"]["value"]["value"] == "c"
    assert (found.played.jobs, found.plans) == ([EXPLAIN, OF_EACH], ["the plan"])


def test_rows_that_a_query_makes_of_several_records() -> None:
    found = Previewed(each((WHOLE, "a"), (WHOLE, "b")), ["x", "y", "z"])
    assert found.values == [[], [], ["a", "b"]] and found.outcomes == ["combined", "combined", "changed"]
    assert [record.outcome for record in found.records] == ["combined", "combined", None]
    assert found.records[0].steps[0]["message"].startswith("combined with the following records")


def test_jobs_that_change_something_are_not_run() -> None:
    played, notes = PlayedFrames(lambda table: table), list[str]()
    frames = ReadingFrames(played, notes.append)
    assert frames.run(FrameJob("f:clean", {}, "delete 1 file", changes=True)).num_rows == 0
    assert notes == ["A preview changes nothing, so this was not done: delete 1 file"] and not played.jobs
    assert frames.run(FrameJob("f:read", {}), pa.table({"a": [1]})).num_rows == 1


def test_records_of_several_types_are_batches_of_their_own() -> None:
    found = Previewed(each((0, "a")), ["x", 1, "y"])
    assert found.values == [["a"], ["a"], ["a"]] and found.plans == ["the plan"]
    assert found.played.jobs == [EXPLAIN, OF_EACH, OF_EACH, OF_EACH]


def test_rows_of_a_sinks_records() -> None:
    found = Previewed(lambda table: table.slice(1, 1), ["x", "y"], sink=True)
    assert found.values == [[], ["y"]] and found.outcomes == ["dropped", "unchanged"]
    assert found.played.jobs == [EXPLAIN, OF_BATCH]


def failing_at(text: str) -> Rows:
    def rows(table: pa.Table) -> pa.Table:
        values = table.column("value").to_pylist()
        if text in values:
            raise DataError(f"bad: {text}")
        return each(*enumerate(values))(table)

    return rows


@pytest.mark.parametrize(("tolerance", "outcome"), [("none", "fails the task"), ("all", "skipped")])
def test_a_record_that_fails_is_found(tolerance: str, outcome: str) -> None:
    found = Previewed(failing_at("b"), ["a", "b", "c"], **{"errors.tolerance": tolerance})
    assert [record.outcome for record in found.records] == [None, outcome, None]
    assert found.outcomes == ["unchanged", "failed", "unchanged"] and found.values == [["a"], [], ["c"]]
    error = found.records[1].shown["error"]
    assert (error["stage"], error["transform"], error["message"]) == ("TRANSFORMATION", "sql", "transforms.sql: bad: b")


def raising(error: Exception) -> Rows:
    def rows(table: pa.Table) -> pa.Table:
        raise error

    return rows


def test_a_query_that_is_wrong_fails_all_records() -> None:
    found = Previewed(raising(ConfigError("no column x")), ["a", "b"], **{"errors.tolerance": "all"})
    assert [record.outcome for record in found.records] == ["fails the task"] * 2 and found.outcomes == ["failed"] * 2
    error = found.records[0].shown["error"]
    assert (error["stage"], error["transform"], error["class"]) == ("TRANSFORMATION", "sql", "SparkSql")
    assert "no column x" in error["message"] and "trace" not in error


def test_without_spark_nothing_of_a_record_is_previewed() -> None:
    found = Previewed(raising(RetriableError("Spark is late")), ["a"])
    (record,) = found.records
    assert (record.outcome, record.rows, found.outcomes) == ("not previewed", [], ["not previewed"])
    assert record.steps[0]["message"] == "not previewed, nor is what follows it: Spark is late"


def test_too_many_rows_are_not_shown() -> None:
    found = Previewed(each(*((0, "a") for _ in range(MAX_ROWS + 1))), ["x"])
    assert found.outcomes == ["not previewed"] and "more than 1,000 rows" in found.records[0].steps[0]["message"]


def test_a_worker_without_spark_for_previews() -> None:
    frames = OfferedFrames(None)
    frames.prepare()
    with pytest.raises(RetriableError, match="this worker has no Spark for previews"):
        frames.run(FrameJob("f", {}))
