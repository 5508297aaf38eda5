# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
import decimal
import json
import uuid
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.api.arrow import constant
from headrace.api.errors import ConfigError, DataError
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.converters.json_converter import JsonConverter
from tests.tiers import examples

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


def test_a_struct_of_an_equal_schema_is_written() -> None:
    made = converter(schemas_enable="false")
    inner = SchemaBuilder.struct().field("p", PERSON).build()
    for schema in (PERSON, PERSON.replace(doc=None), PERSON):
        person = Struct(schema, {"name": "Ada", "height": 1.5})
        assert made.from_connect_data("t", schema, person) == b'{"name":"Ada","height":1.5,"size":7}'
        assert made.from_connect_data("t", inner, Struct(inner, {"p": person})) == (
            b'{"p":{"name":"Ada","height":1.5,"size":7}}'
        )
    for other in (PERSON.replace(name="other"), PERSON.replace(optional=True)):
        with pytest.raises(DataError, match="Mismatching schema"):
            made.from_connect_data("t", PERSON, Struct(other))


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
    for form in (
        column,
        pa.chunked_array([column.slice(0, 1), column.slice(1)]),
        column.dictionary_encode(),
        column.cast(pa.large_string()),
        column.cast(pa.string_view()),
        pc.run_end_encode(column),
    ):
        assert made.from_arrow("t", form) == rows
    assert made.from_arrow("t", constant("a", 2)) == rows[:1] * 2


def read(payload: str, schema: str = "null", **configs: str) -> Any:
    """What an envelope with this schema and payload is read to; the second time by what the first one compiled."""
    text = f'{{"schema":{schema},"payload":{payload}}}'.encode()
    made = converter(**configs)
    first, second = made.to_connect_data("t", text), made.to_connect_data("t", text)
    assert repr(first) == repr(second)
    assert repr(first.value) == repr(made.to_connect_data("t", text.replace(b',"payload":', b' , "payload": ')).value)
    return first.value


def kind(name: str, logical: str = "", **more: Any) -> str:
    named = {"name": f"org.apache.kafka.connect.data.{logical}"} if logical else {}
    return json.dumps({"type": name, **named, **more})


@pytest.mark.parametrize(
    "type_, payload, expected",
    [
        ("int8", "128", -128),
        ("int8", "-129.9", 127),
        ("int16", "65537", 1),
        ("int32", "4294967297", 1),
        ("int32", "4.99999999999999999999", 4),
        ("int32", "-0.5", 0),
        ("int64", "9223372036854775808", -(2**63)),
        ("int64", "-9223372036854775809", 2**63 - 1),
        ("int64", "9007199254740993.5", 9007199254740993),
        ("int64", "1e18", 10**18),
        ("int64", '"5"', 0),
        ("int64", "true", 0),
        ("int64", "[1]", 0),
        ("float", "0.1", 0.10000000149011612),
        ("double", "18446744073709551617", 2.0**64),
        ("double", "1" + "0" * 400, float("inf")),
        ("double", "-1e400", float("-inf")),
        ("double", '"NaN"', 0.0),
        ("boolean", "1", False),
        ("boolean", '"true"', False),
        ("string", "5", None),
        ("bytes", "false", None),
        ("string", '"\\ud83d\\ude00\\u00e9\\/"', "😀é/"),
        ("string", '"\\ud800"', "\ud800"),
    ],
)
def test_payloads_are_cast_as_in_java(type_: str, payload: str, expected: Any) -> None:
    assert repr(read(payload, kind(type_))) == repr(expected)


def test_there_is_no_negative_zero_in_what_is_read() -> None:
    assert [str(read("-0.0", schema)) for schema in ("null", kind("double"), kind("float"))] == ["0.0"] * 3
    assert str(read("-0.00", kind("bytes", "Decimal", parameters={"scale": "2"}))) == "0.00"
    assert str(read('[1,{"a":-0.0}]')) == "[1, {'a': 0.0}]"


@pytest.mark.parametrize(
    "payload, expected",
    [
        ('"QUI="', b"AB"),
        ('" QUJD\\n QUJD\\t"', b"ABCABC"),
        ('"QUI=QQ=="', b"ABA"),
        ('""', b""),
        ('" "', b""),
    ],
)
def test_base64_is_read_as_leniently_as_in_java(payload: str, expected: bytes) -> None:
    assert read(payload, kind("bytes")) == expected


@pytest.mark.parametrize("payload", ['"QUI"', '"Q QJD"', '"QU-_"', '"=QUI"', '"QUI=="', '"Q==="'])
def test_what_is_no_base64_is_refused(payload: str) -> None:
    with pytest.raises(DataError, match="base64"):
        read(payload, kind("bytes"))


@pytest.mark.parametrize(
    "schema, payload, expected",
    [
        (kind("bytes", "Decimal", parameters={"scale": "2"}), "1.50e2", "150"),
        (kind("bytes", "Decimal", parameters={"scale": "2"}), "1E5", "1E+5"),
        (kind("bytes", "Decimal", parameters={"scale": "2"}), "123456789012345678901234567890", None),
        (kind("bytes", "Decimal", parameters={"scale": "2"}), '"AMg="', "2.00"),
        (kind("int32", "Date"), "-1", "1969-12-31"),
        (kind("int32", "Time"), "86399999", "23:59:59.999000"),
        (kind("int64", "Timestamp"), "18446744073709551617", "1970-01-01 00:00:00.001000+00:00"),
        (kind("int64", "Timestamp"), "-1", "1969-12-31 23:59:59.999000+00:00"),
    ],
)
def test_logical_types_are_read_as_in_java(schema: str, payload: str, expected: str | None) -> None:
    assert str(read(payload, schema)) == (expected or payload)


@pytest.mark.parametrize(
    "schema, payload",
    [
        (kind("bytes", "Decimal", parameters={"scale": "2"}), "true"),
        (kind("bytes", "Decimal", parameters={"scale": "2"}), "[]"),
        (kind("bytes", "Decimal"), '"AMg="'),
        (kind("bytes", "Decimal", parameters={"scale": "2"}), "0." + "1" * 1001),
        (kind("int32", "Date"), "2147483648"),
        (kind("int32", "Date"), "18446744073709551616"),
        (kind("int32", "Time"), "86400000"),
        (kind("int64", "Timestamp"), "1e3"),
        (kind("int64", "Timestamp"), "1e30"),
        (kind("int64", "Timestamp"), "false"),
        (kind("struct", fields=[{"type": "string", "field": "a"}]), '{"a":5}'),
        (kind("struct", fields=[{"type": "array", "items": {"type": "string"}, "field": "a"}]), '{"a":[5]}'),
        (kind("struct", fields=[{"type": "int32", "field": "a", "default": 1}]), "null"),
        (kind("map", keys={"type": "string"}, values={"type": "string"}), "[]"),
        (kind("map", keys={"type": "int32"}, values={"type": "string"}), "{}"),
        (kind("int32", default=None), "1"),
        (kind("array"), "[]"),
        ("[]", "1"),
        ("5", "1"),
        ("{}", "1"),
        (kind("int32", parameters={"a": 1}), "1"),
    ],
)
def test_what_java_refuses_is_a_data_error(schema: str, payload: str) -> None:
    with pytest.raises(DataError):
        read(payload, schema)


def test_containers_of_containers() -> None:
    point = {"type": "struct", "fields": [{"type": "int8", "field": "x"}, {"type": "bytes", "field": "y"}]}
    schema = kind("map", keys=point, values={"type": "array", "items": point})
    [(key, [value, other])] = read(
        '[[{"x":1,"y":"AQ=="},[{"x":300,"y":"","z":0},{"y":"AA==","x":"1"}]]]', schema
    ).items()
    assert (key["x"], key["y"], value["x"], value["y"], other["x"], other["y"]) == (1, b"\x01", 44, b"", 0, b"\0")
    assert read(
        '{"a":{"b":null}}',
        kind(
            "map",
            keys={"type": "string"},
            values=json.loads(kind("map", keys={"type": "string"}, values={"type": "int32", "optional": True})),
        ),
    ) == {"a": {"b": None}}


def test_defaults_take_the_place_of_null_and_of_what_is_missing() -> None:
    fields = [
        {"type": "int32", "field": "a", "default": 300, "optional": True},
        {"type": "string", "field": "b", "optional": True},
    ]
    schema = kind("struct", fields=fields)
    for payload in ('{"a":null}', "{}", '{"b":null}'):
        assert read(payload, schema).field_values == [300, None]
        assert read(payload, schema, replace_null_with_default="false").field_values == [None, None]
    assert read("null", kind("int8", default=300)) == 44
    assert read("null", kind("double", default=-2.5)) == -2.5
    assert read("null", kind("array", items={"type": "float"}, default=[1, "x"])) == [1.0, 0.0]
    assert read("1", kind("int32", version=2**32 + 5)) == 1


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", None),
        (" \n", None),
        ("5 x", 5),
        ("-007", -7),
        ("[01,-00.50]", [1, -0.5]),
        ('{"a":1,"b":2,"a":3}x', {"a": 3, "b": 2}),
        ('"a"x', "a"),
        ("null,", None),
        ("18446744073709551615", -1),
        ("[18446744073709551616,0.5]", [0, 0.5]),
        ("-9223372036854775809", 2**63 - 1),
        ("1e300", 1e300),
        ("1e400", float("inf")),
        ('{"k":[1,{"x":[]}]}', {"k": [1, {"x": []}]}),
    ],
)
def test_plain_json_is_read_as_leniently_as_in_java(text: str, expected: Any) -> None:
    made = converter(schemas_enable="false")
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"):
        if len(text) > 3 or encoding.startswith("utf-8"):
            assert made.to_connect_data("t", text.encode(encoding)) == (None, expected)


@pytest.mark.parametrize(
    "text",
    ["+7", "5x", "5.", ".5", "1e", "1,2", "-", "0x10", "truex", "nul", "NaN", "-Infinity", "[1", "[1,]", "{'a':1}",
     '{"a":1,}', '"\t"', '"\\x"', '"abc', "[1 2]", "1" * 1001, "1e99999999999",
     "1e9999999999999999999999", "// c\n5", "[" * 5000 + "]" * 5000],
)  # fmt: skip
def test_what_is_no_json_to_java_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        converter(schemas_enable="false").to_connect_data("t", text.encode())


def test_a_schema_before_a_payload_that_is_named_twice_is_not_mixed_up() -> None:
    made = converter()
    text = b'{"schema":{"type":"int32"},"payload":1,"schema":{"type":"string"}}'
    for _ in range(2):
        assert made.to_connect_data("t", text) == (Schema.STRING, None)
        assert made.to_connect_data("t", b'{"schema":{"type":"int32"},"payload":1}') == (Schema.INT32, 1)


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        (SchemaBuilder.map(Schema.OPTIONAL_STRING, Schema.INT8).build(), {None: 1, "a": 2}, b'{"null":1,"a":2}'),
        (SchemaBuilder.map(Schema.INT8, Schema.STRING).build(), {1: "a"}, b'[[1,"a"]]'),
        (SchemaBuilder.array(Schema.OPTIONAL_FLOAT64).build(), (1e20, None, -0.0), b"[1.0E20,null,-0.0]"),
        (None, {None: 1}, b"[[null,1]]"),
        (None, {"a": {1: b"x"}, "b": (1, 2.5e-7)}, b'{"a":[[1,"eA=="]],"b":[1,2.5E-7]}'),
        (None, [float("nan"), float("-inf"), 0.0, -0.0, 1e7], b'["NaN","-Infinity",0.0,-0.0,1.0E7]'),
        (None, {"a": -(2**63), "b": 2**63 - 1}, b'{"a":-9223372036854775808,"b":9223372036854775807}'),
        (None, bytearray(b"ab"), b'"YWI="'),
        (None, "", b'""'),
    ],
)  # fmt: skip
def test_values_are_written_as_java_does(schema: Schema | None, value: Any, expected: bytes) -> None:
    assert write(schema, value) == expected


@pytest.mark.parametrize(
    "bad",
    [2**63, -(2**63) - 1, decimal.Decimal("1.5"), datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1), {1, 2},
     uuid.UUID(int=1), Struct(PERSON), object(), "\udc00"],
)  # fmt: skip
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"k": v}, lambda v: [1.5, [v]], lambda v: {1: v}])
def test_what_java_has_no_type_for_is_refused(bad: Any, wrap: Any) -> None:
    with pytest.raises(DataError):
        write(None, wrap(bad))


def test_what_is_nested_too_deeply_is_a_data_error() -> None:
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    with pytest.raises(DataError):
        write(None, deep)


@pytest.mark.parametrize(
    "text, expected",
    [("1.50", b"1.50"), ("-0.00", b"0.00"), ("0E-7", b"0E-7"), ("0.000001", b"0.000001"), ("1E-7", b"1E-7"),
     ("12E+3", b"1.2E+4"), ("123456789012345678901234567890.5", b"123456789012345678901234567890.5")],
)  # fmt: skip
def test_numeric_decimals_are_written_with_their_own_scale(text: str, expected: bytes) -> None:
    assert write(SchemaBuilder.decimal(2).build(), decimal.Decimal(text), decimal_format="numeric") == expected


def test_a_decimal_must_be_a_number() -> None:
    for text in ("NaN", "Infinity"):
        for decimal_format in ("NUMERIC", "BASE64"):
            with pytest.raises(DataError):
                write(SchemaBuilder.decimal(0).build(), decimal.Decimal(text), decimal_format=decimal_format)


def test_nulls_in_structs() -> None:
    schema = (
        SchemaBuilder.struct()
        .field("i", SchemaBuilder.int32().optional().default_value(5).build())
        .field("f", SchemaBuilder.float64().optional().default_value(1e9).build())
        .field("d", SchemaBuilder.decimal(1).optional().default_value(decimal.Decimal("2.5")).build())
        .field("s", Schema.OPTIONAL_STRING)
        .build()
    )
    assert write(schema, Struct(schema)) == b'{"i":5,"f":1.0E9,"d":"GQ==","s":null}'
    assert write(schema, Struct(schema), decimal_format="NUMERIC") == b'{"i":5,"f":1.0E9,"d":2.5,"s":null}'
    assert write(schema, Struct(schema), replace_null_with_default="false") == b'{"i":null,"f":null,"d":null,"s":null}'
    assert write(schema.replace(optional=True), None) == b"null"


def test_a_schema_is_written_with_all_that_it_has() -> None:
    inner = SchemaBuilder.map(Schema.INT64, SchemaBuilder.array(Schema.OPTIONAL_BYTES).build()).optional().build()
    schema = (
        SchemaBuilder.struct().name("n").version(3).doc('"d"').parameter("b", "1").parameter("a", "2").field("m", inner)
    ).build()
    written = converter().from_connect_data("t", schema, Struct(schema, {"m": {7: [b"x", None]}}))
    assert written == (
        b'{"schema":{"type":"struct","fields":[{"type":"map","keys":{"type":"int64","optional":false},'
        b'"values":{"type":"array","items":{"type":"bytes","optional":true},"optional":false},"optional":true,'
        b'"field":"m"}],"optional":false,"name":"n","version":3,"doc":"\\"d\\"","parameters":{"b":"1","a":"2"}},'
        b'"payload":{"m":[[7,["eA==",null]]]}}'
    )
    found = converter().to_connect_data("t", written)
    assert found.schema == schema and found.value == Struct(schema, {"m": {7: [b"x", None]}})


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
DECIMALS = st.integers(-(10**30), 10**30).map(lambda unscaled: decimal.Decimal(unscaled).scaleb(-3, WIDE))
WIDE = decimal.Context(prec=60)
LEAVES = [
    (Schema.INT8, st.integers(-128, 127)),
    (Schema.INT64, st.integers(-(2**63), 2**63 - 1)),
    (Schema.FLOAT32, st.floats(allow_nan=False, allow_infinity=False, width=32)),
    (Schema.FLOAT64, FLOATS),
    (Schema.BOOLEAN, st.booleans()),
    (Schema.STRING, TEXT),
    (Schema.BYTES, st.binary(max_size=8)),
    (Schema.DATE, st.dates()),
    (Schema.TIME, st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))),
    (
        Schema.TIMESTAMP,
        st.datetimes(timezones=st.just(datetime.UTC)).map(
            lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)
        ),
    ),
    (SchemaBuilder.decimal(3).build(), DECIMALS),
]
Typed = tuple[Schema, st.SearchStrategy[Any]]


def optional(typed: Typed) -> Typed:
    schema, values = typed
    return schema.replace(optional=True), values | st.none()


def array(typed: Typed) -> Typed:
    return SchemaBuilder.array(typed[0]).build(), st.lists(typed[1], max_size=3)


def mapping(typed: Typed) -> Typed:
    text, number = (st.dictionaries(key, typed[1], max_size=3) for key in (TEXT, st.integers(0, 9)))
    if typed[0].optional:
        return SchemaBuilder.map(Schema.INT8, typed[0]).build(), number
    return SchemaBuilder.map(Schema.STRING, typed[0]).build(), text


def struct(fields: list[Typed]) -> Typed:
    builder = SchemaBuilder.struct()
    for number, (schema, _) in enumerate(fields):
        builder.field(f'"{number}é', schema)
    schema = builder.build()
    values = st.tuples(*(values for _, values in fields))
    return schema, values.map(lambda entries: Struct.of_valid(schema, list(entries)))


TYPED = st.recursive(
    st.sampled_from(LEAVES) | st.sampled_from(LEAVES).map(optional),
    lambda inner: inner.map(array) | inner.map(mapping) | st.lists(inner, max_size=4).map(struct),
    max_leaves=6,
)
SCHEMA_AND_VALUE = TYPED.flatmap(lambda typed: st.tuples(st.just(typed[0]), typed[1]))


@given(SCHEMA_AND_VALUE, st.sampled_from(["BASE64", "NUMERIC"]))
@settings(max_examples=examples(80), deadline=None)
def test_what_is_written_is_read_again(typed: tuple[Schema, Any], decimal_format: str) -> None:
    schema, value = typed
    made = converter(decimal_format=decimal_format)
    text = made.from_connect_data("t", schema, value)
    assert text is not None
    json.loads(text)
    for _ in range(2):
        assert made.to_connect_data("t", text) == (schema, value)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
@settings(max_examples=examples(80), deadline=None)
def test_plain_json_says_the_same_to_any_reader(value: Any) -> None:
    text = write(None, value)
    if value is None:
        assert text is None
        return
    assert text is not None
    assert json.loads(text) == value
    assert converter(schemas_enable="false").to_connect_data("t", text) == (None, value)
    assert converter(schemas_enable="false").to_connect_data("t", json.dumps(value).encode()) == (None, value)


def test_schema_content_reads_without_envelope() -> None:
    made = converter(schema_content=json.dumps({"type": "int32"}))
    assert made.to_connect_data("t", b"5") == (Schema.INT32, 5)
    with pytest.raises(DataError):
        converter(schema_content='{"type":"nothing"}')
    made = converter(schema_content="null")
    assert made.to_connect_data("t", ENVELOPE % b"5") == (Schema.INT32, 5)


def test_configuration_is_checked() -> None:
    with pytest.raises(ConfigError, match=r"decimal\.format"):
        converter(decimal_format="HEX")
