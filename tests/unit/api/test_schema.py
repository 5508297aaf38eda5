# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
import pickle
from typing import Any

import pytest

from headrace.api.errors import ConnectError, DataError, SchemaBuilderError
from headrace.api.logical import from_logical, to_logical
from headrace.api.schema import Schema, Struct, Type
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.schema_projector import project
from tests.vectors.reader import NotInPython, load, same, schema_of, value_of


def validate_value(given: dict[str, Any]) -> Any:
    schema = schema_of(given["schema"])
    assert schema is not None
    if schema.type is Type.STRUCT:
        value_of(schema, given["value"]).validate()
    else:
        schema.validate_value(value_of(schema, given["value"]))
    return True


def struct_validate(given: dict[str, Any]) -> Any:
    schema = schema_of(given["schema"])
    assert schema is not None
    struct = Struct(schema)
    for name, value in given["fields"].items():
        field = schema.field(name)
        assert field is not None
        struct.put(name, value_of(field.schema, value))
    struct.validate()
    return struct.as_dict()


def logical(op: str, given: dict[str, Any]) -> Any:
    schema = schema_of(given["schema"])
    assert schema is not None
    if schema.name is None or not schema.name.endswith(given["type"]):
        raise DataError("the conversion goes by the schema's name")
    return (from_logical if op == "fromLogical" else to_logical)(schema, value_of(schema, given["value"]))


def projected(given: dict[str, Any]) -> Any:
    source, target = schema_of(given["source"]), schema_of(given["target"])
    assert source is not None and target is not None
    return project(source, value_of(source, given["value"]), target)


@pytest.mark.parametrize("vector", load("data"))
def test_as_java(vector: dict[str, Any]) -> None:
    given = vector["input"]
    run = {
        "validateValue": lambda: validate_value(given),
        "structValidate": lambda: struct_validate(given),
        "project": lambda: projected(given),
        "buildSchema": lambda: schema_of(given["schema"]),
    }.get(vector["op"], lambda: logical(vector["op"], given))
    if "error" in vector:
        with pytest.raises((ConnectError, NotInPython)):
            run()
        return
    expected = vector["output"]
    if vector["op"] == "buildSchema":
        expected = schema_of(expected)
    elif vector["op"] == "toLogical":
        expected = value_of(schema_of(given["schema"]), expected)
    elif vector["op"] == "project":
        expected = value_of(schema_of(given["target"]), expected)
    elif vector["op"] == "fromLogical":
        expected = value_of(None, expected)
    actual = run()
    assert same(None, expected, actual), (expected, actual)


POINT = SchemaBuilder.struct().name("point").field("x", Schema.INT32).field("y", Schema.OPTIONAL_INT32).build()


def test_schemas_compare_and_hash_by_value() -> None:
    twin = SchemaBuilder.struct().name("point").field("x", Schema.INT32).field("y", Schema.OPTIONAL_INT32).build()
    assert twin == POINT and hash(twin) == hash(POINT)
    assert twin != POINT.replace(doc="other") and twin != POINT.replace(optional=True)
    assert SchemaBuilder.int32().default_value(1).build() != SchemaBuilder.int32().default_value(2).build()


def test_schemas_and_structs_survive_pickling() -> None:
    struct = Struct(SchemaBuilder.struct().field("p", POINT).parameter("k", "v").build())
    struct.put("p", Struct(POINT, {"x": 1}))
    assert pickle.loads(pickle.dumps(struct)) == struct


def test_parameters_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        SchemaBuilder.decimal(2).build().parameters["scale"] = "3"  # type: ignore[index]


@pytest.mark.parametrize(
    "kind, low, high", [("INT8", -128, 127), ("INT16", -(2**15), 2**15 - 1), ("INT64", -(2**63), 2**63 - 1)]
)
def test_integers_have_their_range(kind: str, low: int, high: int) -> None:
    schema: Schema = getattr(Schema, kind)
    for good in (low, high):
        schema.validate_value(good)
    for bad in (low - 1, high + 1):
        with pytest.raises(DataError, match="out of range"):
            schema.validate_value(bad)


def test_a_datetime_is_no_date() -> None:
    Schema.DATE.validate_value(datetime.date(2024, 1, 1))
    with pytest.raises(DataError):
        Schema.DATE.validate_value(datetime.datetime(2024, 1, 1))


def test_naive_timestamps_are_utc_and_fractions_round_down() -> None:
    moment = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)
    assert from_logical(Schema.TIMESTAMP, moment) == -1
    assert from_logical(Schema.TIMESTAMP, moment.replace(tzinfo=datetime.UTC)) == -1


def test_messages_name_the_place() -> None:
    with pytest.raises(DataError, match='field: "x"'):
        Struct(POINT).put("x", "one")
    with pytest.raises(DataError, match="z is not a valid field name; the struct's fields are: x, y"):
        Struct(POINT).get("z")
    numbers = SchemaBuilder.map(Schema.STRING, SchemaBuilder.array(Schema.INT8).build()).build()
    with pytest.raises(DataError, match="element of array value of map value"):
        numbers.validate_value({"k": [1, 300]})


def test_a_builder_sets_once() -> None:
    with pytest.raises(SchemaBuilderError, match="name has already been set"):
        SchemaBuilder.int8().name("a").name("b")
    with pytest.raises(SchemaBuilderError, match="INT8"):
        SchemaBuilder.int8().field("a", Schema.INT8)


def test_logical_values_out_of_range_are_data_errors() -> None:
    for schema, stored in ((Schema.DATE, 10**8), (Schema.TIMESTAMP, 10**17), (Schema.TIME, 86_400_000)):
        with pytest.raises(DataError):
            to_logical(schema, stored)


INNER = Struct(POINT, {"y": 1})
"""Lacks ``x``, which it has to have."""


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (POINT, INNER),
        (POINT.replace(optional=True), Struct(POINT.replace(optional=True), {"y": 1})),
        (SchemaBuilder.array(POINT).build(), [Struct(POINT, {"x": 1}), INNER]),
        (SchemaBuilder.map(Schema.STRING, POINT).build(), {"k": INNER}),
    ],
    ids=["struct", "optional", "array", "map"],
)
def test_a_struct_within_a_value_has_to_have_its_required_fields(schema: Schema, value: Any) -> None:
    outer = SchemaBuilder.struct().field("p", schema).build()
    with pytest.raises(DataError, match='null used for required field: "x", schema type: INT32'):
        Struct(outer, {"p": value})
    with pytest.raises(DataError, match='required field: "x"'):
        schema.validate_value(value)
    with pytest.raises(DataError, match='required field: "x"'):
        Struct.of_valid(outer, [value]).validate()


def test_a_default_stands_for_a_field_of_a_struct_within() -> None:
    inner = SchemaBuilder.struct().field("n", SchemaBuilder.int32().default_value(7).build()).build()
    outer = Struct(SchemaBuilder.struct().field("s", inner).build(), {"s": Struct(inner)})
    outer.validate()
    assert outer["s"]["n"] == 7


def test_a_struct_may_be_a_default() -> None:
    builder = SchemaBuilder.struct().field("x", Schema.INT32)
    default = Struct(builder.build(), {"x": 5})
    schema = builder.default_value(default).build()
    assert schema.default == default and schema.field("x") is not None
    with pytest.raises(SchemaBuilderError, match="Invalid default value"):
        SchemaBuilder.struct().field("y", Schema.INT32).default_value(default).build()
    with pytest.raises(SchemaBuilderError, match="Invalid default value"):
        SchemaBuilder.struct().field("y", Schema.INT32).default_value(5).build()
