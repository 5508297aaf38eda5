# SPDX-License-Identifier: Apache-2.0
"""Columns that cross as such: the same as their values, one by one."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import DataError
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.java.columns_to_java import java_columns
from headrace.java.columns_to_python import python_column
from headrace.java.data import java_schema, java_value, python_value
from headrace.java.jvm import java_class
from tests.java.connect_data import schemas, values


class Column:
    """A schema and values of it. Hypothesis prints it by `repr`, which is short."""

    def __init__(self, schema: Schema | None, values: list[Any]) -> None:
        self.schema = schema
        self.values = values

    def __repr__(self) -> str:
        return f"Column({self.schema!r}, {self.values!r})"


@st.composite
def columns(draw: st.DrawFn) -> Column:
    schema = draw(schemas())
    return Column(schema, draw(st.lists(st.none() | values(schema), max_size=5)))


def java_list(elements: list[Any]) -> Any:
    made = java_class("java.util.ArrayList")()
    for each in elements:
        made.add(each)
    return made


def as_java_prints(elements: list[Any]) -> str:
    """The elements with the digits of all numbers; of byte arrays within others only that there is one."""
    printed = str(java_class("java.util.Arrays").deepToString(java_list(elements).toArray()))
    return re.sub(r"\[B@[0-9a-f]+", "bytes", printed)


@given(columns())
def test_from_java_to_python(column: Column) -> None:
    schema = java_schema(column.schema)
    theirs = java_list([java_value(column.schema, each) for each in column.values])
    assert repr(python_column(schema, theirs)) == repr([python_value(schema, each) for each in theirs])


@given(columns())
def test_from_python_to_java(column: Column) -> None:
    theirs, data = java_columns([column.schema] * len(column.values), column.values)
    schema = java_schema(column.schema)
    assert all(schema.equals(each) for each in theirs)
    assert as_java_prints([*data]) == as_java_prints([java_value(column.schema, each) for each in column.values])


SCHEMALESS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        [Struct(SchemaBuilder.struct().field(name, Schema.STRING).build(), {name: "x"}) for name in "ab"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(SCHEMALESS, max_size=6))
def test_without_a_schema_both_ways(data: list[Any]) -> None:
    _, column = java_columns([None] * len(data), data)
    assert as_java_prints([*column]) == as_java_prints([java_value(None, each) for each in data])
    single = repr([python_value(None, java_value(None, each)) for each in data])
    assert repr(python_column(None, java_list([*column]))) == single


def test_a_large_integer_of_java() -> None:
    large = java_class("java.math.BigInteger")("9" * 30)
    assert python_column(None, java_list([large, java_class("java.lang.Byte")(7)])) == [int("9" * 30), 7]


def test_a_text_is_not_mended_by_the_one_behind_it() -> None:
    character = java_class("java.lang.String")("\U0001f600")
    halves = [character.substring(0, 1), character.substring(1)]
    with pytest.raises(DataError, match="half of a surrogate pair"):
        python_column(java_schema(Schema.STRING), java_list(halves))


@pytest.mark.parametrize("texts", [["a", "\U0001f600b", ""], ["", ""], ["é" * 1000, "\uffff", "\x00"]])
def test_texts(texts: list[str]) -> None:
    _, column = java_columns([Schema.STRING] * len(texts), texts)
    assert [str(each) for each in column] == texts
    assert python_column(java_schema(Schema.STRING), java_list([*column])) == texts


def test_several_schemas_at_once() -> None:
    row = SchemaBuilder.struct().name("row").field("a", Schema.INT8).build()
    schemas = [row, None, Schema.STRING, row, None]
    data = [Struct(row, {"a": 1}), None, "text", Struct(row, {"a": -2}), 5]
    theirs, column = java_columns(schemas, data)
    kinds = [None if each is None else str(each.type()) for each in theirs]
    assert kinds == ["STRUCT", None, "STRING", "STRUCT", None]
    assert as_java_prints([*column]) == "[Struct{a=1}, null, text, Struct{a=-2}, 5]"


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (Schema.INT8, 128, "INT8"),
        (Schema.STRING, "\ud800", "surrogate"),
        (None, 2**63, "Java cannot hold"),
        (None, object(), "object is no type of Connect data"),
        (SchemaBuilder.decimal(2).build(), Decimal("NaN"), "the decimal NaN"),
    ],
)
def test_what_java_cannot_hold(schema: Schema | None, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        java_columns([schema], [value])


def test_what_python_cannot_hold() -> None:
    year_10000 = java_class("java.util.Date")(253402300800000)
    for schema, value in [
        (Schema.TIMESTAMP, year_10000),
        (Schema.DATE, java_class("java.util.Date")(1)),
        (Schema.INT8, java_class("java.lang.Long")(1)),
        (None, java_class("java.lang.Object")()),
    ]:
        with pytest.raises(DataError):
            python_column(java_schema(schema), java_list([value]))
    kinds = [Struct(SchemaBuilder.struct().name(f"s{number}").build()) for number in range(25)]
    with pytest.raises(DataError, match="too many kinds"):
        python_column(None, java_list([java_value(None, each) for each in kinds]))
