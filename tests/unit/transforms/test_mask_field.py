# SPDX-License-Identifier: Apache-2.0
"""MaskField beyond the vectors."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from headrace.api.errors import ConfigError, DataError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms.mask_field import MaskFieldKey, MaskFieldValue

RECORD = SourceRecord({}, {}, "t")


def mask(schema: Schema | None, value: Any, fields: str, **config: str) -> Any:
    transformation: MaskFieldValue[SourceRecord] = MaskFieldValue()
    transformation.configure({"fields": fields, **config})
    found_schema, found = transformation.apply_to(RECORD, schema, value)
    assert found_schema == schema
    return found


def struct_of(schema: Schema, value: Any) -> Struct:
    return Struct(SchemaBuilder.struct().field("f", schema).field("g", Schema.OPTIONAL_INT8).build(), {"f": value})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, False), (2**70, 0), (1.5, 0.0), ("x", ""), (decimal.Decimal("1.5"), decimal.Decimal(0)),
        ([1], []), ((1,), []), ({"a": 1}, {}), (datetime.date(2020, 1, 1), datetime.date(1970, 1, 1)),
        (datetime.time(1), datetime.time(0)),
        (datetime.datetime(2020, 1, 1), datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)), (None, None),
    ],
)  # fmt: skip
def test_the_empty_value_is_of_the_same_type(value: Any, expected: Any) -> None:
    found = mask(None, {"f": value, "g": 1}, "f")
    assert found == {"f": expected, "g": 1}
    assert type(found["f"]) is type(expected)


@pytest.mark.parametrize(
    ("schema", "value", "replacement", "expected"),
    [
        (Schema.INT8, 1, "300", 44),
        (Schema.INT16, 1, "70000", 4464),
        (Schema.INT32, 1, "-7", -7),
        (Schema.INT64, 1, "5000000000", 5000000000),
        (Schema.FLOAT32, 1.0, "0.5", 0.5),
        (Schema.FLOAT64, 1.0, "0.1", 0.1),
        (Schema.STRING, "x", "***", "***"),
        (SchemaBuilder.decimal(2).build(), decimal.Decimal("1.00"), "1e3", decimal.Decimal("1e3")),
    ],
)
def test_a_replacement_takes_the_type_of_the_field(schema: Schema, value: Any, replacement: str, expected: Any) -> None:
    found = mask(struct_of(schema, value).schema, struct_of(schema, value), "f", replacement=replacement)
    assert found["f"] == expected
    found.validate()


@pytest.mark.parametrize("value", [True, datetime.date(2020, 1, 1), [1], {}, b"x"])
def test_a_replacement_is_for_numbers_and_text(value: Any) -> None:
    with pytest.raises(DataError, match=f"field f: a value of type {type(value).__name__} .* only numbers and text"):
        mask(None, {"f": value}, "f", replacement="5")


def test_an_error_names_the_field() -> None:
    with pytest.raises(DataError, match="the field f: a value of type bytes cannot be masked"):
        mask(None, {"f": b"x"}, "f")
    with pytest.raises(DataError, match="the field f"):
        mask(None, {"f": 1}, "f", replacement="abc")
    struct = struct_of(Schema.BYTES, b"x")
    with pytest.raises(DataError, match="the field f: a value of type bytes"):
        mask(struct.schema, struct, "f")
    with pytest.raises(DataError, match="is no number"):
        mask(None, {"f": decimal.Decimal(1)}, "f", replacement="NaN")


def test_each_record_has_its_own_empty_list() -> None:
    transformation: MaskFieldValue[SourceRecord] = MaskFieldValue()
    transformation.configure({"fields": "f"})
    first, second = (transformation.apply_to(RECORD, None, {"f": [1]})[1]["f"] for _ in range(2))
    assert first == second == []
    assert first is not second


def test_what_comes_in_stays_as_it_is() -> None:
    struct = struct_of(Schema.STRING, "x")
    mask(struct.schema, struct, "f")
    assert struct["f"] == "x"


def test_a_null_where_a_value_is_required_is_an_error() -> None:
    struct = struct_of(Schema.STRING, "x")
    struct._values[0] = None
    with pytest.raises(DataError, match="Field f of type string is required"):
        mask(struct.schema, struct, "g")


def test_null_data_is_an_error() -> None:
    with pytest.raises(DataError, match="not null"):
        mask(None, None, "f")


@pytest.mark.parametrize("config", [{"fields": ""}, {"fields": "a", "replacement": ""}, {"fields": "a,,b"}, {}])
def test_bad_properties(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        MaskFieldValue().configure(config)


def test_the_key() -> None:
    transformation: MaskFieldKey[SourceRecord] = MaskFieldKey()
    transformation.configure({"fields": "f"})
    changed = transformation.apply(SourceRecord({}, {}, "t", key={"f": 1}, value={"f": 1}))
    assert changed == SourceRecord({}, {}, "t", key={"f": 0}, value={"f": 1})
