# SPDX-License-Identifier: Apache-2.0
"""Java converters of whole columns: the same as row by row, with as many calls for many rows as for a few."""

from __future__ import annotations

from typing import Any, Final

import pytest

from headrace.api.converter import Converter, SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.java.converters import converter_class
from tests.java.calls import calls_in
from tests.java.test_converters import DATA, SCHEMA

KAFKA: Final = "org.apache.kafka.connect"
ROW: Final = SchemaBuilder.struct().name("row").field("id", Schema.INT64).field("text", Schema.OPTIONAL_STRING).build()
CONVERTERS: Final = {
    "json": f"{KAFKA}.json.JsonConverter",
    "text": f"{KAFKA}.storage.StringConverter",
    "long": f"{KAFKA}.converters.LongConverter",
}


def converter(name: str, **configs: Any) -> Converter:
    made = converter_class((), CONVERTERS[name])()
    made.configure(configs, False)
    return made


@pytest.mark.parametrize("name", ["json", "text"])
def test_the_same_as_single_rows(name: str) -> None:
    made = converter(name)
    # As a text, Java's bytes are those of an address.
    data = [each for each in DATA if name == "json" or each[0] is not SCHEMA]
    rows = [data[number % len(data)] for number in range(30)]
    schemas, values = [schema for schema, _ in rows], [value for _, value in rows]
    found = made.from_connect_columns("t", schemas, values)
    assert found == [made.from_connect_data("t", schema, value) for schema, value in rows]
    assert found is not None
    column = [*found, None]
    topics = ["t" if number % 2 else "größer" for number in range(len(column))]
    read = made.to_connect_columns(topics, column)
    assert read == [made.to_connect_data(topic, data) for topic, data in zip(topics, column, strict=True)]
    assert {type(each) for each in read or ()} == {SchemaAndValue}


def test_a_row_costs_no_calls_of_java() -> None:
    made = converter("json")

    def both_ways(count: int) -> None:
        rows = [Struct(ROW, {"id": number, "text": f"text {number}"}) for number in range(count)]
        column = made.from_connect_columns("t", [ROW] * count, rows)
        assert column is not None
        made.to_connect_columns(["t"] * count, column)

    both_ways(30)
    few, many, one = (
        calls_in(call, "headrace.java")
        for call in (lambda: both_ways(30), lambda: both_ways(1030), lambda: one_way_and_back(made))
    )
    assert (many - few) / 1000 < 10 < one / 5  # the few are of Python alone


def one_way_and_back(made: Converter) -> SchemaAndValue:
    return made.to_connect_data("t", made.from_connect_data("t", ROW, Struct(ROW, {"id": 1, "text": "text 1"})))


def test_a_row_that_fails() -> None:
    made = converter("long")
    with pytest.raises(DataError):
        made.from_connect_columns("t", [Schema.INT64] * 30 + [Schema.STRING], [*range(30), "text"])
    with pytest.raises(DataError, match="one of the rows"):
        made.to_connect_columns(["t"] * 30, [b"\0" * 8] * 29 + [b"short"])


def test_few_rows_are_converted_one_by_one() -> None:
    made = converter("json")
    assert made.from_connect_columns("t", [None], [1]) is None
    assert made.to_connect_columns(["t"], [b"1"]) is None
