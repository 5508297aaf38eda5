# SPDX-License-Identifier: Apache-2.0
"""Java's converters, transformations and predicates beside headrace's own: the same results."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from headrace.api.converter import Converter
from headrace.api.errors import ConfigError, DataError
from headrace.api.headers import RAW, Headers
from headrace.api.record import SinkRecord, SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.converters.json_converter import JsonConverter
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.converters.string_converter import StringConverter
from headrace.java.converters import converter_class, header_converter_class
from headrace.java.raw_headers import add_new_headers, raw_headers
from headrace.java.transformations import predicate_class, transformation_class
from headrace.transforms.insert_field import InsertFieldValue
from headrace.transforms.predicates import TopicNameMatches
from headrace.transforms.regex_router import RegexRouter

SCHEMA = (
    SchemaBuilder.struct()
    .name("order")
    .version(2)
    .doc("An order.")
    .field("id", Schema.INT64)
    .field("price", SchemaBuilder.decimal(2).build())
    .field("day", Schema.DATE)
    .field("at", Schema.TIMESTAMP)
    .field("time", Schema.OPTIONAL_TIME)
    .field("tags", SchemaBuilder.map(Schema.STRING, Schema.INT32).optional().build())
    .field("raw", Schema.BYTES)
    .field("share", Schema.FLOAT32)
    .field("kind", SchemaBuilder.string().parameter("a", "b").default_value("x").build())
    .build()
)
ORDER = Struct(
    SCHEMA,
    {
        "id": 2**60,
        "price": decimal.Decimal("-12.30"),
        "day": datetime.date(2024, 2, 29),
        "at": datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=datetime.UTC),
        "tags": {"é": 1},
        "raw": b"\x00\xff",
        "share": 0.5,
        "kind": "y",
    },
)
DATA: list[tuple[Schema | None, Any]] = [
    (SCHEMA, ORDER),
    (Schema.STRING, "text, \U0001d11e"),
    (Schema.OPTIONAL_INT8, None),
    (None, {"a": [1, 2.5, None, True, "x"], "b": {"c": 2**62}}),
    (None, None),
]


def configured(cls: type[Converter], **configs: str) -> Converter:
    converter = cls()
    converter.configure(configs, False)
    return converter


@pytest.mark.parametrize("schema, value", DATA)
@pytest.mark.parametrize("schemas", ["true", "false"])
def test_json(schema: Schema | None, value: Any, schemas: str) -> None:
    theirs = configured(
        converter_class((), "org.apache.kafka.connect.json.JsonConverter"), **{"schemas.enable": schemas}
    )
    ours = configured(JsonConverter, **{"schemas.enable": schemas})
    data = theirs.from_connect_data("t", schema, value)
    assert data == ours.from_connect_data("t", schema, value)
    assert theirs.to_connect_data("t", data) == ours.to_connect_data("t", data)


@pytest.mark.parametrize("schema, value", [(Schema.STRING, "é"), (None, 5), (Schema.OPTIONAL_STRING, None)])
def test_strings(schema: Schema | None, value: Any) -> None:
    theirs = configured(converter_class((), "org.apache.kafka.connect.storage.StringConverter"))
    ours = configured(StringConverter)
    data = theirs.from_connect_data("t", schema, value)
    assert data == ours.from_connect_data("t", schema, value)
    assert theirs.to_connect_data("t", data) == ours.to_connect_data("t", data)
    assert theirs.from_connect_data_with_headers("t", Headers(), schema, value) == data
    assert theirs.to_connect_data_with_headers("t", {"h": b"1"}, data) == ours.to_connect_data("t", data)


@pytest.mark.parametrize("value", ["text", 7, True, {"a": [1]}, None])
@pytest.mark.parametrize(
    ("name", "cls"),
    [("storage.SimpleHeaderConverter", SimpleHeaderConverter), ("storage.StringConverter", StringConverter),
     ("json.JsonConverter", JsonConverter)],
)  # fmt: skip
def test_headers(name: str, cls: type[Any], value: Any) -> None:
    theirs, ours = header_converter_class((), f"org.apache.kafka.connect.{name}")(), cls()
    theirs.configure({})
    ours.configure({})
    data = theirs.from_connect_header("t", "h", None, value)
    assert data == ours.from_connect_header("t", "h", None, value)
    assert theirs.to_connect_header("t", "h", data).value == ours.to_connect_header("t", "h", data).value
    theirs.close()


def test_headers_that_a_converter_adds() -> None:
    raw = raw_headers({"id": "é".encode(), "none": None, "raw": b"\xff\x00"})
    assert bytes(raw.lastHeader("raw").value()) == b"\xff\x00"
    headers = Headers()
    add_new_headers(headers, raw)
    assert [tuple(each) for each in headers] == [
        ("id", "é".encode(), RAW),
        ("none", None, RAW),
        ("raw", b"\xff\x00", RAW),
    ]


def test_what_java_cannot_read_is_a_data_error() -> None:
    converter = configured(converter_class((), "org.apache.kafka.connect.json.JsonConverter"))
    with pytest.raises(DataError, match=r"org\.apache\.kafka\.connect\.errors\.DataException"):
        converter.to_connect_data("t", b"{not json")


def test_a_mistake_in_the_configuration_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"schemas\.cache\.size"):
        configured(converter_class((), "org.apache.kafka.connect.json.JsonConverter"), **{"schemas.cache.size": "x"})


def source(value: Any, schema: Schema | None = None) -> SourceRecord:
    return SourceRecord({"p": 1}, {"o": 2}, "orders", 3, None, "k", schema, value, 99, Headers().add_string("h", "v"))


def sink(value: Any, schema: Schema | None = None) -> SinkRecord:
    return SinkRecord("orders", 3, None, "k", schema, value, 44, 99, original_topic="raw", original_kafka_offset=43)


TRANSFORMS: list[tuple[str, type[Any], dict[str, str]]] = [
    ("InsertField$Value", InsertFieldValue, {"static.field": "by", "static.value": "me", "timestamp.field": "ts"}),
    ("RegexRouter", RegexRouter, {"regex": "(.*)s", "replacement": "$1-new"}),
]


@pytest.mark.parametrize("name, ours, configs", TRANSFORMS)
@pytest.mark.parametrize("make", [source, sink])
@pytest.mark.parametrize("schema, value", [(SCHEMA, ORDER), (None, {"a": 1}), (None, None)])
def test_transformations(
    name: str, ours: type[Any], configs: dict[str, str], make: Any, schema: Schema | None, value: Any
) -> None:
    theirs, own = transformation_class((), f"org.apache.kafka.connect.transforms.{name}")(), ours()
    for each in (theirs, own):
        each.configure(configs)
    record = make(value, schema)
    assert theirs.apply(record) == own.apply(record)
    theirs.close()


def test_a_dropped_record() -> None:
    drop = transformation_class((), "org.apache.kafka.connect.transforms.Filter")()
    drop.configure({})
    assert drop.apply(source(1)) is None


@pytest.mark.parametrize("pattern", ["or.*", "x.*"])
def test_predicates(pattern: str) -> None:
    name = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
    theirs, ours = predicate_class((), name)(), TopicNameMatches[Any]()
    for each in (theirs, ours):
        each.configure({"pattern": pattern})
    assert theirs.test(source(1)) == ours.test(source(1)) == (pattern == "or.*")


def test_names_and_properties() -> None:
    cls = transformation_class((), "org.apache.kafka.connect.transforms.InsertField$Value")
    assert cls.__name__ == "InsertField$Value"
    found, own = cls().config(), InsertFieldValue[Any]().config()
    assert found.names == own.names
    keys = found.config_keys.values()
    assert [(key.type, key.default, key.importance) for key in keys] == [
        (key.type, key.default, key.importance) for key in own.config_keys.values()
    ]
    assert all(key.doc for key in keys)
    assert cls().version() == "4.3.1"
