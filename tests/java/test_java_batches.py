# SPDX-License-Identifier: Apache-2.0
"""Batches that are converted within the JVM: the same as those that headrace's own plugins make record by record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.record import SourceRecord
from headrace.api.schema import Schema
from headrace.config.connector_config import ErrorHandling
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.java.functions import BatchFunction, method
from headrace.java.jvm import java_class
from headrace.java.polled_records import PolledRecords
from headrace.java.records import java_source_record
from headrace.plugins.discovery import Plugins, plugins_of
from headrace.task.errors.processing_context import ProcessingContext
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance, ToleranceExceededError
from headrace.task.record_converter import create_record_converter
from headrace.task.source import java_batches
from headrace.task.source.java_batches import JavaBatches
from headrace.task.source.java_steps import create_java_steps
from headrace.task.source.source_batch import SourceBatch, SourceBatches
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_steps import TaskSteps
from headrace.task.topic_batch import TopicBatch
from headrace.task.transformation_chain import create_transformation_chain
from tests.java.bad_plugins import bad_plugins
from tests.java.calls import calls_in
from tests.java.java_connectors import compiled

KAFKA: Final = "org.apache.kafka.connect"
BASE: Final = {"name": "c", "connector.class": "FileStreamSource", "errors.tolerance": "all"}
JSON: Final = {"key.converter": "JsonConverter", "value.converter": "JsonConverter"}
TEXT: Final = {"key.converter": "StringConverter", "value.converter": "StringConverter"}
ROUTED: Final = {
    **JSON,
    "transforms": "few,note,route",
    "transforms.few.type": f"{KAFKA}.transforms.Filter",
    "transforms.few.predicate": "empty",
    "transforms.note.type": f"{KAFKA}.transforms.InsertHeader",
    "transforms.note.header": "seen",
    "transforms.note.value.literal": "7",
    "transforms.note.predicate": "a",
    "transforms.note.negate": "true",
    "transforms.route.type": f"{KAFKA}.transforms.RegexRouter",
    "transforms.route.regex": "(.*)",
    "transforms.route.replacement": "x-$1",
    "predicates": "empty,a",
    "predicates.empty.type": f"{KAFKA}.transforms.predicates.RecordIsTombstone",
    "predicates.a.type": f"{KAFKA}.transforms.predicates.TopicNameMatches",
    "predicates.a.pattern": "a",
}
FAILING: Final = {
    "key.converter": f"{KAFKA}.converters.LongConverter",
    "value.converter": f"{KAFKA}.converters.IntegerConverter",
    "transforms": "number",
    "transforms.number.type": f"{KAFKA}.transforms.Cast$Value",
    "transforms.number.spec": "int32",
}
"""Texts that are no numbers fail in the transformation, and keys that are no longs in their converter."""
REFUSING: Final = {
    "key.converter": "StringConverter",
    "value.converter": "RefusingPlugins$RefusingConverter",
    "transforms": "refuse",
    "transforms.refuse.type": "RefusingPlugins$RefusingTransformation",
    "errors.retry.timeout": "60000",
}
NUMBERS: Final = [f"{'odd' if number % 2 else 'even'} {number}" for number in range(6)]
PICKY: Final = {**JSON, "header.converter": f"{KAFKA}.converters.IntegerConverter", "errors.tolerance": "all"}
"""Texts in headers fail in their converter."""
CHAINS: Final = {"picky": PICKY, "json": JSON, "text": TEXT, "routed": ROUTED, "failing": FAILING}
DATA: Final = st.sampled_from(
    [
        (None, None),
        (None, 12),
        (None, {"a": [1, None, "b"]}),
        (Schema.STRING, "größer"),
        (Schema.STRING, "12"),
        (Schema.INT64, 5),
        (Schema.OPTIONAL_STRING, None),
    ]
)
NUMBER: Final = st.none() | st.integers(0, 9)
RECORDS: Final = st.lists(
    st.tuples(NUMBER, NUMBER, st.sampled_from("ab"), NUMBER, DATA, DATA, NUMBER, st.booleans()), min_size=1, max_size=12
)


class Failures:
    """A reporter that keeps what it is called with, and the counts of all steps."""

    def __init__(self) -> None:
        self.found: list[tuple[str, int]] = []
        self.steps = TaskSteps()

    def report(self, context: ProcessingContext[SourceRecord]) -> None:
        self.found.append((str(context.operation), offset_of(context.original)))


def handling(failures: Failures, errors: ErrorHandling) -> RetryWithTolerance[SourceRecord]:
    metrics = TaskMetrics(lambda values: None, time.monotonic, steps=failures.steps)
    return RetryWithTolerance(errors, [failures], metrics, lambda seconds: False)


def both(props: Mapping[str, str]) -> Callable[[Sequence[SourceRecord]], tuple[Any, Any]]:
    """Convert records by headrace's plugins and by Java's; return of each what is sent, has failed and is counted."""
    made = [batches_of(props, in_java) for in_java in (False, True)]

    def converted(records: Sequence[SourceRecord]) -> tuple[Any, Any]:
        java = PolledRecords([java_source_record(record) for record in records])
        results = []
        for (batches, failures), polled in zip(made, (records, java), strict=True):
            failures.found.clear()
            results.append((*shown(batches.convert(polled)), sorted(failures.found), failures.steps.counts()))
        return results[0], results[1]

    return converted


def batches_of(props: Mapping[str, str], in_java: bool, plugins: Plugins | None = None) -> tuple[Any, Failures]:
    """The batches of a connector with these properties, record by record or in Java, and the failures of them."""
    config, failures = SourceConnectorConfig({**BASE, **props}), Failures()
    plugins = plugins or plugins_of({})
    errors, converters = handling(failures, config.error_handling), TaskConverters(config.raw, {}, plugins)
    chain, converter = create_transformation_chain(config, plugins, errors), create_record_converter(converters, errors)
    if not in_java:
        return SourceBatches("c", chain, converter, remember=True), failures
    assembly: Any = SimpleNamespace(config=config, plugins=plugins, converters=converters)
    steps = create_java_steps(assembly, chain, converter)
    assert steps is not None
    return JavaBatches("c", steps, errors, None, lambda batch: None, remember=True), failures


def shown(batch: SourceBatch) -> tuple[Any, ...]:
    dropped = sorted(offset_of(record) for record in batch.dropped)
    return sorted(map(columns, batch.topic_batches), key=str), list(batch.offsets.values()), batch.size, dropped


def columns(batch: TopicBatch) -> tuple[Any, ...]:
    """All of a batch; a column of nothing is none."""
    found = [batch.values, batch.keys, batch.partitions, batch.timestamps, batch.headers]
    given = [column if column and any(each is not None for each in column) else None for column in found]
    sources = [[offset_of(record) for record in column or ()] for column in (batch.sources, batch.origins)]
    return (batch.topic, len(batch.values), *given, *sources)


def offset_of(record: SourceRecord) -> int:
    assert record.source_offset is not None
    return int(record.source_offset["at"])


@pytest.mark.parametrize(("chain", "shared"), [*((chain, 100) for chain in CHAINS), ("json", 1)])
def test_the_same_batches(chain: str, shared: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more different headers than may be ``shared``, those of each record are converted."""
    monkeypatch.setattr(java_batches, "_MOST_SHARED", shared)
    convert = both(CHAINS[chain])

    @given(RECORDS)
    def compare(rows: list[tuple[Any, ...]]) -> None:
        records = [source_record(at, *row) for at, row in enumerate(rows)]
        ours, java = convert(records)
        assert java == ours

    compare()


def source_record(at: int, source: int | None, place: int | None, topic: str, partition: int | None, *rest: Any) -> Any:
    key, value, timestamp, noted = rest
    # A partition that is None has no offset to store; the place makes offsets of Java's that are other maps.
    origin = None if source is None else {"source": source % 3}
    record = SourceRecord(origin, {"at": at, "place": place}, topic, partition, *key, *value, timestamp)
    if noted:
        record.headers.add_string("note", "größer").add("number", at % 2, Schema.INT32)
    return record


def test_a_record_that_fails_is_tried_alone_and_none_sees_a_step_twice() -> None:
    seen = java_class("java.util.ArrayList")()
    add = method("java.util.ArrayList", "add", "java.lang.Object").bindTo(seen)
    recovered: list[int] = []

    def recover(row: int, error: Any, again: Callable[[], Any]) -> Any:
        recovered.append(row)
        return -1

    words = java_class("java.util.Arrays").asList("a", None, "ccc")
    assert list(BatchFunction(method("java.lang.String", "length"))(words, recover)) == [1, -1, 3]
    assert recovered == [1]
    assert list(BatchFunction(add)(words, recover)) == [True, True, True]
    assert list(seen) == ["a", None, "ccc"]


def test_what_is_not_tolerated_fails_with_the_record() -> None:
    batches, _ = batches_of({**FAILING, "errors.tolerance": "none"}, in_java=True)
    records = [SourceRecord({"a": 1}, {"at": 3}, "t", value_schema=Schema.STRING, value=text) for text in ("1", "x")]
    with pytest.raises(ToleranceExceededError, match=r"TRANSFORMATION number .*source partition \{'a': 1\} and offset"):
        batches.convert(PolledRecords([java_source_record(record) for record in records]))
    assert batches.convert(PolledRecords([java_source_record(records[0])])).size == 1


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Plugins:
    directory = tmp_path_factory.mktemp("plugins")
    (directory / "refusing").mkdir()
    compiled("RefusingPlugins", directory / "refusing")
    return plugins_of({"plugin.path": str(directory)})


@pytest.mark.parametrize("in_java", [True, False], ids=["java", "python"])
def test_what_can_be_retried_is_retried_and_the_batch_goes_on(refusing: Plugins, in_java: bool) -> None:
    """Each record is retried by itself, in its place; those before and after it are converted once."""
    batches, failures = batches_of(REFUSING, in_java, refusing)
    polled = text_records(NUMBERS)
    batch = batches.convert(polled)
    assert batch.topic_batches[0].values == [b"%s!?" % text.encode() for text in NUMBERS]
    assert ([offset_of(each) for each in batch.topic_batches[0].sources], batch.size) == ([0, 1, 2, 3, 4, 5], 6)
    assert failures.found == []
    _, refuse, converter, _ = failures.steps.counts()
    assert (refuse.records_in, refuse.records_out, refuse.filtered, refuse.errors) == (6, 6, 0, 0)
    assert (converter.records_in, converter.records_out, converter.errors) == (6, 6, 0)
    assert refuse.retries > 0


@pytest.mark.parametrize("in_java", [True, False], ids=["java", "python"])
def test_what_may_not_be_retried_is_skipped(refusing: Plugins, in_java: bool) -> None:
    batches, failures = batches_of({**REFUSING, "errors.retry.timeout": "0"}, in_java, refusing)
    batch = batches.convert(text_records(NUMBERS))
    assert batch.topic_batches[0].values == [b"even 0!?", b"even 2!?", b"even 4!?"]
    assert [offset_of(each) for each in batch.dropped] == [1, 3, 5]
    assert failures.found == [("TRANSFORMATION refuse (RefusingPlugins$RefusingTransformation)", n) for n in (1, 3, 5)]
    _, refuse, converter, topic = failures.steps.counts()
    assert (refuse.records_in, refuse.records_out, refuse.filtered, refuse.errors) == (6, 3, 0, 3)
    assert (converter.records_in, topic.records_in) == (3, 3)


def test_records_of_a_transformation_with_a_missing_type_stay_in_java(tmp_path: Path) -> None:
    """``batches_of`` asserts it; JPype refuses its class."""
    lacking = {"transforms": "lacks", "transforms.lacks.type": "BadSource$LacksTypeTransformation"}
    plugins = plugins_of({"plugin.path": str(bad_plugins(tmp_path))})
    batches, failures = batches_of({**TEXT, **lacking}, in_java=True, plugins=plugins)
    assert batches.convert(text_records(["one", "two"])).topic_batches[0].values == [b"one", b"two"]
    assert failures.found == []


@pytest.mark.parametrize("chain", [TEXT, {**ROUTED, "transforms": "note,route"}], ids=["text", "routed"])
def test_what_crosses_to_python_crosses_per_batch(chain: Mapping[str, str]) -> None:
    """Python makes as many calls, Java's methods included, for many records as for a few, and no records."""
    batches, _ = batches_of(chain, in_java=True)
    few, many = (text_records([str(number) for number in range(count)]) for count in (10, 1000))
    batches.convert(few)
    counts = [calls_in(lambda polled=polled: batches.convert(polled)) for polled in (few, many)]  # type: ignore[misc]
    assert counts[0] == counts[1] > 0
    assert (few._records, many._records) == (None, None)


def text_records(texts: Sequence[str]) -> PolledRecords:
    records = [
        SourceRecord({"a": 1}, {"at": at}, "t", value_schema=Schema.STRING, value=text) for at, text in enumerate(texts)
    ]
    return PolledRecords([java_source_record(record) for record in records])
