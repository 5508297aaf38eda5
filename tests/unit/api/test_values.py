# SPDX-License-Identifier: Apache-2.0
"""Values against Java's (tests/vectors), and what the vectors do not show."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api import values
from headrace.api.converter import NULL
from headrace.api.errors import DataError
from headrace.api.java_text import to_float32
from headrace.api.schema import Schema, Type
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.values_parser import MAX_NESTING
from tests.vectors.reader import BOX_WIDTH, NotInPython, load, same, schema_of, value_of

UTC = datetime.UTC
CONVERT: dict[str, tuple[Callable[..., Any], Schema | None]] = {
    "boolean": (values.convert_to_boolean, Schema.BOOLEAN),
    "int8": (values.convert_to_byte, Schema.INT8),
    "int16": (values.convert_to_short, Schema.INT16),
    "int32": (values.convert_to_integer, Schema.INT32),
    "int64": (values.convert_to_long, Schema.INT64),
    "float32": (values.convert_to_float, Schema.FLOAT32),
    "float64": (values.convert_to_double, Schema.FLOAT64),
    "string": (values.convert_to_string, Schema.STRING),
    "array": (values.convert_to_list, None),
    "map": (values.convert_to_map, None),
    "struct": (values.convert_to_struct, None),
    "Date": (values.convert_to_date, Schema.DATE),
    "Time": (values.convert_to_time, Schema.TIME),
    "Timestamp": (values.convert_to_timestamp, Schema.TIMESTAMP),
    "Decimal": (values.convert_to_decimal, SchemaBuilder.decimal(0).build()),
}


@pytest.mark.parametrize("vector", load("values", op="parseString"))
def test_text_is_parsed_as_java_does(vector: dict[str, Any]) -> None:
    found = values.parse_string(vector["input"]["text"])
    expected = vector["output"] or {"schema": None, "value": None}
    schema = schema_of(expected["schema"])
    assert found.schema == schema
    with decimal.localcontext(prec=500):
        assert same(schema, value_of(schema, expected["value"]), found.value), (expected, found)


@pytest.mark.parametrize("vector", load("values", op="convertTo"))
def test_values_are_converted_as_java_does(vector: dict[str, Any]) -> None:
    given_ = vector["input"]
    convert, target = CONVERT[given_["to"]]
    schema = schema_of(given_["schema"])
    arguments = (schema, value_of(schema, given_["value"]), *([given_["scale"]] if "scale" in given_ else []))
    if "error" in vector:
        with pytest.raises(DataError):
            convert(*arguments)
        return
    try:
        expected = value_of(target, vector["output"])
    except NotInPython:  # a date with a time of day: the timestamp that came in, untouched
        expected = value_of(None, vector["output"])
    if given_["to"] == "float32" and expected is not None:
        expected = to_float32(expected)
    actual = convert(*arguments)
    assert same(target, expected, actual), (expected, actual)


@pytest.mark.parametrize("vector", load("values", op="inferSchema"))
def test_schemas_are_inferred_as_java_does(vector: dict[str, Any]) -> None:
    if BOX_WIDTH in vector.get("java", ()):
        pytest.skip("Python's numbers have no width to infer")
    value = value_of(None, vector["input"]["value"])
    if "error" in vector:
        with pytest.raises(DataError):
            values.infer_schema(value)
    else:
        assert values.infer_schema(value) == schema_of(vector["output"])


@pytest.mark.parametrize(
    "text, expected",
    [
        ("14:34:54Z", (Schema.INT8, 14)),
        ('["a\\"b"]', (SchemaBuilder.array(Schema.STRING).build(), ['a\\"b'])),
        ('[1,null,"a"]', (SchemaBuilder.array(Schema.INT8).build(), None)),
        ("-0.0", (Schema.INT8, 0)),
        ("0e400", (Schema.INT8, 0)),
        ("5.", (Schema.INT8, 5)),
        ("+.5", (Schema.FLOAT32, 0.5)),
        ("1e2147483649", (Schema.STRING, "1e2147483649")),
        ("1e99999999999", (Schema.STRING, "1e99999999999")),
        ("1_000", (Schema.STRING, "1_000")),
        ("\N{MATHEMATICAL BOLD DIGIT FIVE}", (Schema.STRING, "\N{MATHEMATICAL BOLD DIGIT FIVE}")),
        ("12:34:56.789Z and more", (Schema.INT8, 12)),
        ("12:34:56.789Z,and more", (Schema.TIME, datetime.time(12, 34, 56, 789000))),
        ("1582-10-04", (Schema.DATE, datetime.date(1582, 10, 14))),  # the last Julian day
        ("1582-10-15", (Schema.DATE, datetime.date(1582, 10, 15))),
        ("1500-02-29", (Schema.DATE, datetime.date(1500, 3, 10))),  # a leap year to Julius Caesar
        ("2024-00-00", (Schema.DATE, datetime.date(2023, 11, 30))),
        ("12:34:-1.000Z", (Schema.TIME, datetime.time(12, 33, 59))),
        (" [1", (Schema.STRING, " ")),
    ],
)
def test_text_and_what_java_makes_of_it(text: str, expected: Any) -> None:
    if expected[1] is None:  # elements of no common type
        expected = (Schema(Type.ARRAY), [1, None, "a"])
    assert values.parse_string(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "25:00:00.000Z",  # no time of day
        "0000-01-01",
        "9999-12-32",
        '["25:00:00.000Z"]',
        "{[1]:2}",  # no key of a dict
        '{1:"a",true:"b"}',  # one key of a dict
        "[14:34:54.346Z,2024-02-29]",  # no date
        "[" * (MAX_NESTING + 1) + "]" * (MAX_NESTING + 1),
        "[" * 100_000,
    ],
)
def test_what_python_cannot_hold_stays_a_string(text: str) -> None:
    assert values.parse_string(text) == (Schema.STRING, text)


@pytest.mark.parametrize("text", ["[" * MAX_NESTING + "]" * MAX_NESTING, f"[{','.join(['[]'] * 2 * MAX_NESTING)}]"])
def test_nesting_has_a_limit_and_no_other(text: str) -> None:
    assert values.convert_to_string(None, values.parse_string(text).value) == text


def test_maps_of_mixed_keys_have_no_schemas_inside() -> None:
    assert values.parse_string('{1:"a","b":"c"}') == (Schema(Type.MAP), {1: "a", "b": "c"})


def test_decimals_have_no_negative_zero() -> None:
    assert values.convert_to_string(None, decimal.Decimal("-0.00")) == "0.00"
    assert str(values.convert_to_decimal(None, "-0.00", 0)) == "0.00"
    assert str(values.convert_to_decimal(None, -0.0, 0)) == "0.0"


@pytest.mark.parametrize("text, scale", [("1e2147483648", -2147483648), ("-7E+2000000000", -2000000000)])
def test_numbers_of_many_zeros_cost_nothing(text: str, scale: int) -> None:
    schema, value = values.parse_string(text)
    assert schema == SchemaBuilder.decimal(scale).build()
    assert value == decimal.Decimal(text)
    assert values.convert_to_long(schema, value) == 0  # the low 64 bits
    assert values.parse_string("1e-2147483647") == (Schema.FLOAT32, 0.0)


def test_a_float32_is_rounded_once() -> None:
    middle = 1 + decimal.Decimal(2) ** -24  # between two float32s; a hair above it is nearer to the upper one
    assert values.parse_string(str(middle)).value == 1.0
    assert values.parse_string(f"{middle}0000000000000001").value == 1 + 2.0**-23
    # The double nearest to both lies in the middle between the largest float32 and what would be the next.
    assert values.parse_string("3.4028235677973366e38").schema == Schema.FLOAT32
    assert values.parse_string("3.4028235677973367e38").schema == Schema.FLOAT64


@pytest.mark.parametrize(
    "value, expected",
    [(1e30, 2**63 - 1), (-1e30, -(2**63)), (float("inf"), 2**63 - 1), (2**64 + 5, 5), (decimal.Decimal("1e19"), None)],
)
def test_longs_wrap_and_floats_stop_at_the_limit(value: Any, expected: int | None) -> None:
    assert values.convert_to_long(None, value) == (10**19 - 2**64 if expected is None else expected)


def test_the_schema_shows_how_a_moment_is_stored() -> None:
    moment = datetime.datetime(2024, 2, 29, 1, tzinfo=UTC)
    assert values.convert_to_long(Schema.TIMESTAMP, moment) == 1_709_168_400_000
    assert values.convert_to_time(Schema.TIMESTAMP, moment) == datetime.time(1)
    assert values.convert_to_timestamp(None, moment.date()) == moment.replace(hour=0)
    assert values.convert_to_timestamp(None, "2024-02-29T01:00:00.000Z") == moment
    for schema, value in ((None, moment), (Schema.DATE, moment), (Schema.TIMESTAMP, moment.time())):
        with pytest.raises(DataError):
            values.convert_to_long(schema, value)


@pytest.mark.parametrize("convert", [function for function, _ in CONVERT.values()])
@pytest.mark.parametrize("value", [object(), {1, 2}, [{1, 2}]], ids=["object", "set", "inside"])
def test_strange_values_are_data_errors(convert: Callable[..., Any], value: Any) -> None:
    arguments = (2,) if convert is values.convert_to_decimal else ()
    if convert is values.convert_to_list and isinstance(value, list):
        assert convert(None, value) is value
        return
    with pytest.raises(DataError):
        convert(None, value, *arguments)


@pytest.mark.parametrize("convert", [values.convert_to_list, values.convert_to_date, values.convert_to_boolean])
def test_the_word_null_is_no_value(convert: Callable[..., Any]) -> None:
    with pytest.raises(DataError):
        convert(Schema.STRING, "null")


def test_null_and_nothing() -> None:
    assert values.parse_string(None) == values.parse_string(" null ") == NULL
    assert values.infer_schema(None) is values.infer_schema(1 << 63) is values.infer_schema({"a": 1, "b": "x"}) is None
    assert values.infer_schema([1, None]) == SchemaBuilder.array(Schema.OPTIONAL_INT64).build()


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    schema, value = values.parse_string(text)
    assert (schema is None) == (value is None)
    if schema is not None and schema.type is not Type.ARRAY and schema.type is not Type.MAP:
        schema.validate_value(value)


@given(st.text(st.sampled_from('[]{}",:\\ 1a-.\t'), max_size=12))
def test_any_brackets_are_parsed(text: str) -> None:
    first = values.parse_string(text)
    assert values.parse_string(text) == first
    assert first.schema is not None


# What is written without loss: no float that is read as an integer or a float32, no word that means something else.
INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer())
PLAIN = st.text("abc xyz.é_/", min_size=1).filter(str.strip)
DATES = st.dates(datetime.date(1970, 1, 2))
TIMES = st.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))
TIMESTAMPS = st.builds(
    lambda day, time: datetime.datetime.combine(day, time, UTC), DATES, TIMES.filter(lambda time: time != time.min)
)
HUGE = st.integers(2**63, 10**400).map(decimal.Decimal)
SCALARS = st.one_of(INTEGERS, FLOATS, st.booleans(), PLAIN, DATES, TIMES, TIMESTAMPS, HUGE)


def parsed_again(value: Any) -> Any:
    return values.parse_string(values.convert_to_string(Schema(Type.FLOAT32), value)).value


@given(SCALARS)
def test_written_scalars_are_read_again(value: Any) -> None:
    found = parsed_again(value)
    assert (type(found), found) == (type(value), value)


@given(st.one_of(*(st.lists(kind) for kind in (INTEGERS, st.booleans(), PLAIN, DATES, TIMES, TIMESTAMPS, HUGE))))
def test_written_arrays_are_read_again(array: list[Any]) -> None:
    assert parsed_again(array) == array


@given(st.dictionaries(PLAIN, st.one_of(INTEGERS, st.booleans(), PLAIN, st.lists(INTEGERS, max_size=3)), max_size=5))
def test_written_maps_are_read_again(entries: dict[str, Any]) -> None:
    assert parsed_again(entries) == entries


@given(FLOATS | st.floats(allow_nan=False, allow_infinity=False))
def test_text_of_floats_is_read_as_the_nearest_float(value: float) -> None:
    text = values.convert_to_string(Schema.FLOAT64, value)
    assert values.convert_to_double(Schema.STRING, text) == value
    found = values.parse_string(text)
    if found.schema == Schema.FLOAT32:
        assert found.value == to_float32(value)
