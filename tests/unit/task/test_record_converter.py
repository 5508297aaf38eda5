# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.api.converter import Converter
from headrace.api.errors import DataError
from headrace.api.headers import Headers
from headrace.api.schema import Schema
from headrace.plugins.discovery import Plugins
from headrace.task.record_converter import RecordConverter, record_converter
from tests.unit.task import support_plugins

STRING = "org.apache.kafka.connect.storage.StringConverter"
WORKER = {"key.converter": STRING, "value.converter": STRING}
PLAIN = f"{support_plugins.__name__}.Plain"


@pytest.fixture
def converter(plugins: Plugins) -> RecordConverter:
    return record_converter({}, WORKER, plugins)


def test_one_batch_for_each_topic_in_order(converter: RecordConverter, record: Any) -> None:
    records = [record("1"), record("2", topic="u"), record("3")]
    batches = converter.convert_records(records)
    assert [(b.topic, b.values) for b in batches] == [("t", [b"1", b"3"]), ("u", [b"2"])]
    for batch in batches:
        assert batch.plain
        assert batch.keys is None
        assert batch.sources is None


def test_columns_come_into_being_with_their_first_value(converter: RecordConverter, record: Any) -> None:
    headers = Headers().add_string("h", "x")
    records = [
        record("1"),
        record("2", key="k", key_schema=Schema.STRING, kafka_partition=0),
        record("3", timestamp=5, headers=headers),
        record(None),
    ]
    [batch] = converter.convert_records(records)
    assert batch.values == [b"1", b"2", b"3", None]
    assert batch.keys == [None, b"k", None, None]
    assert batch.partitions == [None, 0, None, None]
    assert batch.timestamps == [None, None, 5, None]
    assert batch.headers == [None, None, [("h", b"x")], None]
    assert not batch.plain


def test_the_records_behind_the_rows(converter: RecordConverter, record: Any) -> None:
    polled = [record("a"), record("b", topic="u"), record("c")]
    first, second = converter.convert_records([r.replace(value="x") for r in polled], polled)
    assert first.sources is not None
    assert first.sources[0] is polled[0] and first.sources[1] is polled[2]
    assert second.sources == [polled[1]]


def test_what_cannot_be_converted_is_named(plugins: Plugins, record: Any) -> None:
    json = record_converter({}, {"key.converter": "JsonConverter", "value.converter": "JsonConverter"}, plugins)
    with pytest.raises(DataError, match=r"^record of topic t with source partition {'p': 'p'} and offset {'n': 7} can"):
        json.convert_records([record("fine"), record(object(), 7, value_schema=None)])
    with pytest.raises(DataError, match=r"offset {'n': 8} cannot be converted"):
        json.convert_records([record("fine", 8, key=object())])


def test_an_error_of_the_converters_own_is_a_data_error(plugins: Plugins, record: Any) -> None:
    class Broken(support_plugins.Plain):
        def from_connect_data(self, topic: str, schema: Any, value: Any) -> bytes | None:
            raise KeyError("x")

    broken = RecordConverter(Broken(), Broken(), _no_headers)
    with pytest.raises(DataError, match="cannot be converted: KeyError: 'x'"):
        broken.convert_records([record("v")])


def test_a_table_is_converted_column_by_column(converter: RecordConverter) -> None:
    table = pa.table({"topic": ["t", "u", "t"], "value": ["1", None, "3"], "key": ["a", "b", None]})
    batches = converter.convert_table(table)
    assert batches is not None
    assert [(b.topic, list(b.values), list(b.keys or [])) for b in batches] == [
        ("t", [b"1", b"3"], [b"a", None]),
        ("u", [None], [b"b"]),
    ]
    assert all(b.plain for b in batches)


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
    assert (batch.partitions, batch.timestamps, batch.plain) == ([None, 3], None, False)


def test_what_has_no_columnar_path(plugins: Plugins, converter: RecordConverter) -> None:
    table = pa.table({"topic": ["t"], "value": ["1"]})
    assert record_converter({"value.converter": PLAIN}, WORKER, plugins).convert_table(table) is None
    headers = pa.array([[("h", "x")]], pa.map_(pa.string(), pa.string()))
    assert converter.convert_table(table.append_column("headers", headers)) is None


def test_a_connectors_converter_has_the_connectors_properties_only(plugins: Plugins, record: Any) -> None:
    worker = {**WORKER, "value.converter": PLAIN, "value.converter.mark": "-worker"}
    by_worker = record_converter({"value.converter.mark": "-connector"}, worker, plugins)
    assert by_worker.convert_records([record("v")])[0].values == [b"v-worker"]
    for properties, expected in (({}, b"v"), ({"value.converter.mark": "-connector"}, b"v-connector")):
        by_connector = record_converter({"value.converter": PLAIN, **properties}, worker, plugins)
        assert by_connector.convert_records([record("v")])[0].values == [expected]


def test_a_converter_that_wants_headers_is_given_them(record: Any) -> None:
    class WithHeaders(support_plugins.Plain):
        def from_connect_data_with_headers(self, topic: str, headers: Any, schema: Any, value: Any) -> bytes | None:
            return f"{value} {[h.key for h in headers]}".encode()

    plain: Converter = support_plugins.Plain()
    plain.configure({}, True)
    converter = RecordConverter(plain, WithHeaders(), _Keys)
    [batch] = converter.convert_records([record("v", headers=Headers().add_string("h", "x"), key="k")])
    assert (batch.values, batch.keys) == ([b"v ['h']"], [b"k"])
    assert converter.convert_table(pa.table({"topic": ["t"], "value": ["1"]})) is None


class _Keys:
    def from_connect_header(self, topic: str, key: str, schema: Any, value: Any) -> bytes:
        return key.encode()


def _no_headers() -> Any:
    raise AssertionError("no record has headers")
