# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.api.errors import ConfigError
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.converters.byte_array_converter import ByteArrayConverter
from headrace.converters.string_converter import StringConverter


def string(encoding: str = "UTF-8") -> StringConverter:
    made = StringConverter()
    made.configure({"converter.encoding": encoding})
    return made


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        (None, {"a": [1, None, 2.0], "b": True}, "{a=[1, null, 2.0], b=true}"),
        (Schema.FLOAT32, 0.10000000149011612, "0.1"),
        (Schema.DATE, datetime.date(2024, 1, 2), "Tue Jan 02 00:00:00 UTC 2024"),
        (Schema.TIMESTAMP, datetime.datetime(2024, 1, 2, 3, 4, 5), "Tue Jan 02 03:04:05 UTC 2024"),
        (Schema.TIME, datetime.time(3, 4, 5), "Thu Jan 01 03:04:05 UTC 1970"),
        (None, float("-inf"), "-Infinity"),
    ],
)
def test_what_is_no_string_is_written_as_java_shows_it(schema: Schema | None, value: Any, expected: str) -> None:
    assert string().from_connect_data("t", schema, value) == expected.encode()


def test_structs_show_their_fields() -> None:
    schema = SchemaBuilder.struct().field("a", Schema.FLOAT32).field("b", Schema.OPTIONAL_STRING).build()
    assert string().from_connect_data("t", schema, Struct(schema, {"a": 0.5})) == b"Struct{a=0.5}"
    assert string().from_connect_data("t", schema, Struct(schema, {"a": 0.5, "b": "x"})) == b"Struct{a=0.5,b=x}"


def test_utf_16_is_big_endian_as_in_java() -> None:
    assert string("UTF-16").from_connect_data("t", Schema.STRING, "é") == b"\xfe\xff\x00\xe9"
    assert string("UTF-16").to_connect_data("t", b"\xfe\xff\x00\xe9").value == "é"


def test_an_unknown_encoding_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match=r"'NOPE-8' for configuration converter\.encoding"):
        string("NOPE-8")


def columns(values: list[Any], *kinds: pa.DataType) -> list[Any]:
    arrays = [pa.array(values, kind) for kind in kinds]
    first = arrays[0]
    chunked = pa.chunked_array([first.slice(0, 1), first.slice(1)])
    return [*arrays, chunked, chunked.slice(1), first.dictionary_encode(), pc.run_end_encode(first), first.slice(0, 0)]


def test_columns_of_text_equal_their_rows() -> None:
    for column in columns(["a", None, "é", "a"], pa.string(), pa.large_string(), pa.string_view()):
        rows = [string().from_connect_data("t", Schema.STRING, value) for value in column.to_pylist()]
        assert string().from_arrow("t", column) == rows
    assert string("latin-1").from_arrow("t", pa.array(["a"])) is None
    assert string().from_arrow("t", pa.array([b"a"])) is None


def test_columns_of_bytes_equal_their_rows() -> None:
    converter = ByteArrayConverter()
    for column in columns([b"ab", None, b"\xff\xff"], pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)):
        if len(column) or column.type == pa.binary():
            assert converter.from_arrow("t", column) == column.to_pylist()
    assert converter.from_arrow("t", pa.array(["a"])) is None
