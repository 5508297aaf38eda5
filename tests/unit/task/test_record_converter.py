# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.api.converter import Converter, HeaderConverter
from headrace.api.errors import DataError, RetriableError
from headrace.api.headers import RAW, Headers
from headrace.api.schema import Schema
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import Operation, Stage
from headrace.task.errors.retry_with_tolerance import ToleranceExceededError
from headrace.task.record_converter import HeadersConverter, PartConverter, RecordConverter, create_record_converter
from headrace.task.task_converters import TaskConverters
from headrace.task.topic_batch import TopicBatch
from tests.unit.task import support_plugins

STRING = "org.apache.kafka.connect.storage.StringConverter"
WORKER = {"key.converter": STRING, "value.converter": STRING}
PLAIN = f"{support_plugins.__name__}.Plain"


@pytest.fixture
def converter(plugins: Plugins, errors: Any) -> RecordConverter:
    return create_record_converter(TaskConverters({}, WORKER, plugins), errors())


def batches_of(converter: RecordConverter, *args: Any) -> list[TopicBatch]:
    batches, skipped = converter.convert_records(*args)
    assert skipped == []
    return batches


def test_one_batch_for_each_topic_in_order(converter: RecordConverter, record: Any) -> None:
    records = [record("1"), record("2", topic="u"), record("3")]
    batches = batches_of(converter, records)
    assert [(b.topic, b.values) for b in batches] == [("t", [b"1", b"3"]), ("u", [b"2"])]
    for batch in batches:
        assert _plain(batch)
        assert batch.keys is None


def test_columns_come_into_being_with_their_first_value(converter: RecordConverter, record: Any) -> None:
    headers = Headers().add_string("h", "x")
    records = [
        record("1"),
        record("2", key="k", key_schema=Schema.STRING, kafka_partition=0),
        record("3", timestamp=5, headers=headers),
        record(None),
    ]
    [batch] = batches_of(converter, records)
    assert batch.values == [b"1", b"2", b"3", None]
    assert batch.keys == [None, b"k", None, None]
    assert batch.partitions == [None, 0, None, None]
    assert batch.timestamps == [None, None, 5, None]
    assert batch.headers == [None, None, [("h", b"x")], None]
    assert not _plain(batch)


def test_the_records_behind_the_rows(converter: RecordConverter, record: Any) -> None:
    polled = [record("a"), record("b", topic="u"), record("c")]
    first, second = batches_of(converter, [r.replace(value="x") for r in polled], polled)
    assert first.sources is not None
    assert first.sources[0] is polled[0] and first.sources[1] is polled[2]
    assert second.sources == [polled[1]]


def test_what_cannot_be_converted_is_named(plugins: Plugins, record: Any, errors: Any) -> None:
    worker = {"key.converter": "JsonConverter", "value.converter": "JsonConverter"}
    json = create_record_converter(TaskConverters({}, worker, plugins), errors(tolerates=False))
    named = r"^VALUE_CONVERTER \(org.apache.kafka.connect.json.JsonConverter\) failed for the record of topic t with "
    place = r"source partition {'p': 'p'} and offset {'n': 7}: "
    hint = r"\. To set such records aside, set errors.tolerance=all and errors.deadletterqueue.topic.name$"
    with pytest.raises(ToleranceExceededError, match=f"{named}{place}.*{hint}"):
        json.convert_records([record("fine"), record(object(), 7, value_schema=None)])
    with pytest.raises(ToleranceExceededError, match=r"^KEY_CONVERTER .*offset {'n': 8}: "):
        json.convert_records([record("fine", 8, key=object())])


def scripted(errors: Any, key: Converter | None = None, value: Converter | None = None) -> RecordConverter:
    plain = support_plugins.Plain()
    plain.configure({}, True)
    return RecordConverter(
        PartConverter.of(Operation(Stage.KEY_CONVERTER, "k"), key or plain),
        PartConverter.of(Operation(Stage.VALUE_CONVERTER, "v"), value or plain),
        HeadersConverter(Operation(Stage.HEADER_CONVERTER, "h"), _Keys),
        errors,
    )


class Picky(support_plugins.Plain):
    """Refuses what is in ``refused``, as often as it says there."""

    def __init__(self, refused: dict[str, list[Exception]]) -> None:
        self.refused = refused
        self.configure({}, True)

    def from_connect_data(self, topic: str, schema: Any, value: Any) -> bytes | None:
        if self.refused.get(value):
            raise self.refused[value].pop(0)
        return super().from_connect_data(topic, schema, value)


def test_what_is_skipped_leaves_all_columns_and_its_source_is_reported(record: Any, errors: Any) -> None:
    key, value = Picky({"k2": [KeyError("x")]}), Picky({"5": [DataError("no")]})
    headers = [Headers().add_string("bad" if n == 4 else "h", "") for n in range(7)]
    polled = [
        record(str(n), n, key=f"k{n}", timestamp=n, headers=headers[n], topic="u" if n == 3 else "t") for n in range(7)
    ]
    [first, second], skipped = scripted(errors(), key, value).convert_records(polled, polled)
    assert first.values == [b"0", b"1", b"6"] and second.values == [b"3"]
    assert first.keys == [b"k0", b"k1", b"k6"] and first.timestamps == [0, 1, 6]
    assert first.headers == [[("h", b"h")]] * 3
    assert first.sources == [polled[0], polled[1], polled[6]] and second.sources == [polled[3]]
    assert skipped == [polled[2], polled[5], polled[4]]
    reported = [(c.original, c.operation.stage, c.attempt, repr(c.error)) for c in errors.reported]
    assert reported == [
        (polled[2], Stage.KEY_CONVERTER, 1, "KeyError('x')"),
        (polled[5], Stage.VALUE_CONVERTER, 1, "DataError('no')"),
        (polled[4], Stage.HEADER_CONVERTER, 1, "DataError('bad')"),
    ]


def test_a_topic_of_which_nothing_is_left_has_no_batch(record: Any, errors: Any) -> None:
    polled = [record("x", topic="u"), record("y")]
    [batch], skipped = scripted(errors(), value=Picky({"x": [DataError("no")]})).convert_records(polled, polled)
    assert (batch.topic, skipped) == ("t", [polled[0]])
    assert scripted(errors()).convert_records([], []) == ([], [])


def test_what_may_succeed_later_is_tried_again_in_its_place(record: Any, errors: Any) -> None:
    value = Picky({"b": [RetriableError("away"), RetriableError("still")]})
    batches, skipped = scripted(errors(retry_timeout=10), value=value).convert_records([record(v) for v in "abc"])
    assert [b.values for b in batches] == [[b"a", b"b", b"c"]]
    assert (skipped, errors.reported, errors.waited) == ([], [], [0.3, 0.6])


def test_an_iteration_that_ends_within_a_converter_ends_no_batch(record: Any, errors: Any) -> None:
    [batch], skipped = scripted(errors(), value=Picky({"b": [StopIteration()]})).convert_records(
        [record(v) for v in "abc"]
    )
    assert (batch.values, len(skipped)) == ([b"a", b"c"], 1)


def test_a_table_is_converted_column_by_column(converter: RecordConverter) -> None:
    table = pa.table({"topic": ["t", "u", "t"], "value": ["1", None, "3"], "key": ["a", "b", None]})
    batches = converter.convert_table(table)
    assert batches is not None
    assert [(b.topic, list(b.values), list(b.keys or [])) for b in batches] == [
        ("t", [b"1", b"3"], [b"a", None]),
        ("u", [None], [b"b"]),
    ]
    assert all(map(_plain, batches))


def test_partitions_and_timestamps_of_a_table(converter: RecordConverter) -> None:
    table = pa.table(
        {
            "topic": ["t"] * 2,
            "value": ["1", "2"],
            "partition": pa.array([None, 3], pa.int32()),
            "timestamp": pa.array([None, None], pa.int64()),
        }
    )
    [batch] = converter.convert_table(table) or []
    assert (batch.partitions, batch.timestamps) == ([None, 3], None)


def test_rows_are_taken_out_of_a_batch_with_all_that_is_known_of_them(converter: RecordConverter) -> None:
    table = pa.table(
        {
            "topic": ["t"] * 3,
            "value": ["1", "2", "3"],
            "key": ["a", None, "c"],
            "timestamp": pa.array([7, None, 9], pa.int64()),
            "source_partition": pa.array([{"p": 0}] * 3),
            "source_offset": pa.array([{"n": 1}, {"n": 2}, {"n": 3}]),
        }
    )
    [batch] = converter.convert_table(table) or []
    rest, last = batch.without({0, 2}), batch.without({1}).only(1)
    assert batch.without(set()) is batch
    assert (rest.values, rest.keys, rest.timestamps, rest.origin(0).source_offset) == ([b"2"], [None], [None], {"n": 2})
    assert (last.values, last.keys, last.timestamps, last.origin(0).source_offset) == ([b"3"], [b"c"], [9], {"n": 3})
    assert TopicBatch("t", [b"v"], [b"k"]).origin(0).key == b"k", "no more of it is known"


def test_what_has_no_columnar_path(plugins: Plugins, converter: RecordConverter, errors: Any) -> None:
    table = pa.table({"topic": ["t"], "value": ["1"]})
    converters = TaskConverters({"value.converter": PLAIN}, WORKER, plugins)
    assert create_record_converter(converters, errors()).convert_table(table) is None
    headers = pa.array([[("h", "x")]], pa.map_(pa.string(), pa.string()))
    assert converter.convert_table(table.append_column("headers", headers)) is None


def test_a_connectors_converter_has_the_connectors_properties_only(plugins: Plugins, record: Any, errors: Any) -> None:
    worker = {**WORKER, "value.converter": PLAIN, "value.converter.mark": "-worker"}
    converters = TaskConverters({"value.converter.mark": "-connector"}, worker, plugins)
    by_worker = create_record_converter(converters, errors())
    assert batches_of(by_worker, [record("v")])[0].values == [b"v-worker"]
    for properties, expected in (({}, b"v"), ({"value.converter.mark": "-connector"}, b"v-connector")):
        converters = TaskConverters({"value.converter": PLAIN, **properties}, worker, plugins)
        by_connector = create_record_converter(converters, errors())
        assert batches_of(by_connector, [record("v")])[0].values == [expected]


def test_a_converter_that_wants_headers_is_given_them_and_may_add_some(record: Any, errors: Any) -> None:
    class WithHeaders(support_plugins.Plain):
        def from_connect_data_with_headers(self, topic: str, headers: Any, schema: Any, value: Any) -> bytes | None:
            names = [h.key for h in headers]
            headers.add_string("added", "").add("raw", b"\xff", RAW).add("none", None, RAW)
            return f"{value} {names}".encode()

    converter = scripted(errors(), value=WithHeaders())
    [batch] = batches_of(converter, [record("v", headers=Headers().add_string("h", "x"), key="k")])
    assert (batch.values, batch.keys) == ([b"v ['h']"], [b"k"])
    assert batch.headers == [[("h", b"h"), ("added", b"added"), ("raw", b"\xff"), ("none", None)]]
    assert converter.convert_table(pa.table({"topic": ["t"], "value": ["1"]})) is None


class _Keys(HeaderConverter):
    def from_connect_header(self, topic: str, key: str, schema: Any, value: Any) -> bytes:
        if key == "bad":
            raise DataError(key)
        return key.encode()

    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> Any:
        raise NotImplementedError


def _plain(batch: TopicBatch) -> bool:
    """Return True if there are only keys and values."""
    return batch.partitions is None and batch.timestamps is None and batch.headers is None
