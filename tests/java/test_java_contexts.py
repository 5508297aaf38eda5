# SPDX-License-Identifier: Apache-2.0
"""What Java tasks can ask of the runtime, asked by Java's own calls."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConnectError, DataError
from headrace.api.record import SinkRecord, SourceRecord
from headrace.api.schema import Schema
from headrace.api.sink import OffsetAndMetadata, TopicPartition
from headrace.java import jvm
from headrace.java.data import java_map
from headrace.java.errant_records import ErrantRecords
from headrace.java.jvm import java_class, jpype
from headrace.java.offset_reader import java_offset_reader
from headrace.java.partitions import java_offsets, java_partition, python_offsets
from headrace.java.polled_records import PolledRecords
from headrace.java.put_records import java_put_records, put_record
from headrace.java.records import java_sink_record, java_source_record, python_source_record
from headrace.java.task_contexts import sink_task_context, source_task_context
from headrace.java.transactions import JavaTransactions
from headrace.task.source.transaction_boundary import ConnectorBoundary, End, Step, WorkerTransactionContext
from tests.java.task_contexts import KeptOffsets, KeptReports, SinkContext, SourceContext

CONNECT = "org.apache.kafka.connect"


@pytest.fixture(autouse=True, scope="module")
def started_jvm() -> None:
    jvm.start()


def seen_by_java(proxy: Any, interface: str) -> Any:
    """The object as Java code has it."""
    return jpype().JObject(proxy, java_class(interface))


def java_records(*numbers: int) -> list[Any]:
    return [java_source_record(SourceRecord({"p": 1}, {"n": n}, "t", value=n)) for n in numbers]


def test_offsets_keep_nested_maps_and_long_integers() -> None:
    offset = {"n": 2**40, "small": 1, "flag": True, "text": "x", "none": None, "nested": {"lsn": 7, "list": [1, 2]}}
    reader = KeptOffsets(({"db": "a", "id": 1}, offset))
    java = seen_by_java(java_offset_reader(reader.offsets), f"{CONNECT}.storage.OffsetStorageReader")
    found = java.offset(java_map({"db": "a", "id": 1}))
    assert found.get("small").getClass().getName() == "java.lang.Long"
    assert found.get("nested").get("lsn").getClass().getName() == "java.lang.Long"
    record = java_class(f"{CONNECT}.source.SourceRecord")(java_map({"id": 1}), found, "t", None, None)
    assert python_source_record(record).source_offset == offset
    asked = java_class("java.util.ArrayList")()
    for number in (1, 2):
        asked.add(java_map({"db": "a", "id": number}))
    several = java.offsets(asked)
    assert several.get(asked.get(0)).equals(found)
    assert several.containsKey(asked.get(1))
    assert several.get(asked.get(1)) is None
    assert reader.asked == [{"db": "a", "id": 1}, {"db": "a", "id": 1}, {"db": "a", "id": 2}]


def test_what_a_source_task_can_ask() -> None:
    context = SourceContext()
    java = seen_by_java(source_task_context(context, None), f"{CONNECT}.source.SourceTaskContext")
    assert dict(java.configs().items()) == {"name": "java"}
    assert java.transactionContext() is None
    reader = seen_by_java(java.offsetStorageReader(), f"{CONNECT}.storage.OffsetStorageReader")
    assert reader.offset(java_map({"id": 1})) is None


def test_metrics_of_plugins() -> None:
    context = SourceContext()
    java = seen_by_java(source_task_context(context, None), f"{CONNECT}.source.SourceTaskContext").pluginMetrics()
    tags = java_class("java.util.LinkedHashMap")()
    tags.put("table", "orders")
    name = java.metricName("rows-total", "Rows read", tags)
    sensor = java.addSensor("rows")
    sensor.add(name, java_class("org.apache.kafka.common.metrics.stats.CumulativeSum")())
    sensor.record(3.0)
    sensor.record(4.0)
    value, description, given = context.metrics.gauges["rows-total"]
    assert (value(), description, given) == (7.0, "Rows read", {"table": "orders"})
    java.removeSensor("rows")
    assert context.metrics.gauges == {}


def test_transactions_end_at_the_records_that_the_task_names() -> None:
    """By identity: the second record is equal to the first one."""
    worker = WorkerTransactionContext()
    transactions = JavaTransactions(worker)
    context = seen_by_java(transactions.java_context(), f"{CONNECT}.source.TransactionContext")
    polled = java_records(1, 1, 2, 3)
    context.commitTransaction(polled[0])
    context.abortTransaction(polled[3])
    records = PolledRecords(polled)
    transactions.pass_on(records)
    boundary = ConnectorBoundary(worker)
    assert boundary.plan(4, records, 0) == (Step(1, End.COMMIT), Step(4, End.ABORT))
    context.commitTransaction()
    assert boundary.plan(4, records, 0) == (Step(4, End.COMMIT),)


def test_a_transaction_ends_at_a_record_that_is_equal_to_the_one_that_the_task_names() -> None:
    """As in Java; a record of the same identity is preferred."""
    worker = WorkerTransactionContext()
    transactions = JavaTransactions(worker)
    context = seen_by_java(transactions.java_context(), f"{CONNECT}.source.TransactionContext")
    polled = java_records(1, 2, 3, 3)
    context.commitTransaction(java_records(2)[0])
    context.abortTransaction(polled[3])
    records = PolledRecords(polled)
    transactions.pass_on(records)
    assert ConnectorBoundary(worker).plan(4, records, 0) == (Step(2, End.COMMIT), Step(4, End.ABORT))


def test_a_request_waits_for_its_record() -> None:
    worker = WorkerTransactionContext()
    transactions = JavaTransactions(worker)
    context = seen_by_java(transactions.java_context(), f"{CONNECT}.source.TransactionContext")
    first, later = java_records(1, 2)
    context.commitTransaction(later)
    boundary = ConnectorBoundary(worker)
    for java, end in ((first, End.NOTHING), (later, End.COMMIT)):
        records = PolledRecords([java])
        transactions.pass_on(records)
        assert boundary.plan(1, records, 0) == (Step(1, end),)


def test_commit_and_abort_of_one_transaction_are_an_error() -> None:
    transactions = JavaTransactions(WorkerTransactionContext())
    context = seen_by_java(transactions.java_context(), f"{CONNECT}.source.TransactionContext")
    context.commitTransaction()
    with pytest.raises(java_class(f"{CONNECT}.errors.ConnectException"), match="already asked for commit"):
        context.abortTransaction()
    with pytest.raises(java_class("java.lang.NullPointerException")):
        context.commitTransaction(None)


def test_what_a_sink_task_can_ask() -> None:
    context = SinkContext()
    java = seen_by_java(sink_task_context(context, None), f"{CONNECT}.sink.SinkTaskContext")
    where, other = TopicPartition("t", 0), TopicPartition("t", 1)
    seeks = java_class("java.util.HashMap")()
    seeks.put(java_partition(*where), java_class("java.lang.Long")(5))
    java.offset(seeks)
    java.offset(java_partition(*other), 2**40)
    java.timeout(1500)
    java.pause(java_partition(*where), java_partition(*other))
    java.resume(java_partition(*where))
    java.requestCommit()
    assert context.calls == [
        ("offsets", {where: 5}),
        ("offsets", {other: 2**40}),
        ("timeout_ms", 1500),
        ("pause", where, other),
        ("resume", where),
        ("request_commit",),
    ]
    assert java.assignment().contains(java_partition("t", 1))
    assert java.assignment().size() == 2
    assert java.errantRecordReporter() is None
    assert dict(java.configs().items()) == {"name": "java"}


def test_the_consumer_of_a_sink_task() -> None:
    """Sinks that commit offsets themselves, such as Iceberg's, read it from a private field of Java's own class."""
    context, where = SinkContext(), java_class("org.apache.kafka.common.TopicPartition")("t", 0)
    made = sink_task_context(context, None)
    field = java_class(f"{CONNECT}.runtime.WorkerSinkTaskContext").class_.getDeclaredField("consumer")
    field.setAccessible(True)
    consumer = seen_by_java(field.get(made), "org.apache.kafka.clients.consumer.Consumer")
    member = consumer.groupMetadata()
    assert (str(member.groupId()), str(member.memberId())) == ("connect-java", "member-1")
    assert int(member.generationId()) == 3
    assert not member.groupInstanceId().isPresent()
    assert {str(each) for each in consumer.assignment()} == {"t-0", "t-1"}
    assert {str(each): int(at.offset()) for each, at in consumer.committed(consumer.assignment()).items()} == {"t-0": 7}
    consumer.seek(where, 5)
    consumer.seek(where, java_class("org.apache.kafka.clients.consumer.OffsetAndMetadata")(6))
    assert context.calls == [("offsets", {TopicPartition("t", 0): offset}) for offset in (5, 6)]
    assert str(made.toString()), "Java's own would need the worker"


def test_consumer_offsets_both_ways() -> None:
    offsets = {TopicPartition("t", 3): OffsetAndMetadata(2**40, "m", 5), TopicPartition("u", 0): OffsetAndMetadata(0)}
    assert python_offsets(java_offsets(offsets)) == offsets
    assert python_offsets(None) == {}


@pytest.fixture
def records() -> list[SinkRecord]:
    return [SinkRecord("renamed", 0, None, None, Schema.STRING, f"v{n}", n, original_topic="t") for n in range(3)]


def test_a_record_is_reported_as_it_was_put(records: list[SinkRecord]) -> None:
    """Also one that the task has made of it, and long after other records have been put."""
    reports = KeptReports()
    errant = ErrantRecords(reports)
    java = seen_by_java(errant.java_reporter(), f"{CONNECT}.sink.ErrantRecordReporter")
    put = java_put_records(records)
    java_put_records(records[:1])
    changed = put[2].newRecord("other", java_class("java.lang.Integer")(1), None, None, None, "changed", None)
    cause = java_class(f"{CONNECT}.errors.DataException")("bad value")
    future = java.report(changed, cause)
    [(reported, error)] = reports.reported
    assert reported is records[2]
    assert "bad value" in str(error)
    assert not future.isDone()
    reports.futures[0].set_result(None)
    assert future.get() is None
    assert put[1].originalTopic() == "t"
    assert put[1].value() == "v1"


def test_a_record_of_the_tasks_own_is_reported_as_it_is(records: list[SinkRecord]) -> None:
    reports = KeptReports()
    java = seen_by_java(ErrantRecords(reports).java_reporter(), f"{CONNECT}.sink.ErrantRecordReporter")
    future = java.report(java_sink_record(records[1]), java_class("java.lang.RuntimeException")("x"))
    assert reports.reported[0][0] == records[1]
    reports.futures[0].set_exception(ConnectError("the topic is gone"))
    with pytest.raises(java_class("java.util.concurrent.ExecutionException"), match="the topic is gone"):
        future.get()


def test_a_report_that_is_not_tolerated_is_an_exception(records: list[SinkRecord]) -> None:
    errant = ErrantRecords(KeptReports(ConnectError("no errors are tolerated")))
    java = seen_by_java(errant.java_reporter(), f"{CONNECT}.sink.ErrantRecordReporter")
    with pytest.raises(java_class(f"{CONNECT}.errors.ConnectException"), match="no errors are tolerated"):
        java.report(java_sink_record(records[0]), java_class("java.lang.RuntimeException")("x"))


def test_many_records_to_put_know_what_was_consumed_as_single_ones_do() -> None:
    records = [
        SinkRecord(f"t{at % 2}", 3, Schema.STRING, f"k{at}", None, {"a": at}, at, original_topic="o")
        for at in range(50)
    ]
    for each in records[:25]:
        each.original_kafka_partition = 7
    many, single = java_put_records(records), [java_put_records([each])[0] for each in records]
    assert [str(each) for each in many] == [str(each) for each in single]
    assert [put_record(each) for each in many] == records
    origins = [each.context().original() for each in many]
    assert [(each.topic(), each.partition(), each.offset()) for each in origins] == [
        ("o", each.original_kafka_partition, each.original_kafka_offset) for each in records
    ]


def test_a_record_to_put_that_java_cannot_hold_is_named() -> None:
    records = [SinkRecord("t", 3, None, None, None, at, at) for at in range(30)]
    records[7] = SinkRecord("t", 3, None, None, None, 2**63, 7)
    with pytest.raises(DataError, match="cannot hold the value 9223372036854775808"):
        java_put_records(records)
