# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.api.arrow import constant
from headrace.api.errors import ConfigError, DataError
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.converters.json_converter import JsonConverter

PERSON = (
    SchemaBuilder.struct()
    .field("name", Schema.STRING)
    .field("height", Schema.FLOAT64)
    .field("size", SchemaBuilder.int32().default_value(7).build())
    .build()
)


def converter(**configs: str) -> JsonConverter:
    made = JsonConverter()
    made.configure({name.replace("_", "."): value for name, value in configs.items()})
    return made


def write(schema: Schema | None, value: Any, **configs: str) -> bytes | None:
    return converter(**({"schemas_enable": "false"} | configs)).from_connect_data("t", schema, value)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("\x00\x1f\x7f", rb'"\u0000\u001F' + b'\x7f"'),
        ("\\u001f", rb'"\\u001f"'),
        ("\\\x1f", rb'"\\\u001F"'),
        ("é😀", '"é\\uD83D\\uDE00"'.encode()),
        ("\U0010ffff\uffff", '"\\uDBFF\\uDFFF\uffff"'.encode()),
    ],
)
def test_escapes_are_those_of_java(text: str, expected: bytes) -> None:
    assert write(Schema.STRING, text) == expected
    assert write(None, text) == expected
    assert write(None, {text: 1}) == b"{" + expected + b":1}"


@pytest.mark.parametrize(
    "value, expected",
    [
        (1e7, b"1.0E7"),
        (9999999.0, b"9999999.0"),
        (0.001, b"0.001"),
        (1.5e-4, b"1.5E-4"),
        (-1.25e300, b"-1.25E300"),
        (-0.0, b"-0.0"),
        (5e-324, b"4.9E-324"),
    ],
)
def test_doubles_are_written_as_java_does(value: float, expected: bytes) -> None:
    assert write(Schema.FLOAT64, value) == expected


@pytest.mark.parametrize(
    "value, expected", [(0.1, b"0.1"), (2.0**24, b"1.6777216E7"), (3.4028235e38, b"3.4028235E38"), (1e-45, b"1.4E-45")]
)
def test_float32_has_the_shortest_digits(value: float, expected: bytes) -> None:
    assert write(Schema.FLOAT32, value) == expected


def test_a_struct_in_an_envelope() -> None:
    written = converter().from_connect_data("t", PERSON, Struct(PERSON, {"name": "Ada", "height": 1e-9}))
    assert written == (
        b'{"schema":{"type":"struct","fields":[{"type":"string","optional":false,"field":"name"},'
        b'{"type":"double","optional":false,"field":"height"},'
        b'{"type":"int32","optional":false,"default":7,"field":"size"}],"optional":false},'
        b'"payload":{"name":"Ada","height":1.0E-9,"size":7}}'
    )


def test_a_missing_required_field_is_refused() -> None:
    with pytest.raises(DataError, match="null value for field that is required"):
        write(PERSON, Struct(PERSON, {"name": "Ada"}))


def test_schemas_alternate() -> None:
    made = converter(schemas_cache_size="1")
    for _ in range(3):
        assert made.from_connect_data("t", Schema.INT32, 1) == (
            b'{"schema":{"type":"int32","optional":false},"payload":1}'
        )
        assert made.from_connect_data("t", None, 1) == b'{"schema":null,"payload":1}'
        assert made.from_connect_data("t", Schema.STRING, "x") == (
            b'{"schema":{"type":"string","optional":false},"payload":"x"}'
        )
    assert made.from_connect_data("t", None, None) is None


@pytest.mark.parametrize("bad", [2**63, "\ud800", {1, 2}, object()])
def test_what_json_cannot_hold_is_a_data_error(bad: Any) -> None:
    with pytest.raises(DataError):
        write(None, {"k": [bad]})


ENVELOPE = b'{"schema":{"type":"int32","optional":false},"payload":%s}'


def test_the_head_of_an_envelope_is_a_key_only_where_it_is_whole() -> None:
    made = converter()
    for _ in range(2):
        assert made.to_connect_data("t", ENVELOPE % b"5") == (Schema.INT32, 5)
        assert made.to_connect_data("t", ENVELOPE % b'5} {"x":1') == (Schema.INT32, 5)
        with pytest.raises(DataError, match="may not contain additional fields"):
            made.to_connect_data("t", ENVELOPE % b'5,"x":1')
        # The key itself as text inside a schema, and a payload that comes first.
        tricky = b'{"schema":{"type":"int32","doc":",\\"payload\\":"},"payload":6}'
        assert made.to_connect_data("t", tricky).value == 6
        within = b'{"schema":{"type":"int32","x":{"y":1,"payload":2}},"payload":7}'
        assert made.to_connect_data("t", within).value == 7
        assert made.to_connect_data("t", b'{"payload":8,"schema":{"type":"int64"}}') == (Schema.INT64, 8)


def test_big_numbers_keep_their_digits() -> None:
    made = converter()
    decimal_schema = SchemaBuilder.decimal(2).build()
    head = made.from_connect_data("t", decimal_schema.replace(optional=True), None)
    assert head is not None
    for _ in range(2):
        found = made.to_connect_data("t", head.replace(b'"payload":null', b'"payload":1234567890123456789.10'))
        assert str(found.value) == "1234567890123456789.10"
    for _ in range(2):
        assert made.to_connect_data("t", ENVELOPE % b"18446744073709551621") == (Schema.INT32, 5)
        assert made.to_connect_data("t", ENVELOPE % b"1e999999999") == (Schema.INT32, 0)


@pytest.mark.parametrize("enabled", ["true", "false"])
@pytest.mark.parametrize("values", [["a", None, "é", ""], ["a", 'q"', "\\", "\n", "😀", None]])
def test_columns_of_text_equal_their_rows(values: list[str | None], enabled: str) -> None:
    made = converter(schemas_enable=enabled)
    rows = [None if v is None else made.from_connect_data("t", Schema.STRING, v) for v in values]
    column = pa.array(values, pa.string())
    for given in (
        column,
        pa.chunked_array([column.slice(0, 1), column.slice(1)]),
        column.dictionary_encode(),
        column.cast(pa.large_string()),
        column.cast(pa.string_view()),
        pc.run_end_encode(column),
    ):
        assert made.from_arrow("t", given) == rows
    assert made.from_arrow("t", constant("a", 2)) == rows[:1] * 2
    assert made.from_arrow("t", pa.array([1])) is None


def test_schema_content_reads_without_envelope() -> None:
    made = converter(schema_content=json.dumps({"type": "int32"}))
    assert made.to_connect_data("t", b"5") == (Schema.INT32, 5)
    with pytest.raises(DataError):
        converter(schema_content='{"type":"nothing"}')


def test_configuration_is_checked() -> None:
    with pytest.raises(ConfigError, match=r"decimal\.format"):
        converter(decimal_format="HEX")
