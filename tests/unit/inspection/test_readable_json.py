# SPDX-License-Identifier: Apache-2.0
"""Connect data as JSON for people: all types, and the bounds."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.inspection.readable_json import DEPTH, ReadableJson

WHEN = datetime.datetime(2024, 2, 29, 12, 30, 1, 5000, datetime.UTC)
NOT_UTF8 = "a\ud800b"


class Unprintable:
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (7, 7),
        (1 << 63, "9223372036854775808"),
        (1.5, 1.5),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        ("ä", "ä"),
        (NOT_UTF8, "a\\ud800b"),
        (b"\x00\xff", "AP8="),
        (memoryview(b"ab"), "YWI="),
        (Decimal("12.50"), "12.50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1E+999999"), "1E+999999"),
        (WHEN, "2024-02-29T12:30:01.005Z"),
        (WHEN.replace(tzinfo=None), "2024-02-29T12:30:01.005Z"),
        (WHEN.date(), "2024-02-29"),
        (WHEN.time(), "12:30:01.005"),
        ({"a": [1, {"b": b"c"}]}, {"a": [1, {"b": "Yw=="}]}),
        ({1: "x", "y": 2}, [[1, "x"], ["y", 2]]),
        ((1, 2), [1, 2]),
    ],
)
def test_each_type_has_its_json(value: Any, expected: Any) -> None:
    readable = ReadableJson(1000)
    assert readable.value(value) == expected
    assert not readable.truncated


def test_any_other_object_has_some_text() -> None:
    assert "Unprintable" in ReadableJson(1000).value(Unprintable())
    assert ReadableJson(10_000).value(1 << 100_000).startswith("0x1000")


def test_a_struct_shows_defaults_and_float32_as_it_was_written() -> None:
    schema = SchemaBuilder.struct().field("small", Schema.FLOAT32)
    schema.field("list", SchemaBuilder.array(Schema.FLOAT32).build())
    schema.field("map", SchemaBuilder.map(Schema.STRING, Schema.FLOAT32).build())
    schema.field("absent", SchemaBuilder.int32().default_value(3).build())
    built = schema.build()
    tenth = 0.10000000149011612
    struct = Struct(built, {"small": tenth, "list": [tenth], "map": {"k": tenth}})
    shown = ReadableJson(1000).value(struct, built)
    assert shown == {"small": 0.1, "list": [0.1], "map": {"k": 0.1}, "absent": 3}


def test_a_schema_has_readable_defaults() -> None:
    schema = SchemaBuilder.struct().name("user").field("since", Schema.OPTIONAL_DATE)
    schema.field("day", SchemaBuilder.int32().name(Schema.DATE.name or "").default_value(WHEN.date()).build())
    shown = ReadableJson(1000).schema(schema.build())
    assert shown["type"] == "struct" and shown["name"] == "user"
    assert shown["fields"][0]["name"] == Schema.DATE.name and shown["fields"][0]["field"] == "since"
    assert shown["fields"][1]["default"] == "2024-02-29"
    assert ReadableJson(10).schema(None) is None


@pytest.mark.parametrize(
    "value",
    ["x" * 10_000_000, b"x" * 10_000_000, list(range(100_000)), [[]] * 100_000, {str(n): n for n in range(100_000)},
     {n: "x" * 50 for n in range(10_000)}, ["x" * 999] * 1000],
)  # fmt: skip
def test_what_is_huge_is_shortened_with_a_mark(value: Any) -> None:
    readable = ReadableJson(1000)
    text = json.dumps(readable.value(value))
    assert readable.truncated
    assert len(text) < 12_000
    assert isinstance(value, bytes) or "\\u2026" in text


def test_deep_nesting_ends() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    readable = ReadableJson(1_000_000)
    text = json.dumps(readable.value(value))
    assert readable.truncated and text.count("[") == DEPTH
    while value:  # or Python would end it recursively
        value = value[0]


def test_a_value_that_fits_is_not_marked() -> None:
    readable = ReadableJson(10)
    assert readable.value("x" * 10) == "x" * 10
    assert not readable.truncated
    assert readable.value("y") == "… (1 characters)"
    assert readable.truncated
