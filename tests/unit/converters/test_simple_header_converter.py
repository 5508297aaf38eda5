# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
from typing import Any

import pytest

from headrace.api.converter import NULL
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.converters.simple_header_converter import SimpleHeaderConverter


def test_what_it_is_configured_by() -> None:
    assert SimpleHeaderConverter().config().config_keys == {}


@pytest.mark.parametrize("text", [b"null", b" null ", None])
def test_null_is_read_from_the_word_too(text: bytes | None) -> None:
    assert SimpleHeaderConverter().to_connect_header("t", "k", text) == NULL


def test_a_struct_comes_back_as_a_map() -> None:
    schema = SchemaBuilder.struct().field("a", Schema.INT32).field("b", Schema.INT64).build()
    data = SimpleHeaderConverter().from_connect_header("t", "k", schema, Struct(schema, {"a": 1, "b": 300}))
    assert data == b'{"a":1,"b":300}'
    expected = (SchemaBuilder.map(Schema.STRING, Schema.INT16).build(), {"a": 1, "b": 300})
    assert SimpleHeaderConverter().to_connect_header("t", "k", data) == expected


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        (Schema.DATE, datetime.date(1970, 1, 1), b"00:00:00.000Z"),  # Java shows no day before 1970-01-02
        (Schema.DATE, datetime.date(1960, 1, 1), b"00:00:00.000Z"),
        (Schema.TIMESTAMP, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), b"23:59:59.999Z"),
        (Schema.TIMESTAMP, datetime.datetime(2024, 2, 29, 3, 4, 5, 678900), b"2024-02-29T03:04:05.678Z"),
        (SchemaBuilder.array(Schema.BYTES).build(), [b"\x01"], b'["AQ=="]'),
        (SchemaBuilder.array(Schema.FLOAT32).build(), [0.10000000149011612, None], b"[0.1,null]"),
        (SchemaBuilder.map(Schema.INT32, Schema.FLOAT32).build(), {1: 0.10000000149011612}, b"{1:0.1}"),
        (Schema.STRING, "\ud800", b"?"),
    ],
)
def test_text_that_java_writes(schema: Schema, value: Any, expected: bytes) -> None:
    assert SimpleHeaderConverter().from_connect_header("t", "k", schema, value) == expected
