# SPDX-License-Identifier: Apache-2.0
"""Flatten against a model, and beyond the vectors."""

from __future__ import annotations

import datetime
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.api.errors import DataError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct, Type
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms.flatten import FlattenKey, FlattenValue
from tests.tiers import examples

NAMES = st.text("abc", min_size=1, max_size=3)
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=2) | st.lists(st.integers(), max_size=2)
TREES = st.dictionaries(
    NAMES, st.recursive(LEAVES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6), max_size=3
)
BRIEFLY = settings(max_examples=examples(40))
SCHEMA_LEAVES = st.sampled_from(
    [Schema.INT32, Schema.OPTIONAL_STRING, SchemaBuilder.int64().default_value(3).build(), Schema.OPTIONAL_BOOLEAN]
)
VALUES = {Type.INT32: 7, Type.STRING: "s", Type.INT64: 8, Type.BOOLEAN: True}


def flatten(schema: Schema | None, value: Any, delimiter: str = ".") -> tuple[Schema | None, Any]:
    transformation: FlattenValue[SourceRecord] = FlattenValue()
    transformation.configure({"delimiter": delimiter})
    return transformation.apply_to(SourceRecord({}, {}, "t"), schema, value)


def leaves(value: Any, way: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """The model: every leaf with the names on its way."""
    if not isinstance(value, dict):
        return [(way, value)]
    return [leaf for name, entry in value.items() for leaf in leaves(entry, (*way, name))]


@st.composite
def structs(draw: st.DrawFn, depth: int = 3) -> Struct:
    """A struct of structs; optional fields may be null."""
    builder = SchemaBuilder.struct()
    values: dict[str, Any] = {}
    for name in draw(st.lists(NAMES, max_size=4, unique=True)):
        if depth and draw(st.booleans()):
            values[name] = inner = draw(structs(depth - 1))
            builder.field(name, inner.schema)
        else:
            schema = draw(SCHEMA_LEAVES)
            builder.field(name, schema)
            values[name] = None if schema.optional and draw(st.booleans()) else VALUES[schema.type]
    return Struct(builder.build(), values)


def as_dicts(struct: Struct) -> dict[str, Any]:
    return {name: as_dicts(entry) if isinstance(entry, Struct) else entry for name, entry in struct}


@BRIEFLY
@given(TREES, st.sampled_from([".", "_", "::"]))
def test_a_map_is_flattened_to_its_leaves(tree: dict[str, Any], delimiter: str) -> None:
    expected = {delimiter.join(way): leaf for way, leaf in leaves(tree)}
    assert flatten(None, tree, delimiter) == (None, expected)


@BRIEFLY
@given(structs())
def test_a_struct_is_flattened_to_its_leaves(struct: Struct) -> None:
    schema, flat = flatten(struct.schema, struct, "/")
    assert schema is flat.schema
    expected = [("/".join(way), leaf) for way, leaf in leaves(as_dicts(struct))]
    assert list(flat) == expected
    flat.validate()


@BRIEFLY
@given(structs())
def test_what_is_flat_stays_as_it_is(struct: Struct) -> None:
    schema, flat = flatten(struct.schema, struct, "/")
    assert flatten(schema, flat, "/") == (schema, flat)


def test_below_something_optional_all_is_optional() -> None:
    leaf = SchemaBuilder.int32().doc("d").default_value(3).build()
    inner = SchemaBuilder.struct().field("x", leaf).optional().build()
    outer = SchemaBuilder.struct().name("o").field("a", Schema.INT8).field("s", inner).field("b", Schema.INT8).build()
    schema, flat = flatten(outer, Struct(outer, {"a": 1, "b": 2}))
    assert schema is not None
    assert [field.name for field in schema.fields] == ["a", "s.x", "b"]
    assert schema.fields[1].schema == leaf.replace(optional=True)
    assert schema.name == "o"
    assert flat.field_values == [1, None, 2]  # below a null nothing was put, not even a default
    assert flatten(outer, Struct(outer, {"a": 1, "b": 2, "s": Struct(inner)}))[1].field_values == [1, 3, 2]


def test_a_missing_required_value_is_named() -> None:
    inner = SchemaBuilder.struct().field("x", Schema.INT32).build()
    outer = SchemaBuilder.struct().field("s", inner).build()
    with pytest.raises(DataError, match=r"field s\.x is required"):
        flatten(outer, Struct.of_valid(outer, [Struct(inner)]))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": {"t": datetime.date(2020, 1, 1)}}, r"field a\.t holds a value of type date"),
        ({"a": 2**63}, "field a holds a value of type int beyond 64 bits"),
        ({"a": {1: 2}}, "key 1 of a map is no string"),
        ({1: 2}, "key 1 of a map is no string"),
        ([1], "must be a map"),
    ],
)
def test_what_cannot_be_flattened(value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        flatten(None, value)


def test_other_mappings_and_subclasses() -> None:
    class Text(str):
        __slots__ = ()

    assert flatten(None, OrderedDict(a=OrderedDict(b=Text("x")))) == (None, {"a.b": "x"})


def test_a_map_in_a_struct_is_refused() -> None:
    schema = SchemaBuilder.struct().field("m", SchemaBuilder.map(Schema.STRING, Schema.INT8).build()).build()
    with pytest.raises(DataError, match="field m is a map"):
        flatten(schema, Struct(schema, {"m": {}}))


def test_null_passes_with_its_schema() -> None:
    assert flatten(Schema.OPTIONAL_STRING, None) == (Schema.OPTIONAL_STRING, None)


def test_the_key() -> None:
    transformation: FlattenKey[SourceRecord] = FlattenKey()
    transformation.configure({})
    changed = transformation.apply(SourceRecord({}, {}, "t", key={"a": {"b": 1}}, value={"a": {"b": 1}}))
    assert changed == SourceRecord({}, {}, "t", key={"a.b": 1}, value={"a": {"b": 1}})
