# SPDX-License-Identifier: Apache-2.0
"""Chains with steps on frames: how they are cut, what each job is given, and what becomes of its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from headrace.api import DataError, Headers, RetriableError, Schema, SchemaBuilder, SourceRecord, Struct
from headrace.api.errors import ConfigError
from headrace.api.frames import FrameJob
from headrace.api.record_frames import VARIANTS
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.kafka.errors import RetriableKafkaError
from headrace.plugins.discovery import Plugins
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, StoppedWhileRetryingError
from headrace.task.frames.frame_chain import FrameChain, create_frame_chain, has_frame_steps
from headrace.task.frames.frame_step import FrameRunner
from headrace.task.task_metrics import TaskMetrics

SQL = {"transforms.q.type": "SparkSql", "transforms.q.query": "SELECT 1"}
POINT = SchemaBuilder.struct().field("x", Schema.INT32).field("y", Schema.OPTIONAL_STRING).build()
Frame = Callable[[pa.Table], pa.Table]


class PlayedFrames:
    """Spark's part is played by a function of the input."""

    def __init__(self, frame: Frame = lambda table: table.select(["topic", "value"])) -> None:
        self.frame = frame
        self.jobs: list[tuple[FrameJob, pa.Table]] = []
        self.errors: list[Exception] = []

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        assert table is not None
        self.jobs.append((job, table))
        if self.errors:
            raise self.errors.pop(0)
        return self.frame(table)

    def stream(self, job: FrameJob) -> Any:
        raise AssertionError("steps run whole batches")


def record(value: Any, schema: Schema | None = Schema.STRING, topic: str = "t", **more: Any) -> SourceRecord:
    return SourceRecord({"p": 1}, {"o": 1}, topic, None, None, None, schema, value, **more)


def chain(
    frames: PlayedFrames,
    wait: Callable[[float], bool] = lambda s: False,
    metrics: TaskMetrics | None = None,
    **config: str,
) -> FrameChain[Any]:
    given = {
        "name": "c",
        "connector.class": "x",
        "transforms": "q",
        **SQL,
        **{k.replace("_", "."): v for k, v in config.items()},
    }
    parsed, plugins = SourceConnectorConfig(given), Plugins()
    assert has_frame_steps(parsed, plugins)
    errors: RetryWithTolerance[SourceRecord] = RetryWithTolerance(
        parsed.error_handling, (), metrics or TaskMetrics(lambda values: None, lambda: 0.0), wait
    )
    return create_frame_chain(parsed, plugins, errors, FrameRunner(frames, parsed.error_handling, wait, lambda: 0.0))


def given(frames: PlayedFrames, polled: Any, **config: str) -> list[pa.Table]:
    chain(frames, **config).apply(polled)
    return [table for _, table in frames.jobs]


def test_steps_on_records_are_fused_around_the_step_on_frames() -> None:
    def upper(table: pa.Table) -> pa.Table:
        return pa.table({"value": ["A1", "B1"]})

    frames = PlayedFrames(upper)
    steps = chain(
        frames,
        transforms="before,q,behind,last",
        transforms_before_type="RegexRouter",
        transforms_before_regex=".*",
        transforms_before_replacement="routed",
        transforms_behind_type="HoistField$Value",
        transforms_behind_field="f",
        transforms_last_type="ExtractField$Value",
        transforms_last_field="f",
    )
    [batch] = steps.apply([record("a"), record("b")])
    assert frames.jobs[0][1].column("topic").to_pylist() == ["routed", "routed"]
    assert isinstance(batch, list)
    assert [(r.topic, r.value) for r in batch] == [("routed", "A1"), ("routed", "B1")]


def test_a_struct_is_a_struct_and_nulls_go_with_it() -> None:
    frames = PlayedFrames()
    [table] = given(frames, [record(Struct(POINT, {"x": 1, "y": "a"}), POINT), record(None, None)])
    assert table.column("value").to_pylist() == [{"x": 1, "y": "a"}, None]
    assert table.schema.field("value").type.field("x").type == pa.int32()
    assert frames.jobs[0][0].settings[VARIANTS] == ""


def test_values_without_a_schema_are_json() -> None:
    frames = PlayedFrames()
    [table] = given(frames, [record({"a": [1]}, None), record("s", None)])
    assert table.column("value").to_pylist() == ['{"a":[1]}', '"s"']
    assert frames.jobs[0][0].settings[VARIANTS] == "value"


def test_a_batch_is_cut_where_a_schema_changes() -> None:
    tables = given(PlayedFrames(), [record("a"), record(None, None), record(1, Schema.INT32), record("b")])
    assert [table.column("value").to_pylist() for table in tables] == [["a", None], [1], ["b"]]


def test_tombstones_alone_are_of_the_type_that_was_there_before() -> None:
    frames = PlayedFrames()
    steps = chain(frames)
    steps.apply([record(1, Schema.INT32)])
    steps.apply([record(None, None)])
    assert frames.jobs[1][1].schema.field("value").type == pa.int32()


def test_headers_and_timestamps_come_along() -> None:
    headers = Headers()
    headers.add("h", 7, Schema.INT32)
    [table] = given(PlayedFrames(), [record("a", timestamp=1_500, headers=headers), record("b")])
    assert table.column("headers").to_pylist() == [[("h", "7")], []]
    assert [t and t.timestamp() for t in table.column("timestamp").to_pylist()] == [1.5, None]


def test_source_offsets_stay_behind() -> None:
    polled = pa.table({"topic": ["t"], "value": ["v"], "source_partition": [{"p": 1}], "source_offset": [{"o": 1}]})
    [table] = given(PlayedFrames(), polled)
    assert table.column_names == ["topic", "value"]


def test_a_result_without_a_topic_goes_to_the_batchs_own() -> None:
    [batch] = chain(PlayedFrames(lambda table: table.select(["value"]))).apply([record("a"), record("b")])
    assert isinstance(batch, pa.Table)
    assert batch.column("topic").to_pylist() == ["t", "t"]


@pytest.mark.parametrize(
    ("polled", "result", "message"),
    [
        ([record("a"), record("b", topic="u")], {"value": ["x"]}, "several: t, u"),
        ([record("a")], {"value": ["x"], "topic": pa.array([None], pa.string())}, "topic is null"),
        ([record("a")], {"value": ["x"], "partition": [-2]}, "partition is -2"),
    ],
)
def test_rows_that_are_no_records_are_refused(polled: Sequence[SourceRecord], result: Any, message: str) -> None:
    with pytest.raises(DataError, match=rf"transforms\.q: .*{message}"):
        chain(PlayedFrames(lambda table: pa.table(result))).apply(polled)


def test_json_of_a_result_becomes_values_without_a_schema() -> None:
    result = pa.table({"value as JSON": ['{"a":1}', None], "key": ["k", "l"]})
    [batch] = chain(PlayedFrames(lambda table: result)).apply([record("a")])
    assert [(r.key, r.value_schema, r.value) for r in batch] == [("k", None, {"a": 1}), ("l", None, None)]


def test_nothing_comes_of_an_empty_result_or_batch() -> None:
    frames = PlayedFrames(lambda table: pa.table({"value": pa.array([], pa.string())}))
    assert chain(frames).apply([record("a")]) == []
    assert chain(frames).apply([]) == []
    assert len(frames.jobs) == 1


def test_what_spark_could_not_do_is_tried_again_as_long_as_errors_retry_says() -> None:
    frames, waits = PlayedFrames(), []
    frames.errors = [RetriableError("lost"), RetriableError("lost")]
    steps = chain(frames, lambda s: bool(waits.append(s)), errors_retry_timeout="1000")
    [batch] = steps.apply([record("a")])
    assert batch.num_rows == 1 and waits == [0.3, 0.6]


def test_and_then_another_attempt_of_the_task_does() -> None:
    frames = PlayedFrames()
    frames.errors = [RetriableError("lost")]
    with pytest.raises(RetriableKafkaError, match=r"transforms\.q could not be run: lost"):
        chain(frames).apply([record("a")])


def test_no_caller_waits_for_a_task_that_is_to_stop() -> None:
    frames = PlayedFrames()
    frames.errors = [RetriableError("lost")]
    with pytest.raises(StoppedWhileRetryingError):
        chain(frames, lambda s: True, errors_retry_timeout="-1").apply([record("a")])


@pytest.mark.parametrize("error", [ConfigError("no column x"), DataError("no number")])
def test_what_is_wrong_names_the_step(error: Exception) -> None:
    frames = PlayedFrames()
    frames.errors = [error]
    with pytest.raises(type(error), match=rf"transforms\.q: {error}"):
        chain(frames).apply([record("a")])


def test_a_step_on_frames_has_no_predicate() -> None:
    more = {"predicates": "p", "predicates_p_type": "RecordIsTombstone", "transforms_q_predicate": "p"}
    with pytest.raises(ConfigError, match=r"transforms\.q\.predicate: a step on frames has no predicate"):
        chain(PlayedFrames(), **more)


def refuse(*bad: str) -> Frame:
    """A query that fails for a batch with one of these values."""

    def frame(table: pa.Table) -> pa.Table:
        if any(value in bad for value in table.column("value").to_pylist()):
            raise DataError("CAST_INVALID_INPUT")
        return table.select(["topic", "value"])

    return frame


def passed(frames: PlayedFrames, polled: Any, **config: str) -> list[str]:
    batches = chain(frames, errors_tolerance="all", **config).apply(polled)
    return [value for batch in batches for value in batch.column("value").to_pylist()]


@pytest.mark.parametrize("bad", [(), ("0",), ("6",), ("2", "3"), tuple("0123456")])
def test_where_errors_are_tolerated_records_that_fail_are_found_and_left_out(bad: tuple[str, ...]) -> None:
    rest = [n for n in "0123456" if n not in bad]
    assert passed(PlayedFrames(refuse(*bad)), [record(n) for n in "0123456"]) == rest
    polled = pa.table({"topic": ["t"] * 7, "value": list("0123456")})
    assert passed(PlayedFrames(refuse(*bad)), polled) == rest


def test_one_of_a_thousand_is_found_in_twenty_jobs() -> None:
    frames = PlayedFrames(refuse("613"))
    assert len(passed(frames, [record(str(n)) for n in range(1000)])) == 999
    assert len(frames.jobs) <= 21


def test_a_step_that_is_wrong_itself_is_not_tolerated() -> None:
    frames = PlayedFrames()
    frames.errors = [ConfigError("no column x")]
    with pytest.raises(ConfigError, match="no column x"):
        passed(frames, [record("a"), record("b")])


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_a_record_that_a_query_fails_for_counts_in_its_step(tolerance: str) -> None:
    def fail(table: pa.Table) -> pa.Table:
        if "b" in table.column("value").to_pylist():
            raise DataError("no b")
        return table.select(["topic", "value"])

    metrics = TaskMetrics(lambda values: None, lambda: 0.0)
    steps = chain(PlayedFrames(fail), metrics=metrics, errors_tolerance=tolerance)
    try:
        steps.apply([record("a"), record("b"), record("c")])
    except DataError:
        assert tolerance == "none"
    _, query, _, _ = metrics.steps.counts()
    numbers = (query.records_in, query.records_out, query.filtered, query.errors, query.retries)
    assert numbers == ((3, 2, None, 1, 0) if tolerance == "all" else (0, 0, None, 1, 0))
