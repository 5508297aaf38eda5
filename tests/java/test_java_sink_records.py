# SPDX-License-Identifier: Apache-2.0
"""Sink records that are made within the JVM: the same as those that headrace's own plugins make one by one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

import pytest
from confluent_kafka import Message
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.converter import SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.record import SinkRecord
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.java.put_records import PutRecords, java_put_records, put_record
from headrace.java.records import java_sink_record, python_sink_record
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.plugins.discovery import plugins_of
from headrace.task.errors.processing_context import ConsumedRecord, ProcessingContext
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.sink.java_sink_records import JavaSinkRecordConverter, create_java_converter
from headrace.task.sink.sink_record_converter import HeadersReader, Reader, SinkRecordConverter
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics
from headrace.task.task_steps import TaskSteps
from headrace.task.transformation_chain import create_transformation_chain

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
    parts = java._key, java._value, java._transformations, errors
    return JavaSinkRecordConverter(ours, *parts, at_least=0), failures


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


def test_few_records_are_converted_one_by_one() -> None:
    converter, _ = converter_of("json", in_java=True)
    (message,) = messages([("a", 0, None, b'{"schema":null,"payload":1}', (1, 5), [("h", b"1")])])
    usual = JavaSinkRecordConverter(
        converter._converter, converter._key, converter._value, converter._transformations, converter._errors
    )
    few = usual.records(ConsumedMessages([message] * 299))
    assert isinstance(few, list) and few[0].headers.last_with_name("h").value == 1
    assert isinstance(usual.records(ConsumedMessages([message] * 300)), PutRecords)


def test_a_records_headers_are_its_own() -> None:
    """Headers are read once for many records; a task that changes those of one leaves the others as they are."""
    converter, _ = converter_of("json", in_java=True)
    row = ("a", 0, None, None, (1, 5), [("h", b"1")])
    first, second = converter.records(ConsumedMessages(messages([row, row]))).java
    first.headers().remove("h")
    assert first.headers().isEmpty() and second.headers().size() == 1
