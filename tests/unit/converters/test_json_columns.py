# SPDX-License-Identifier: Apache-2.0
"""Columns of JSON are what the rows would have become one by one."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.api.arrow_records import table_to_records
from headrace.converters.json_converter import JsonConverter
from tests.tiers import examples

DAY = datetime.datetime(2026, 3, 29, 1, 59, 59, 999_999)
TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
LEAVES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint32(), st.integers(0, 2**32 - 1)),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.string(), TEXT),
    (pa.large_string(), st.sampled_from(["a", "é", "x,y"])),
    (pa.binary(), st.binary(max_size=5)),
    (pa.decimal128(10, 3), st.decimals(-999_999, 999_999, places=3)),
    (pa.date32(), st.dates()),
    (pa.time32("ms"), st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))),
    (pa.time64("us"), st.times()),
    (pa.timestamp("us"), st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30))),
    (pa.timestamp("ms", "UTC"), st.just(DAY.replace(microsecond=999_000))),
    (pa.timestamp("us", "America/New_York"), st.just(DAY)),
]
Typed = tuple[pa.DataType, st.SearchStrategy[Any]]


def nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def struct(fields: list[tuple[Typed, bool]]) -> Typed:
    names = [f'f{n}"é' if n == 1 else f"f{n}" for n in range(len(fields))]
    made = [pa.field(name, kind, may) for name, ((kind, _), may) in zip(names, fields, strict=True)]
    values = {name: nullable(rows) if may else rows for name, ((_, rows), may) in zip(names, fields, strict=True)}
    return pa.struct(made), st.fixed_dictionaries(values)


def listed(element: Typed) -> Typed:
    return pa.list_(element[0]), st.lists(nullable(element[1]), max_size=3)


TYPES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: inner.map(listed) | st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=4).map(struct),
    max_leaves=6,
)


def one_by_one(made: JsonConverter, column: pa.Array) -> list[bytes | None]:
    table = pa.table({"topic": pa.array(["t"] * len(column), pa.string()), "value": column})
    return [made.from_connect_data("t", record.value_schema, record.value) for record in table_to_records(table)]


@settings(max_examples=examples(200))
@given(st.data(), st.booleans(), st.sampled_from(["BASE64", "NUMERIC"]))
def test_a_column_is_written_as_its_rows(data: st.DataObject, enabled: bool, decimals: str) -> None:
    made = JsonConverter()
    made.configure({"schemas.enable": str(enabled).lower(), "decimal.format": decimals})
    kind, values = data.draw(TYPES)
    column = pa.array(data.draw(st.lists(nullable(values), max_size=5)), kind)
    expected = one_by_one(made, column)
    assert made.from_arrow("t", column) == expected
    first = data.draw(st.integers(0, len(column)))
    parts = pa.chunked_array([column.slice(0, first), column.slice(first)], kind)
    assert made.from_arrow("t", parts) == expected


REQUIRED = pa.struct([pa.field("a", pa.int32(), nullable=False)])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"a": None}], REQUIRED),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
        pa.array([{"m": [("k", 1)]}], pa.struct([("m", pa.map_(pa.string(), pa.int32()))])),
        pa.array([{}], pa.struct([])),
        pa.array([None], pa.null()),
    ],
)
def test_what_is_left_to_the_rows(column: pa.Array) -> None:
    assert JsonConverter().from_arrow("t", column) is None


def test_null_structs_have_no_fields_that_may_not_be_null() -> None:
    made = JsonConverter()
    made.configure({"schemas.enable": "false"})
    column = pa.array([{"a": 1}, None], REQUIRED)
    assert made.from_arrow("t", column) == [b'{"a":1}', None]


def test_digits_are_those_of_java() -> None:
    made = JsonConverter()
    made.configure({"schemas.enable": "false", "decimal.format": "NUMERIC"})
    column = pa.array([{"f": 1e10, "d": decimal.Decimal("1.50")}, {"f": float("nan"), "d": decimal.Decimal("-0.00")}])
    assert made.from_arrow("t", column) == [b'{"f":1.0E10,"d":1.50}', b'{"f":"NaN","d":0.00}']
