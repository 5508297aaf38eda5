# SPDX-License-Identifier: Apache-2.0
"""Every converter reads what it has written, of all the values that it can write."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.logical import make_decimal
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.converters.boolean_converter import BooleanConverter
from headrace.converters.byte_array_converter import ByteArrayConverter
from headrace.converters.json_converter import JsonConverter
from headrace.converters.number_converters import (
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.converters.string_converter import StringConverter

SINGLE_VALUES: list[tuple[type[Any], Schema, st.SearchStrategy[Any]]] = [
    (ShortConverter, Schema.OPTIONAL_INT16, st.integers(-(2**15), 2**15 - 1)),
    (IntegerConverter, Schema.OPTIONAL_INT32, st.integers(-(2**31), 2**31 - 1)),
    (LongConverter, Schema.OPTIONAL_INT64, st.integers(-(2**63), 2**63 - 1)),
    (FloatConverter, Schema.OPTIONAL_FLOAT32, st.floats(width=32)),
    (DoubleConverter, Schema.OPTIONAL_FLOAT64, st.floats()),
    (BooleanConverter, Schema.OPTIONAL_BOOLEAN, st.booleans()),
    (StringConverter, Schema.OPTIONAL_STRING, st.text()),
    (ByteArrayConverter, Schema.OPTIONAL_BYTES, st.binary()),
]


@pytest.mark.parametrize("made, schema, values", SINGLE_VALUES, ids=lambda given: getattr(given, "__name__", ""))
@given(data=st.data())
def test_single_values(made: type[Any], schema: Schema, values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    converter = made()
    value = data.draw(st.none() | values)
    written = converter.from_connect_data("t", schema, value)
    assert converter.from_connect_header("t", "k", schema, value) == written
    for found in (converter.to_connect_data("t", written), converter.to_connect_header("t", "k", written)):
        assert found.schema == schema
        assert (type(found.value), repr(found.value)) == (type(value), repr(value))


MOMENTS = st.datetimes(timezones=st.just(datetime.UTC)).map(
    lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)
)
STRUCT = (
    SchemaBuilder.struct()
    .field("i", Schema.INT64)
    .field("f", Schema.OPTIONAL_FLOAT64)
    .field("s", Schema.OPTIONAL_STRING)
    .field("b", Schema.BYTES)
    .field("t", Schema.TIMESTAMP)
    .field("n", SchemaBuilder.decimal(3).build())
    .field("a", SchemaBuilder.array(Schema.OPTIONAL_BOOLEAN).build())
    .field("m", SchemaBuilder.map(Schema.INT32, Schema.DATE).build())
    .build()
)
STRUCTS = st.fixed_dictionaries(
    {
        "i": st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "s": st.none() | st.text(),
        "b": st.binary(),
        "t": MOMENTS,
        "n": st.integers(-(10**30), 10**30).map(lambda unscaled: make_decimal(unscaled, 3)),
        "a": st.lists(st.none() | st.booleans(), max_size=3),
        "m": st.dictionaries(st.integers(-(2**31), 2**31 - 1), st.dates(), max_size=3),
    }
)
JSON = JsonConverter()
JSON.configure({"schemas.enable": "true"}, False)


@given(STRUCTS)
def test_structs_in_json(fields: dict[str, Any]) -> None:
    value = Struct(STRUCT, fields)
    assert JSON.to_connect_data("t", JSON.from_connect_data("t", STRUCT, value)) == (STRUCT, value)


HEADERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.text("abc xyz.é_/", min_size=1).filter(str.strip),
    st.integers(2**63, 2**80).map(decimal.Decimal),
    st.lists(st.integers(-(2**63), 2**63 - 1)),
    st.dictionaries(st.text("abcé"), st.booleans()),
)


@given(st.none() | HEADERS)
def test_simple_headers(value: Any) -> None:
    converter = SimpleHeaderConverter()
    data = converter.from_connect_header("t", "k", None, value)
    found = converter.to_connect_header("t", "k", data)
    assert (type(found.value), found.value) == (type(value), value)
    if found.schema is not None:
        found.schema.validate_value(found.value)
        assert converter.from_connect_header("t", "k", *found) == data
