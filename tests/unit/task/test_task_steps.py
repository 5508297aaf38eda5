# SPDX-License-Identifier: Apache-2.0
"""The counts of a task's steps. That rows and columns count alike is in ``test_column_record``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.api.errors import ConnectError, DataError, RetriableError
from headrace.api.record import SourceRecord
from headrace.api.transform import PartTransformation, RecordPart, Transformation
from headrace.config.connector_config import ConnectorConfig
from headrace.model.step_counts import StepCounts, StepKind
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import Operation, Stage
from headrace.task.errors.retry_with_tolerance import ToleranceExceededError
from headrace.task.record_converter import create_record_converter
from headrace.task.source.source_batch import SourceBatches
from headrace.task.source.source_task_calls import Poller
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_steps import TaskSteps
from headrace.task.transformation_chain import TransformationChain, TransformationStage, create_transformation_chain
from headrace.task.worker_link import TaskControl
from tests.unit.task import support_plugins
from tests.unit.task.support_plugins import ScriptedTask

Numbers = tuple[int | None, ...]


def numbers(counts: StepCounts) -> Numbers:
    return counts.records_in, counts.records_out, counts.filtered, counts.errors, counts.retries


def of(steps: TaskSteps) -> dict[str, Numbers]:
    return {each.alias or each.kind.value: numbers(each) for each in steps.counts()}


class Grows(PartTransformation[SourceRecord]):
    """Fused with its like. Fails with the errors that it was made with, for the value ``fails``."""

    part = RecordPart.VALUE

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def apply_to(self, record: SourceRecord, schema: Any, value: Any) -> Any:
        if self.errors and value.startswith("fails"):
            raise self.errors.pop(0)
        return schema, value + "+"


class Drops(Transformation[SourceRecord]):
    """Drops the values that begin with a letter, also one that first fails for a while."""

    def __init__(self, letter: str, *errors: Exception) -> None:
        self.letter, self.errors = letter, list(errors)

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        if not record.value.startswith(self.letter):
            return record
        if self.errors:
            raise self.errors.pop(0)
        return None


def chain(errors: Any, *transformations: Transformation[Any]) -> TransformationChain[Any, Any]:
    stages = [
        TransformationStage(Operation(Stage.TRANSFORMATION, type(each).__name__, f"n{place}"), each)
        for place, each in enumerate(transformations)
    ]
    return TransformationChain(stages, errors)


def apply(chain: TransformationChain[Any, Any], record: Any, values: str) -> None:
    records = [record(value) for value in values.split()]
    chain.apply_all(records, records)


def test_each_step_counts_what_it_drops_skips_and_passes_on(errors: Any, record: Any) -> None:
    made = chain(errors(), Grows(), Drops("a"), Grows(DataError("no")), Grows(), Drops("b"))
    apply(made, record, "a b c fails b a d")
    apply(made, record, "a b e")
    assert of(errors.metrics.steps) | {"source": (), "converter": (), "topic": ()} == {
        "source": (),
        "n0": (10, 10, 0, 0, 0),
        "n1": (10, 7, 3, 0, 0),
        "n2": (7, 6, 0, 1, 0),
        "n3": (6, 6, 0, 0, 0),
        "n4": (6, 3, 3, 0, 0),
        "converter": (),
        "topic": (),
    }


def test_one_step_alone_counts_too(errors: Any, record: Any) -> None:
    apply(chain(errors(), Drops("a")), record, "a b a")
    assert of(errors.metrics.steps)["n0"] == (3, 1, 2, 0, 0)


def test_a_record_that_is_retried_counts_where_it_ends(errors: Any, record: Any) -> None:
    late = [RetriableError("not now"), RetriableError("not yet")]
    made = chain(errors(retry_timeout=60.0), Grows(late[0]), Drops("a", *late), Drops("fails"))
    apply(made, record, "fails a b")
    steps = of(errors.metrics.steps)
    assert steps["n0"] == (3, 3, 0, 0, 1)
    assert steps["n1"] == (3, 2, 1, 0, 2)
    assert steps["n2"] == (2, 1, 1, 0, 0)


def test_a_batch_that_fails_the_task_is_not_done(errors: Any, record: Any) -> None:
    made = chain(errors(tolerates=False), Drops("a"), Grows(DataError("no")))
    with pytest.raises(ToleranceExceededError):
        apply(made, record, "a b fails c")
    assert of(errors.metrics.steps)["n0"] == (0, 0, 0, 0, 0)
    assert of(errors.metrics.steps)["n1"] == (0, 0, 0, 1, 0)


@pytest.fixture
def batches(errors: Any, plugins: Plugins) -> Any:
    def make(converter: str = "StringConverter", **steps: str) -> SourceBatches:
        config = {"name": "c", "connector.class": "C", "key.converter": "StringConverter", "value.converter": converter}
        config |= {name.replace("__", "."): value for name, value in steps.items()}
        handling = errors()
        made = create_transformation_chain(ConnectorConfig(config), plugins, handling)
        records = create_record_converter(TaskConverters(config, {}, plugins), handling)
        return SourceBatches("c", made, records, remember=False)

    return make


ROUTED = {"transforms": "route, drop", "transforms__route__type": "RegexRouter", "transforms__route__regex": "(.).*"}
ROUTED |= {"transforms__route__replacement": "$1-x", "transforms__drop__type": "Filter", "predicates": "some"}
ROUTED |= {"transforms__drop__predicate": "some", "predicates__some__type": "TopicNameMatches"}


def test_a_table_that_is_dropped_as_a_whole_counts_each_row(errors: Any, batches: Any) -> None:
    made = batches(**ROUTED, predicates__some__pattern="t-x")
    made.convert(pa.table({"topic": ["t"] * 3, "value": ["a", "b", "c"]}))
    made.convert(pa.table({"topic": ["u"] * 2, "value": ["a", "b"]}))
    steps = of(errors.metrics.steps)
    assert steps["route"] == (5, 5, 0, 0, 0)
    assert steps["drop"] == (5, 2, 3, 0, 0)
    assert (steps["converter"], steps["topic"]) == ((2, 2, None, 0, 0), (2, None, None, 0, 0))


def test_a_value_that_cannot_be_converted_is_the_converters(errors: Any, batches: Any, record: Any) -> None:
    made = batches("ByteArrayConverter", transforms="one", transforms__one__type=f"{support_plugins.__name__}.Suffix")
    batch = made.convert([record("a"), record("drop"), record("b", value_schema=None)])
    assert batch.size == 0
    steps = of(errors.metrics.steps)
    assert list(steps) == ["source", "one", "converter", "topic"]
    assert (steps["one"], steps["converter"]) == ((3, 2, 1, 0, 0), (2, 0, None, 2, 0))
    assert steps["topic"] == (0, None, None, 0, 0)


def test_polls_that_fail_are_the_sources(errors: Any, link: Any) -> None:
    class Impatient(TaskControl):
        def wait_for_stop(self, seconds: float) -> bool:
            return False

    poller = Poller(ScriptedTask(RetriableError("no"), ConnectError("broken")), Impatient(), link, errors.metrics)
    poller.poll()
    with pytest.raises(ConnectError):
        poller.poll()
    assert of(errors.metrics.steps)["source"] == (None, 0, None, 1, 1)


def test_records_pass_a_sinks_steps_in_the_other_order() -> None:
    steps = TaskSteps(sink=True)
    steps.of(StepKind.TRANSFORMATION, "one").passed(9, 7, 2)
    steps.converted(10, 9)
    steps.connector.passed(7, 0)
    assert [each.kind for each in steps.counts()] == [
        StepKind.TOPIC,
        StepKind.CONVERTER,
        StepKind.TRANSFORMATION,
        StepKind.SINK,
    ]
    assert list(of(steps).values()) == [
        (None, 10, None, 0, 0),
        (10, 9, None, 0, 0),
        (9, 7, 2, 0, 0),
        (7, None, None, 0, 0),
    ]


def test_counts_are_reported_also_if_no_other_figure_changes(clock: Any) -> None:
    reports: list[Any] = []
    metrics = TaskMetrics(reports.append, clock)
    metrics.report_last()
    assert not reports
    metrics.steps.connector.errors += 1
    clock.now += 1
    metrics.report_if_due()
    metrics.report_last()
    assert len(reports) == 1
