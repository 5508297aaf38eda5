# SPDX-License-Identifier: Apache-2.0
"""Cast beyond the vectors: against models of Java's arithmetic, and what it says of errors."""

from __future__ import annotations

import datetime
import decimal
import enum
import struct
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import ConfigError, DataError
from headrace.api.java_text import to_float32
from headrace.api.record import SourceRecord
from headrace.api.schema import INTEGER_BITS, Schema, Struct, Type
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms.cast import CastKey, CastValue

LONGS = st.integers(-(2**63), 2**63 - 1)
PERSON = (
    SchemaBuilder.struct()
    .field("id", Schema.INT64)
    .field("born", Schema.OPTIONAL_DATE)
    .field("score", SchemaBuilder.float64().default_value(1.5).build())
    .build()
)


def record(schema: Schema | None, value: Any) -> SourceRecord:
    return SourceRecord({}, {}, "orders", value_schema=schema, value=value)


def cast(schema: Schema | None, value: Any, spec: str, **config: str) -> tuple[Schema | None, Any]:
    transformation: CastValue[SourceRecord] = CastValue()
    transformation.configure({"spec": spec, **config})
    return transformation.apply_to(record(schema, value), schema, value)


def nearest_by_fractions(exact: Fraction, candidates: list[float]) -> float:
    """The candidate nearest to `exact`; of two the one whose bits end in zero."""
    return min(candidates, key=lambda c: (abs(Fraction(c) - exact), struct.unpack("<i", struct.pack("<f", c))[0] & 1))


def neighbours(value: float) -> list[float]:
    """The float32s around a double."""
    bits = struct.unpack("<i", struct.pack("<f", value))[0]
    near = [struct.unpack("<f", struct.pack("<i", bits + step))[0] for step in (-1, 0, 1) if bits + step >= 0]
    return [candidate for candidate in near if candidate == candidate and abs(candidate) < float("inf")]


@given(LONGS, st.sampled_from(sorted(INTEGER_BITS, key=lambda kind: kind.value)))
def test_integers_wrap_as_twos_complement(value: int, target: Type) -> None:
    size = INTEGER_BITS[target] // 8
    model = int.from_bytes(value.to_bytes(8, "little", signed=True)[:size], "little", signed=True)
    assert cast(None, value, target.value) == (None, model)
    assert cast(Schema.INT64, value, target.value) == (Schema(target), model)


@given(st.floats(allow_nan=False), st.sampled_from([Type.INT32, Type.INT64]))
def test_floats_are_cut_off_and_held_at_the_limits(value: float, target: Type) -> None:
    limit = 2 ** (INTEGER_BITS[target] - 1)
    model = max(-limit, min(limit - 1, int(value))) if abs(value) < float("inf") else limit - 1 if value > 0 else -limit
    assert cast(Schema.FLOAT64, value, target.value)[1] == model


@given(LONGS)
def test_an_integer_survives_its_text(value: int) -> None:
    _, text = cast(None, value, "string")
    assert text == str(value)
    assert cast(None, text, "int64") == (None, value)


@given(st.floats(allow_nan=False))
def test_a_double_survives_its_text(value: float) -> None:
    assert cast(None, cast(None, value, "string")[1], "float64")[1] == value


@given(st.floats(allow_nan=False, width=32))
def test_a_float32_survives_its_text(value: float) -> None:
    assert cast(None, cast(Schema.FLOAT32, value, "string")[1], "float32")[1] == value


@given(st.integers(0, 2**63 - 1))
def test_a_long_becomes_the_nearest_float32(value: int) -> None:
    assert cast(None, value, "float32")[1] == nearest_by_fractions(Fraction(value), neighbours(float(value)))


@pytest.mark.parametrize(
    ("text", "by_way_of_a_double"),
    [
        ("16777217." + "0" * 30 + "1", 16777217.0),  # the double is the tie
        ("16777217.0000000023", 16777217.0 + 2**-28),  # the tie is the double's neighbour
    ],
)
def test_text_is_rounded_once(text: str, by_way_of_a_double: float) -> None:
    # 2**24 + 1 lies in the middle of two float32s; whatever is above it goes up.
    assert float(text) == by_way_of_a_double
    assert cast(None, text, "float32")[1] == 16777218.0
    assert cast(SchemaBuilder.decimal(31).build(), decimal.Decimal(text), "float32")[1] == 16777218.0
    assert to_float32(16777217.0) == 16777216.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" 1.5f ", 1.5), (".5", 0.5), ("5.", 5.0), ("-0", -0.0), ("0x.8p1D", 1.0), ("0x1p99999", float("inf")),
        ("+Infinity", float("inf")), ("-0x1p99999", float("-inf")), ("1e99999999999999999999", float("inf")),
    ],
)  # fmt: skip
def test_text_of_numbers(text: str, expected: float) -> None:
    for target in ("float32", "float64"):
        assert repr(cast(None, text, target)[1]) == repr(expected)


@pytest.mark.parametrize("text", ["", " ", "1_0", "1,5", "nan", "inf", "0x1", "1.5L", "e5", "NaNf"])
def test_text_that_is_no_number(text: str) -> None:
    with pytest.raises(DataError, match="is no number"):
        cast(None, text, "float64")


@pytest.mark.parametrize("text", ["", " 5", "5 ", "1_0", "5.0", "0x5", "--5", "9" * 5000])
def test_text_that_is_no_integer(text: str) -> None:
    with pytest.raises(DataError, match="is no int32"):
        cast(None, text, "int32")


@pytest.mark.parametrize(
    ("schema", "value", "target", "expected"),
    [
        (Schema.DATE, datetime.date(1970, 1, 3), "int64", 2),
        (Schema.DATE, datetime.date(2024, 2, 29), "string", "2024-02-29"),
        (Schema.TIME, datetime.time(0, 0, 1), "int32", 1000),
        (Schema.TIMESTAMP, datetime.datetime(1970, 1, 1, 0, 0, 1), "boolean", True),
        (SchemaBuilder.decimal(1).build(), decimal.Decimal("-7.9"), "int8", -7),
        (SchemaBuilder.decimal(1).build(), decimal.Decimal("129.0"), "int8", -127),
        (Schema.BYTES, bytearray(b"\xff"), "string", "/w=="),
        (Schema.BYTES, memoryview(b"\xff"), "string", "/w=="),
        (Schema.FLOAT64, -0.5, "boolean", False),
        (Schema.FLOAT64, float("nan"), "boolean", False),
        (Schema.STRING, "TRUE", "boolean", True),
    ],
)
def test_values_by_their_schema(schema: Schema, value: Any, target: str, expected: Any) -> None:
    found = cast(schema, value, target)[1]
    assert found == expected
    assert type(found) is type(expected)


def test_the_schema_of_a_cast_field_loses_its_logical_name_and_that_of_a_whole_keeps_it() -> None:
    schema, _ = cast(PERSON, Struct(PERSON, {"id": 1, "born": datetime.date(1970, 1, 2)}), "born:int32")
    assert schema is not None
    assert schema.fields[1].schema == Schema.OPTIONAL_INT32
    whole, _ = cast(Schema.DATE, datetime.date(1970, 1, 2), "int32")
    assert whole == Schema.DATE


def test_a_default_is_cast_and_stands_for_null() -> None:
    schema, value = cast(PERSON, Struct(PERSON, {"id": 1}), "score:string")
    assert schema is not None
    assert schema.fields[2].schema.default == "1.5"
    assert value.field_values == [1, None, "1.5"]


def test_a_null_where_a_value_is_required_is_an_error() -> None:
    with pytest.raises(DataError, match="Field score of type float64 is required"):
        cast(PERSON, Struct(PERSON, {"id": 1}), "id:string", **{"replace.null.with.default": "false"})


@pytest.mark.parametrize(
    ("schema", "value"), [(None, {"id": "ten"}), (SchemaBuilder.struct().field("id", Schema.STRING).build(), "ten")]
)
def test_an_error_names_field_value_and_type(schema: Schema | None, value: Any) -> None:
    value = Struct(schema, {"id": value}) if schema is not None else value
    with pytest.raises(DataError, match="the field id: 'ten' is no int8"):
        cast(schema, value, "id:int8")


@pytest.mark.parametrize("value", [{"d": datetime.date(2020, 1, 1)}, {"d": decimal.Decimal(1)}, {"d": [1]}])
def test_what_only_a_schema_explains_cannot_be_cast_without_one(value: Any) -> None:
    with pytest.raises(DataError, match="the field d: a value of type"):
        cast(None, value, "d:string")


def test_a_value_that_its_schema_does_not_explain() -> None:
    with pytest.raises(DataError, match="a value of type date"):
        cast(SchemaBuilder.decimal(1).build(), datetime.date(2020, 1, 1), "int8")
    with pytest.raises(DataError, match="NaN is no number"):
        cast(SchemaBuilder.decimal(1).build(), decimal.Decimal("NaN"), "int8")


def test_subclasses_are_cast_as_their_bases() -> None:
    class Colour(enum.IntEnum):
        RED = 3

    assert cast(None, {"c": Colour.RED}, "c:float64") == (None, {"c": 3.0})


def test_the_map_that_comes_in_stays_as_it_is() -> None:
    value = {"a": 1}
    assert cast(None, value, "a:string,b:int8") == (None, {"a": "1", "b": None})
    assert value == {"a": 1}


def test_one_schema_is_made_for_all_records_of_a_schema() -> None:
    transformation: CastValue[SourceRecord] = CastValue()
    transformation.configure({"spec": "id:string"})
    first, second = (transformation.apply(record(PERSON, Struct(PERSON, {"id": n}))) for n in (1, 2))
    assert first is not None
    assert second is not None
    assert first.value_schema is second.value_schema
    assert second.value["id"] == "2"


def test_the_key() -> None:
    transformation: CastKey[SourceRecord] = CastKey()
    transformation.configure({"spec": "int32"})
    changed = transformation.apply(SourceRecord({}, {}, "t", key_schema=Schema.STRING, key="7", value="8"))
    assert changed == SourceRecord({}, {}, "t", key_schema=Schema.INT32, key=7, value="8")


@pytest.mark.parametrize("spec", ["", "a:b:int8", ":", "a:bytes", "map", "a:int9", "int8,int16", "int8,a:int16"])
def test_a_bad_spec_is_a_config_error(spec: str) -> None:
    with pytest.raises(ConfigError, match="for configuration spec"):
        CastValue().configure({"spec": spec})
