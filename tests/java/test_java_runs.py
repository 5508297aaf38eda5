# SPDX-License-Identifier: Apache-2.0
"""Chains with stages in Java between others: batches give the same as single records, with no call per record."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.headers import Header
from headrace.api.record import SinkRecord, SourceRecord
from headrace.api.schema import Schema
from headrace.config.connector_config import ErrorHandling
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.java.functions import BatchFunction
from headrace.java.jvm import java_class
from headrace.java.polled_records import PolledRecords
from headrace.java.record_functions import transformation_function
from headrace.java.records import java_source_record
from headrace.java.transformations import transformation_class
from headrace.plugins.discovery import Plugins, plugins_of
from headrace.task import java_runs
from headrace.task.errors.processing_context import Operation, Stage
from headrace.task.java_chain import JavaStep
from headrace.task.java_runs import JavaRun, chain_with_java_runs
from headrace.task.transformation_chain import TransformationChain, TransformationStage, create_transformation_chain
from tests.java.calls import calls_in
from tests.java.java_connectors import compiled
from tests.java.test_java_batches import Failures, handling

KAFKA: Final = "org.apache.kafka.connect"
MARK: Final = "tests.java.marking_transform.Mark"
REFUSE: Final = "RefusingPlugins$RefusingTransformation"
STAGES: Final = {
    "note": {"type": f"{KAFKA}.transforms.InsertHeader", "header": "seen", "value.literal": "7"},
    "first": {"type": REFUSE},
    "mark": {"type": MARK, "mark": "?"},
    "late": {"type": REFUSE, "predicate": "a"},
    "few": {"type": f"{KAFKA}.transforms.Filter", "predicate": "empty"},
    "last": {"type": REFUSE, "predicate": "a", "negate": "true"},
    "route": {"type": f"{KAFKA}.transforms.RegexRouter", "regex": "(.*)", "replacement": "x-$1"},
    "end": {"type": MARK, "mark": "."},
}
PREDICATES: Final = {
    "predicates": "empty,a",
    "predicates.empty.type": f"{KAFKA}.transforms.predicates.RecordIsTombstone",
    "predicates.a.type": f"{KAFKA}.transforms.predicates.TopicNameMatches",
    "predicates.a.pattern": "a",
}
ROWS: Final = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["odd 1", "odd 2", "even", "drop", "refuse", "\U0001f600"])),
    min_size=1,
    max_size=12,
)


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Plugins:
    directory = tmp_path_factory.mktemp("plugins")
    (directory / "refusing").mkdir()
    compiled("RefusingPlugins", directory / "refusing")
    return plugins_of({"plugin.path": str(directory), "plugin.module.prefixes": "tests.java"})


def chain_of(
    plugins: Plugins, stages: Sequence[str], *, with_runs: bool, java_task: bool = False
) -> tuple[TransformationChain[Any, Any], Failures]:
    settings = {f"transforms.{each}.{name}": text for each in stages for name, text in STAGES[each].items()}
    props = {"name": "c", "connector.class": "FileStreamSource", "errors.tolerance": "all", **settings, **PREDICATES}
    config, failures = SourceConnectorConfig({**props, "transforms": ",".join(stages)}), Failures()
    errors = handling(failures, config.error_handling)
    chain = create_transformation_chain(config, plugins, errors)
    assert chain.uses_java is any(STAGES[each]["type"] == REFUSE for each in stages)
    if with_runs:
        assembly: Any = SimpleNamespace(config=config, plugins=plugins)
        chain = chain_with_java_runs(assembly, chain, errors, java_task=java_task)
    return chain, failures


def records(rows: Sequence[tuple[str, str]]) -> list[SourceRecord]:
    return [
        SourceRecord({"a": 1}, {"at": at}, topic, value_schema=Schema.STRING, value=text)
        for at, (topic, text) in enumerate(rows)
    ]


def polled(rows: Sequence[tuple[str, str]]) -> PolledRecords:
    return PolledRecords([java_source_record(each) for each in records(rows)])


@pytest.mark.parametrize("java_task", [True, False], ids=["java task", "python task"])
def test_the_same_as_single_records(plugins: Plugins, java_task: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_runs, "WORTH_COLUMNS", 1)

    @given(ROWS)
    def compare(rows: list[tuple[str, str]]) -> None:
        results = []
        for with_runs in (False, True):
            chain, failures = chain_of(plugins, [*STAGES], with_runs=with_runs, java_task=java_task)
            batch = polled(rows) if java_task else records(rows)
            applied = chain.apply_all(batch, batch)
            results.append((list(map(shown, applied)), sorted(failures.found), failures.steps.counts()))
        assert results[0] == results[1]

    compare()


def shown(record: Any) -> Any:
    if record is None:
        return None
    headers = [(each.key, each.value) for each in record.headers]
    return record.topic, record.value_schema, record.value, headers, record.source_partition, record.source_offset


@pytest.mark.parametrize(
    ("stages", "java_task", "runs"),
    [
        (["note", "first", "mark"], False, [(1, 2)]),
        (["note", "first", "mark"], True, [(0, 2)]),
        (["note", "mark", "route"], True, [(0, 1)]),
        (["note", "mark", "route"], False, []),
        (["first", "note", "late", "mark", "route", "last", "end"], False, [(0, 3), (5, 6)]),
    ],
)
def test_the_runs_of_a_chain(plugins: Plugins, stages: list[str], java_task: bool, runs: list[tuple[int, int]]) -> None:
    chain, _ = chain_of(plugins, stages, with_runs=True, java_task=java_task)
    assert [(each.first, each.end) for each in chain._runs] == runs


def test_records_cost_no_calls_of_java(plugins: Plugins) -> None:
    counts: dict[bool, list[int]] = {False: [], True: []}
    for with_runs, found in counts.items():
        chain, _ = chain_of(plugins, ["first", "mark", "late"], with_runs=with_runs, java_task=True)
        for count in (30, 30, 1030):
            batch = polled([("a", f"even {number}") for number in range(count)])
            found.append(calls_in(lambda chain=chain, batch=batch: chain.apply_all(batch, batch), "headrace.java"))  # type: ignore[misc]
    calls = {with_runs: (found[2] - found[1]) / 1000 for with_runs, found in counts.items()}
    assert 3 * calls[True] < 200 < calls[False]  # the few are of Python alone


def test_a_record_that_java_or_python_cannot_hold_fails_alone(plugins: Plugins) -> None:
    chain, failures = chain_of(plugins, ["first", "mark"], with_runs=True)
    batch = records([("a", f"even {number}") for number in range(30)])
    batch[7] = SourceRecord({"a": 1}, {"at": 7}, "a", value=2**63)
    applied = chain.apply_all(batch, batch)
    assert [place for place, each in enumerate(applied) if each is None] == [7]
    assert failures.found == [(f"TRANSFORMATION first ({REFUSE})", 7)]

    java = [java_source_record(each) for each in batch[:7] + batch[8:]]
    java[3] = java[3].newRecord("a", None, None, None, None, "even", java_class("java.lang.Long")(1))
    java[3].headers().add("late", java_class("java.util.Date")(2**50), None)
    failures.found.clear()
    chain, failures = chain_of(plugins, ["first", "mark"], with_runs=True, java_task=True)
    of_java = PolledRecords(java)
    applied = chain.apply_all(of_java, of_java)
    assert [place for place, each in enumerate(applied) if each is None] == [3]
    assert failures.found == [(f"TRANSFORMATION first ({REFUSE})", 3)]


def test_a_header_that_java_refuses_fails_its_record_alone(plugins: Plugins) -> None:
    chain, failures = chain_of(plugins, ["first", "mark"], with_runs=True)
    batch = records([("a", f"even {number}") for number in range(30)])
    batch[7].headers.add_header(Header("none", None, Schema.INT64))
    applied = chain.apply_all(batch, batch)
    assert [place for place, each in enumerate(applied) if each is None] == [7]
    assert failures.found == [(f"TRANSFORMATION first ({REFUSE})", 7)]


def test_records_of_a_sink() -> None:
    """Their origin stays, whatever a stage in Java makes of them."""
    transformation = transformation_class((), f"{KAFKA}.transforms.RegexRouter")()
    transformation.configure({"regex": "(.*)", "replacement": "x-$1"})
    errors, operation = handling(Failures(), ErrorHandling()), Operation(Stage.TRANSFORMATION, "a", "b")
    step = JavaStep(operation, BatchFunction(transformation_function(transformation.java, None, negate=False)))
    stages = [TransformationStage(operation, transformation)]
    single = TransformationChain(stages, errors)
    batches = TransformationChain(stages, errors, [JavaRun(0, [step], errors)])
    consumed = [
        SinkRecord("t", 3, None, None, None, {"a": number}, number, original_topic="o", original_kafka_partition=4)
        for number in range(30)
    ]
    assert list(batches.apply_all(consumed, [])) == list(single.apply_all(consumed, []))
    (changed, *_) = batches.apply_all(consumed, [])
    assert (changed.topic, changed.original_topic, changed.original_kafka_partition) == ("x-t", "o", 4)
