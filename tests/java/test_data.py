# SPDX-License-Identifier: Apache-2.0
"""Schemas and values from Python to Java and back, as Java itself checks and compares them."""

from __future__ import annotations

import datetime
import decimal
import functools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import DataError
from headrace.api.schema import Schema, Struct, Type
from headrace.api.schema_builder import SchemaBuilder
from headrace.java.data import java_map, java_schema, java_value, python_schema, python_value
from headrace.java.jvm import java_class, jpype
from tests.java.connect_data import Case, cases

CONNECT = "org.apache.kafka.connect.data"


def same(left: Any, right: Any) -> bool:
    """Equality that distinguishes types, zeros and scales, and has not-a-number equal to itself."""
    if isinstance(left, Struct) and isinstance(right, Struct):
        return left.schema == right.schema and same(list(left.field_values), list(right.field_values))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return type(left) is type(right) and repr(left) == repr(right)


@given(cases())
def test_from_python_to_java_and_back(case: Case) -> None:
    schema, value = case.schema, case.value
    theirs = java_schema(schema)
    converted = java_value(schema, value)
    java_class(f"{CONNECT}.ConnectSchema").validateValue(theirs, converted)
    back = python_schema(theirs)
    assert back is not None
    assert back == schema or (has_nan(schema) and repr(back) == repr(schema))
    assert same(unwrapped(python_value(theirs, converted)), unwrapped(value))


@given(cases())
def test_from_java_to_python_and_back(case: Case) -> None:
    """Java decides: by `equals` of schemas, by `validateValue`, and by the bytes that its JsonConverter makes."""
    schema = case.schema
    wrapping = java_schema(SchemaBuilder.struct().field("f", schema).build())
    first = java_class(f"{CONNECT}.Struct")(wrapping).put("f", java_value(schema, case.value))
    assert_same_in_java(wrapping, first)


def assert_same_in_java(schema: Any, value: Any) -> None:
    """Convert Java's schema and value to Python's and back, and compare."""
    back, again = java_schema(python_schema(schema)), java_value(python_schema(schema), python_value(schema, value))
    assert back.equals(schema)
    java_class(f"{CONNECT}.ConnectSchema").validateValue(schema, again)
    assert json(back, again) == json(schema, value)


def json(schema: Any, value: Any) -> bytes:
    return bytes(json_converter().fromConnectData("t", schema, value))


@functools.cache
def json_converter() -> Any:
    made = java_class("org.apache.kafka.connect.json.JsonConverter")()
    made.configure(java_map({"schemas.enable": "false", "replace.null.with.default": "false"}), False)
    return made


def has_nan(schema: Schema) -> bool:
    return "nan" in repr(schema)


def unwrapped(value: Any) -> Any:
    """A struct as a list: its schema may have not-a-number as a default, which equals nothing."""
    if isinstance(value, Struct):
        return ["struct", *map(unwrapped, value.field_values)]
    if isinstance(value, list):
        return [unwrapped(each) for each in value]
    if isinstance(value, dict):
        return {key: unwrapped(each) for key, each in value.items()}
    return value


WITHOUT_SCHEMA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(WITHOUT_SCHEMA)
def test_data_without_a_schema(value: Any) -> None:
    converted = java_value(None, value)
    assert same(python_value(None, converted), positive_zero(value))


def positive_zero(value: Any) -> Any:
    """Java's decimals have no negative zero."""
    if isinstance(value, decimal.Decimal) and not value:
        return value.copy_abs()
    if isinstance(value, list):
        return [positive_zero(each) for each in value]
    return {key: positive_zero(each) for key, each in value.items()} if isinstance(value, dict) else value


def test_integers_and_floats_without_a_schema_are_those_of_javas_json() -> None:
    offset = java_value(None, {"small": 1, "large": 2**62, "share": 0.5, "done": True})
    names = {str(entry.getKey()): str(entry.getValue().getClass().getSimpleName()) for entry in offset.entrySet()}
    assert names == {"small": "Long", "large": "Long", "share": "Double", "done": "Boolean"}


@pytest.mark.parametrize(
    "schema, millis",
    [
        (Schema.TIMESTAMP, 253_402_300_800_000),  # year 10000
        (Schema.TIMESTAMP, -62_135_596_800_001),  # before year 1
        (Schema.DATE, 253_402_300_800_000),
        (Schema.DATE, -62_135_683_200_000),
    ],
)
def test_dates_that_python_does_not_have_are_data_errors(schema: Schema, millis: int) -> None:
    value = java_class("java.util.Date")(jpype().JLong(millis))
    with pytest.raises(DataError, match="outside the years 1 to 9999"):
        python_value(java_schema(schema), value)


@pytest.mark.parametrize(
    "schema, millis, message",
    [
        (Schema.DATE, 1, "no time of day"),
        (Schema.TIME, 86_400_000, "less than 86400000"),
        (Schema.TIME, -1, "from 0"),
    ],
)
def test_dates_and_times_that_connect_does_not_have(schema: Schema, millis: int, message: str) -> None:
    value = java_class("java.util.Date")(jpype().JLong(millis))
    with pytest.raises(DataError, match=message):
        python_value(java_schema(schema), value)


def test_the_first_and_the_last_year() -> None:
    for value in (datetime.datetime.min, datetime.datetime.max.replace(microsecond=999_000)):
        aware = value.replace(tzinfo=datetime.UTC)
        converted = java_value(Schema.TIMESTAMP, aware)
        assert python_value(java_schema(Schema.TIMESTAMP), converted) == aware


@pytest.mark.parametrize(
    "schema, value",
    [
        (None, 2**63),
        (Schema.INT64, 2**63),
        (Schema.INT8, 128),
        (Schema.STRING, 1),
        (None, "\ud800"),
        (None, {1, 2}),
        (SchemaBuilder.decimal(2).build(), decimal.Decimal("NaN")),
        (Schema.INT64, "1"),
    ],
)
def test_what_java_cannot_hold_is_a_data_error(schema: Schema | None, value: Any) -> None:
    with pytest.raises(DataError):
        java_value(schema, value)


def test_a_value_of_java_that_does_not_fit_its_schema_is_a_data_error() -> None:
    integer = java_class("java.lang.Integer")(1)
    with pytest.raises(DataError, match=r"Invalid Java object for schema with type INT64: class java\.lang\.Integer"):
        python_value(java_schema(Schema.INT64), integer)
    with pytest.raises(DataError, match=r"java\.lang\.Thread"):
        python_value(None, java_class("java.lang.Thread")())


def test_keys_that_only_java_distinguishes_are_a_data_error() -> None:
    found = java_class("java.util.HashMap")()
    found.put(java_class("java.lang.Integer")(1), "i")
    found.put(java_class("java.lang.Long")(1), "l")
    with pytest.raises(DataError, match="same to Python"):
        python_value(None, found)
    lists = java_class("java.util.HashMap")()
    lists.put(java_class("java.util.ArrayList")(), "list")
    with pytest.raises(DataError, match="no maps with keys"):
        python_value(None, lists)


def test_half_a_surrogate_pair_of_java_is_not_changed_silently() -> None:
    half = java_class("java.lang.String")(jpype().JArray(jpype().JChar)([chr(0xD800)]))
    try:
        found = python_value(None, half)
    except DataError:
        return
    assert found == "\ud800"


def test_text_of_all_planes() -> None:
    text = "nul \0, é, €, 𝄞, \U0010ffff"
    assert python_value(java_schema(Schema.STRING), java_value(Schema.STRING, text)) == text
    assert java_class("java.lang.String")(text).length() == len(text.encode("utf-16-le")) // 2


def test_bytes_between_position_and_limit_of_a_buffer() -> None:
    buffer = java_class("java.nio.ByteBuffer").wrap(java_value(None, b"\x00\x80\xff\x7f"))
    buffer.position(1)
    buffer.limit(3)
    assert python_value(java_schema(Schema.BYTES), buffer) == b"\x80\xff"
    assert buffer.position() == 1


def test_equal_schemas_are_converted_once() -> None:
    builder = java_class(f"{CONNECT}.SchemaBuilder")
    first, second = (builder.struct().field("a", builder.int64().build()).build() for _ in range(2))
    assert python_schema(first) is python_schema(second)


def test_a_default_of_a_struct() -> None:
    inner = SchemaBuilder.struct().field("a", Schema.INT32).build()
    schema = inner.replace(default=Struct(inner, {"a": 3}))
    theirs = java_schema(schema)
    assert theirs.defaultValue().getInt32("a") == 3
    assert python_schema(theirs) == schema


def test_a_field_without_value_is_not_its_default() -> None:
    with_default = SchemaBuilder.int32().optional().default_value(7).build()
    schema = SchemaBuilder.struct().field("a", with_default).build()
    value = Struct(schema)
    found = python_value(java_schema(schema), java_value(schema, value))
    assert list(found.field_values) == [None]
    assert found["a"] == 7


def test_single_precision_is_exact() -> None:
    value = java_class("java.lang.Float")(1.1)
    assert python_value(java_schema(Schema.FLOAT32), value) == 1.100000023841858
    assert math.isnan(python_value(java_schema(Schema.FLOAT32), java_value(Schema.FLOAT32, math.nan)))


def test_all_types_are_known() -> None:
    for kind in Type:
        if kind.is_primitive:
            assert python_schema(java_schema(Schema(kind))) == Schema(kind)
