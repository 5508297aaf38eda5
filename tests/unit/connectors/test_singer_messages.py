# SPDX-License-Identifier: Apache-2.0
"""Lines of taps, schemas of streams, and catalogs: the pure part of SingerSource."""

from __future__ import annotations

import datetime
import json
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import ConfigError, DataError
from headrace.api.schema import Schema, Struct, Type
from headrace.connectors.singer.catalog import matcher, parse_catalog, selected_streams, selecting
from headrace.connectors.singer.json_schemas import TypeChoices, column
from headrace.connectors.singer.messages import (
    ActivateVersionMessage,
    RecordMessage,
    SchemaMessage,
    StateMessage,
    json_text,
    parse_message,
)
from headrace.connectors.singer.streams import Streams, Topics

LOGICAL = TypeChoices()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null", "other"])
JSON_SCHEMAS = st.recursive(
    st.builds(dict, type=NAMES | st.lists(NAMES, max_size=3)),
    lambda inner: (
        st.builds(dict, type=st.just("array"), items=inner)
        | st.builds(dict, type=st.just(["null", "object"]), properties=st.dictionaries(TEXTS, inner, max_size=3))
        | st.builds(dict, anyOf=st.lists(inner, max_size=3))
        | st.builds(dict, type=st.just("string"), format=st.sampled_from(["date-time", "date", "time", "uuid"]))
        | st.builds(dict, type=st.just("number"), multipleOf=st.sampled_from([Decimal("0.01"), 1, 5, 0, "x"]))
    ),
    max_leaves=6,
)


def message(**members: Any) -> Any:
    return parse_message(json.dumps(members).encode())


def test_the_messages() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    assert message(type="SCHEMA", stream="s", schema=schema, key_properties=["id"]) == SchemaMessage(
        "s", schema, ("id",)
    )
    assert message(type="RECORD", stream="s", record={"id": 1}, version=3) == RecordMessage("s", {"id": 1}, None, 3)
    assert message(type="STATE", value={"a": 1}) == StateMessage('{"a": 1}')
    assert message(type="ACTIVATE_VERSION", stream="s", version=3) == ActivateVersionMessage("s", 3)
    assert parse_message(b"  ") is None


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"\xff\xfe no", "no JSON"),
        (b"Connected", "no JSON.*Connected"),
        (b"[" * 100_000, "no JSON"),
        (b"[1]", "no message of Singer"),
        (b'{"type": "BATCH", "stream": "s"}', "no message of Singer that is known"),
        (b'{"type": "RECORD", "stream": "s"}', "'record' of a RECORD message is not an object"),
        (b'{"type": "RECORD", "stream": 1, "record": {}}', "'stream' of a RECORD message is not a text"),
        (b'{"type": "ACTIVATE_VERSION", "stream": "s"}', "'version' of a ACTIVATE_VERSION message is no number"),
        (
            b'{"type": "RECORD", "stream": "s", "record": {}, "version": "1"}',
            "'version' of a RECORD message is no number",
        ),
        (b'{"type": "STATE", "value": 7}', "'value' of a STATE message is not an object"),
        (b'{"type": "SCHEMA", "stream": "s", "schema": {}, "key_properties": "id"}', "key_properties"),
    ],
)
def test_lines_that_are_no_messages(line: bytes, text: str) -> None:
    with pytest.raises(DataError, match=text) as caught:
        parse_message(line)
    assert len(str(caught.value)) < 500


@given(JSON)
def test_json_text_has_the_same_value(value: Any) -> None:
    assert json.loads(json_text(value), parse_float=Decimal) == value


@given(st.binary(max_size=80))
def test_any_line_is_a_message_or_an_error_of_data(line: bytes) -> None:
    with suppress(DataError):
        parse_message(line)


@pytest.mark.parametrize(
    ("schema", "value", "type", "converted"),
    [
        ({"type": "string"}, "é", Type.STRING, "é"),
        ({"type": "string"}, 5, Type.STRING, "5"),
        ({"type": ["null", "integer"]}, 5, Type.INT64, 5),
        ({"type": "integer"}, Decimal("5.0"), Type.INT64, 5),
        ({"type": "integer", "maximum": 18446744073709551615}, 1 << 63, Type.BYTES, Decimal(1 << 63)),
        ({"type": "number"}, Decimal("0.1"), Type.FLOAT64, 0.1),
        ({"type": ["integer", "number"]}, 3, Type.FLOAT64, 3.0),
        ({"type": "number", "multipleOf": Decimal("0.01")}, Decimal("10.1"), Type.BYTES, Decimal("10.10")),
        ({"type": "number", "multipleOf": Decimal("1E-2")}, 7, Type.BYTES, Decimal("7.00")),
        ({"type": "boolean"}, True, Type.BOOLEAN, True),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, False, Type.BOOLEAN, False),
        ({"anyOf": [{"type": "string", "format": "date-time"}, {"type": ["string", "null"]}]}, "x", Type.STRING, "x"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "x", Type.STRING, '"x"'),
        ({"type": ["string", "integer"]}, 5, Type.STRING, "5"),
        ({"$ref": "#/a"}, {"a": Decimal("1.10")}, Type.STRING, '{"a": 1.10}'),
        ({}, [1], Type.STRING, "[1]"),
        ({"type": "object"}, {"a": None}, Type.STRING, '{"a": null}'),
        ({"type": "array"}, [1, "a"], Type.STRING, '[1, "a"]'),
        ({"type": "array", "items": {"type": "integer"}}, [1, None], Type.ARRAY, [1, None]),
        (
            {"type": "string", "format": "date-time"},
            "2024-02-29T01:02:03.123456+01:00",
            Type.INT64,
            datetime.datetime(2024, 2, 29, 0, 2, 3, 123_000, datetime.UTC),
        ),
        ({"type": "string", "format": "date"}, "2024-02-29T00:00:00Z", Type.INT32, datetime.date(2024, 2, 29)),
        ({"type": "string", "format": "time"}, "01:02:03.5", Type.INT32, datetime.time(1, 2, 3, 500_000)),
    ],
)
def test_types(schema: dict[str, Any], value: Any, type: Type, converted: Any) -> None:
    made = column(schema, LOGICAL)
    assert (made.schema.type, made.schema.optional) == (type, True)
    result = made.convert(value)
    made.schema.validate_value(result)
    assert (result, str(result)) == (converted, str(converted))


def test_types_as_the_user_chooses() -> None:
    plain = TypeChoices(timestamps=False, decimals=False)
    assert column({"type": "string", "format": "date-time"}, plain).schema == Schema.OPTIONAL_STRING
    assert column({"type": "number", "multipleOf": Decimal("0.01")}, plain).schema == Schema.OPTIONAL_FLOAT64


@given(JSON_SCHEMAS, JSON)
def test_a_value_fits_its_schema_or_is_an_error_of_data(schema: Any, value: Any) -> None:
    streams = Streams(Topics("", {}), LOGICAL)
    streams.announce(SchemaMessage("s", {"properties": {"x": schema}}, ()))
    try:
        record = streams.record(RecordMessage("s", {"x": value}, None))
    except DataError as error:
        assert "field 'x'" in str(error)
    else:
        record.value_schema.validate_value(record.value)  # type: ignore[union-attr]
        assert isinstance(record.value, Struct)


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "integer"}, 1 << 63, "field 'x' with the value 9223372036854775808: it does not fit into 64 bits"),
        ({"type": "integer"}, Decimal("1.5"), "it is no integer"),
        ({"type": "integer"}, True, "it is no number"),
        ({"type": "boolean"}, 1, "it is no boolean"),
        ({"type": "string", "format": "date-time"}, "0000-00-00 00:00:00", "it is no Timestamp"),
        ({"type": "string", "format": "date"}, "2024-01-01T10:00:00", "time of day"),
        ({"type": "number", "multipleOf": Decimal("0.01")}, Decimal("0.001"), "more than 2 places"),
        ({"type": "array", "items": {"type": "integer"}}, "a", "it is no array"),
    ],
)
def test_values_that_do_not_fit(schema: dict[str, Any], value: Any, text: str) -> None:
    streams = Streams(Topics("", {}), LOGICAL)
    streams.announce(SchemaMessage("s", {"properties": {"x": schema}}, ()))
    with pytest.raises(DataError, match=f"RECORD of stream 's' .*{text}"):
        streams.record(RecordMessage("s", {"x": value}, None))


def test_keys_topics_and_a_later_schema() -> None:
    streams = Streams(Topics("db.", {"b": "bees"}), LOGICAL)
    old = {"properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    for name in ("a b", "b"):
        streams.announce(SchemaMessage(name, old, ("id",)))
    first = streams.record(RecordMessage("a b", {"id": 1, "name": "x", "other": 5}, "1970-01-01T00:00:01Z"))
    assert (first.topic, first.timestamp, first.key.as_dict()) == ("db.a_b", 1000, {"id": 1})
    assert first.value.as_dict() == {"id": 1, "name": "x"}
    assert streams.record(RecordMessage("b", {"id": 1}, None)).topic == "bees"
    streams.announce(SchemaMessage("a b", json.loads(json.dumps(old)), ("id",)))
    assert streams.record(RecordMessage("a b", {"id": 2}, None)).value_schema is first.value_schema
    streams.announce(SchemaMessage("a b", {"properties": {**old["properties"], "more": {"type": "number"}}}, ("id",)))
    assert streams.record(RecordMessage("a b", {"id": 3, "more": 1}, None)).value.get("more") == 1.0
    with pytest.raises(DataError, match="no value of the key property id"):
        streams.record(RecordMessage("a b", {"name": "x"}, None))
    with pytest.raises(ConfigError, match="Streams 'a b' and 'a_b' have one topic"):
        streams.announce(SchemaMessage("a_b", old, ()))
    with pytest.raises(DataError, match="lacks its own key_properties"):
        streams.announce(SchemaMessage("c", old, ("none",)))
    with pytest.raises(DataError, match="came before its SCHEMA"):
        streams.record(RecordMessage("d", {}, None))


def test_versions_of_tables() -> None:
    streams = Streams(Topics("db.", {}), LOGICAL, "_sdc_table_version")
    schema = {"properties": {"id": {"type": "integer"}}}
    streams.announce(SchemaMessage("a", schema, ("id",)))
    assert streams.record(RecordMessage("a", {"id": 1}, None, 7)).value.as_dict() == {"id": 1, "_sdc_table_version": 7}
    assert streams.record(RecordMessage("a", {"id": 1}, None)).value.get("_sdc_table_version") is None
    record = streams.activation(ActivateVersionMessage("a", 7), "versions")
    assert (record.topic, record.key.as_dict()) == ("versions", {"stream": "a"})
    assert record.value.as_dict() == {"stream": "a", "topic": "db.a", "version": 7}
    with pytest.raises(DataError, match=r"has the property id itself: choose another singer\.version\.field"):
        Streams(Topics("", {}), LOGICAL, "id").announce(SchemaMessage("a", schema, ()))


CATALOG: dict[str, Any] = {
    "streams": [
        {
            "tap_stream_id": "public-orders",
            "schema": {"properties": {"id": {}, "name": {}}},
            "metadata": [
                {"breadcrumb": [], "metadata": {"table-key-properties": ["id"]}},
                {"breadcrumb": ["properties", "id"], "metadata": {"inclusion": "automatic"}},
                {"breadcrumb": ["properties", "name"], "metadata": {"inclusion": "available"}},
                {"breadcrumb": ["properties", "blob"], "metadata": {"inclusion": "unsupported"}},
            ],
        },
        {"tap_stream_id": "public-logs", "schema": {}, "metadata": []},
        {"stream": "other", "schema": {"selected": True}},
    ]
}


def test_the_streams_that_are_selected() -> None:
    catalog = parse_catalog(json.dumps(CATALOG))
    matches = matcher(["public-*", "other"], ["*logs"])
    assert selected_streams(catalog, matches, True) == ["other", "public-orders"]
    assert selected_streams(catalog, matches, False) == ["other"]
    changed = selecting(catalog, ["public-orders"], True, {"public*": {"replication-method": "FULL_TABLE"}})
    orders, logs, other = changed["streams"]
    assert [each["selected"] for each in changed["streams"]] == [True, False, False]
    assert orders["metadata"][0]["metadata"] == {
        "table-key-properties": ["id"],
        "selected": True,
        "replication-method": "FULL_TABLE",
    }
    assert [each["metadata"].get("selected") for each in orders["metadata"][1:]] == [None, True, None]
    assert (logs["metadata"], other["schema"]) == (
        [{"breadcrumb": [], "metadata": {"selected": False}}],
        {"selected": False},
    )
    assert catalog == CATALOG


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"streams": [{}]}', '{"streams": [1]}'])
def test_texts_that_are_no_catalog(text: str) -> None:
    with pytest.raises(DataError):
        parse_catalog(text)
