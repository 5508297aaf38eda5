# SPDX-License-Identifier: Apache-2.0
"""Sink records that are made within the JVM: the same as those that headrace's own plugins make one by one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from confluent_kafka import Message
from hypothesis import given
from hypothesis import strategies as st

from bench.java_connect import fetch
from headrace.api.converter import SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.record import SinkRecord
from headrace.api.sink import TopicPartition
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.java.put_records import PutRecords, java_put_records, put_record
from headrace.java.records import java_sink_record, python_sink_record
from headrace.java.sink_task import sink_task_class
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.plugins.discovery import plugins_of
from headrace.task.errors.processing_context import ConsumedRecord, ProcessingContext
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.sink.java_sink_records import create_java_converter
from headrace.task.sink.sink_batch import SinkBatch, SinkBatches
from headrace.task.sink.sink_record_converter import HeadersReader, Reader, SinkRecordConverter
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_steps import TaskSteps
from headrace.task.transformation_chain import create_transformation_chain
from tests.support.debian import or_skip

KAFKA: Final = "org.apache.kafka.connect"
BASE: Final = {"name": "c", "connector.class": "FileStreamSink", "topics": "a", "errors.tolerance": "all"}
JSON: Final = {"key.converter": "JsonConverter", "value.converter": "JsonConverter"}
ROUTED: Final = {
    "key.converter": "StringConverter",
    "value.converter": "JsonConverter",
    "transforms": "few,number,route",
    "transforms.few.type": f"{KAFKA}.transforms.Filter",
    "transforms.few.predicate": "empty",
    "transforms.number.type": f"{KAFKA}.transforms.Cast$Value",
    "transforms.number.spec": "int32",
    "transforms.route.type": f"{KAFKA}.transforms.RegexRouter",
    "transforms.route.regex": "(.*)",
    "transforms.route.replacement": "x-$1",
    "predicates": "empty",
    "predicates.empty.type": f"{KAFKA}.transforms.predicates.RecordIsTombstone",
}
CHAINS: Final = {"json": JSON, "routed": ROUTED}
DATA: Final = st.sampled_from(
    [
        None,
        b'{"schema":{"type":"string"},"payload":"12"}',
        b'{"schema":{"type":"string"},"payload":"no number"}',
        b'{"schema":{"type":"struct","fields":[{"type":"int64","field":"a"}]},"payload":{"a":5}}',
        b"{",
        b'{"schema":null,"payload":[1,null,"gr\xc3\xb6\xc3\x9fer"]}',
    ]
)
HEADERS: Final = st.one_of(
    st.none(),
    st.lists(
        st.tuples(st.sampled_from(["h", "bad"]), st.sampled_from([None, b"1", b"true", b"[1,2]", b"text"])), max_size=3
    ),
)
NOT_PYTHONS: Final = {
    "a year": b'{"schema":{"type":"int64","name":"org.apache.kafka.connect.data.Timestamp"},"payload":253402300800000}',
    "half a pair": b'{"schema":{"type":"string"},"payload":"\\ud800"}',
    "a list as key": b'{"schema":{"type":"map","keys":{"type":"array","items":{"type":"int32"}},'
    b'"values":{"type":"int32"}},"payload":[[[1],2]]}',
}
"""Values that Java holds, and Python does not."""
TIMES: Final = st.sampled_from([(0, -1), (1, 5), (2, 9)])
MESSAGES: Final = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), DATA, DATA, TIMES, HEADERS), max_size=12)


class PickyHeaders(SimpleHeaderConverter):
    """A header converter that fails for headers of one name."""

    def to_connect_header(self, topic: str, header_key: str, value: bytes | None) -> SchemaAndValue:
        if header_key == "bad":
            raise DataError(f"{topic} has a bad header")
        return super().to_connect_header(topic, header_key, value)


class Failures:
    """A reporter that keeps what it is called with, and the counts of all steps."""

    def __init__(self) -> None:
        self.found: list[tuple[str, ConsumedRecord]] = []
        self.steps = TaskSteps(sink=True)

    def report(self, context: ProcessingContext[ConsumedRecord]) -> None:
        self.found.append((str(context.operation), context.original))


def converter_of(chain: str, in_java: bool) -> tuple[Any, Failures]:
    """The converter of a connector, one by one or in Java, and the failures of it."""
    config, plugins, failures = SinkConnectorConfig({**BASE, **CHAINS[chain]}), plugins_of({}), Failures()
    metrics = TaskMetrics(lambda values: None, time.monotonic, steps=failures.steps)
    converters = TaskConverters(config.raw, {}, plugins)
    errors: RetryWithTolerance[ConsumedRecord] = RetryWithTolerance(
        config.error_handling, [failures], metrics, lambda seconds: False
    )
    steps = create_transformation_chain(config, plugins, errors)
    key, value = (Reader(*converters.create_converter(f"{part}.converter")) for part in ("key", "value"))
    operation, _ = converters.header_converter()
    ours = SinkRecordConverter(key, value, HeadersReader(operation, PickyHeaders()), steps, errors, reportable=True)
    if not in_java:
        return ours, failures
    assembly: Any = SimpleNamespace(config=config, plugins=plugins, converters=converters)
    java = create_java_converter(assembly, steps, ours, errors)
    assert java is not None
    return java, failures


@pytest.mark.parametrize("chain", CHAINS)
def test_the_same_records(chain: str) -> None:
    both = [converter_of(chain, in_java) for in_java in (False, True)]

    @given(MESSAGES)
    def compare(rows: list[tuple[Any, ...]]) -> None:
        found = []
        for converter, failures in both:
            failures.found.clear()
            records = converter.records(ConsumedMessages(messages(rows)))
            assert isinstance(records, PutRecords) is (converter is both[1][0] and bool(records))
            put = [put_record(java) for java in java_put_records(records)]
            for each in (*put, *records):  # also behind a transformation that has dropped some
                consumed, row = each.consumed
                assert consumed.offsets[row] == each.kafka_offset
            shown_records, counts = [shown(record) for record in records], failures.steps.counts()
            found.append((shown_records, sorted(failures.found, key=str), counts))
        assert found[1] == found[0]

    compare()


def messages(rows: Sequence[tuple[Any, ...]]) -> list[Message]:
    return [
        Message(
            topic=topic,
            partition=partition,
            offset=100 + at,
            key=key,
            value=value,
            timestamp=timestamp,
            headers=headers,
        )
        for at, (topic, partition, key, value, timestamp, headers) in enumerate(rows)
    ]


def shown(record: SinkRecord) -> SinkRecord:
    """The record as Java has it: text that is a number in Python is one in Java."""
    return python_sink_record(java_sink_record(record))


@pytest.mark.parametrize("size", [1, 2, 299, 300])
@pytest.mark.parametrize("chain", CHAINS)
def test_the_same_for_every_size_of_a_batch(chain: str, size: int) -> None:
    """Also of a later batch, and of the records that fail, are dropped, or have another topic or no timestamp."""
    found = []
    for in_java in (False, True):
        converter, failures = converter_of(chain, in_java)
        batches = [converter.records(ConsumedMessages(numbered(size, first))) for first in (0, 1, 4, 0)]
        assert all(isinstance(each, PutRecords) is in_java for each in batches if each)
        assert sum(map(len, batches)) < 4 * size and failures.found
        found.append(
            ([[shown(record) for record in batch] for batch in batches], failures.found, failures.steps.counts())
        )
    assert found[1] == found[0]


def numbered(size: int, first: int) -> list[Message]:
    """Consumed records of two topics: each fourth one's value is no JSON, some have neither value nor timestamp."""
    data = [b"{", None, b'{"schema":{"type":"string"},"payload":"7"}', b'{"schema":{"type":"string"},"payload":"12"}']
    rows = [
        ("ab"[row % 3 == 1], row % 2, None, data[row % 4], (row % 3, row), [("h", b"%d" % row)] if row % 5 else None)
        for row in range(first, first + size)
    ]
    return messages(rows)


@pytest.mark.parametrize("size", [1, 300])
@pytest.mark.parametrize("value", NOT_PYTHONS.values(), ids=NOT_PYTHONS)
def test_what_python_cannot_hold_reaches_the_task(value: bytes, size: int, tmp_path: Path) -> None:
    """Also what is left of a batch after a rebalance; lineage reads the schema, and reports what was consumed."""
    converter, failures = converter_of("json", in_java=True)
    records = converter.records(ConsumedMessages(messages([("a", 0, None, value, (1, 5), None)] * size)))
    assert (len(records), failures.found) == (size, [])
    with pytest.raises(DataError):
        print(records[0].value)
    assert records[0].value_schema is not None
    task, file = sink_task_class(or_skip(fetch), "org.apache.kafka.connect.file.FileStreamSinkTask")(), tmp_path / "put"
    task.start({"file": str(file)})
    batches, batch = SinkBatches(task, converter), SinkBatch(records)
    kept = batches.without(batch, {TopicPartition("a", 1)})
    batches.put(batch)
    batches.put(kept)
    task.stop()
    assert file.read_bytes().count(b"\n") == 2 * size
    for java in (*java_put_records(records), *java_put_records(kept.records)):
        consumed, row = put_record(java).consumed
        assert consumed.values[row] == value


def test_records_of_an_earlier_batch_are_found_when_others_have_been_put() -> None:
    converter, _ = converter_of("json", in_java=True)
    batches = [converter.records(ConsumedMessages(numbered(8, first))) for first in (0, 100)]
    earlier, later = (java_put_records(batch)[1] for batch in batches)
    with ThreadPoolExecutor(1) as other:
        found = [other.submit(put_record, java).result() for java in (earlier, later)]
    assert [each.value for each in found] == ["7", "7"]
    assert [each.consumed[0].timestamps[each.consumed[1]] for each in found] == [(2, 2), (0, 102)]


def test_a_records_headers_are_its_own() -> None:
    """Headers are read once for many records; a task that changes those of one leaves the others as they are."""
    converter, _ = converter_of("json", in_java=True)
    row = ("a", 0, None, None, (1, 5), [("h", b"1")])
    first, second = converter.records(ConsumedMessages(messages([row, row]))).java
    first.headers().remove("h")
    assert first.headers().isEmpty() and second.headers().size() == 1
