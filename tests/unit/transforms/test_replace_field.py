# SPDX-License-Identifier: Apache-2.0
"""ReplaceField against a model, and beyond the vectors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.errors import ConfigError, DataError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms._common import SchemaCache
from headrace.transforms.replace_field import ReplaceFieldKey, ReplaceFieldValue

NAMES = st.sampled_from("abcde")
NEW_NAMES = st.dictionaries(NAMES, st.sampled_from("vwxyz"), max_size=3)
FIELDS = st.dictionaries(NAMES, st.integers(-9, 9))


def replace(schema: Schema | None, value: Any, **config: str) -> tuple[Schema | None, Any]:
    transformation: ReplaceFieldValue[SourceRecord] = ReplaceFieldValue()
    transformation.configure(config)
    return transformation.apply_to(SourceRecord({}, {}, "t"), schema, value)


def struct_of(fields: dict[str, int]) -> Struct:
    builder = SchemaBuilder.struct().name("s").optional()
    for name in fields:
        builder.field(name, Schema.INT64)
    return Struct(builder.build(), fields)


@given(FIELDS, st.sets(NAMES), st.sets(NAMES), NEW_NAMES)
def test_as_the_model(fields: dict[str, int], exclude: set[str], include: set[str], renames: dict[str, str]) -> None:
    expected: dict[str, int] = {}
    for name, value in fields.items():
        if name not in exclude and (not include or name in include):
            expected[renames.get(name, name)] = value
    config = {
        "exclude": ",".join(exclude),
        "include": ",".join(include),
        "renames": ",".join(f"{old}:{new}" for old, new in renames.items()),
    }
    assert replace(None, fields, **config) == (None, expected)
    struct = struct_of(fields)
    if len(set(renames.values())) == len(renames):
        schema, replaced = replace(struct.schema, struct, **config)
        assert dict(replaced) == expected
        assert schema == struct_of(expected).schema.replace(optional=False)


def test_fields_change_places_by_their_names() -> None:
    struct = struct_of({"a": 1, "b": 2})
    _, replaced = replace(struct.schema, struct, renames="a:b,b:a")
    assert list(replaced) == [("b", 1), ("a", 2)]


def test_names_that_meet_are_an_error_with_a_schema() -> None:
    struct = struct_of({"a": 1, "b": 2})
    with pytest.raises(DataError, match="duplication b"):
        replace(struct.schema, struct, renames="a:b")
    with pytest.raises(DataError, match=r"field b of .* a name that renames gives to zz"):
        replace(struct.schema, struct, renames="zz:b")


def test_what_is_left_out_may_be_missing() -> None:
    schema = SchemaBuilder.struct().field("a", Schema.INT8).field("b", Schema.INT8).build()
    assert dict(replace(schema, Struct(schema, {"a": 1}), exclude="b")[1]) == {"a": 1}
    with pytest.raises(DataError, match="Field c of type int8 is required"):
        replace(schema, Struct(schema, {"a": 1}), renames="b:c")


def test_the_map_that_comes_in_stays_as_it_is() -> None:
    value = {"a": 1, "b": 2}
    for config in ({}, {"exclude": "a"}, {"include": "a"}, {"renames": "a:c"}):
        assert replace(None, value, **config)[1] is not value
    assert value == {"a": 1, "b": 2}


def test_excluding_all_that_is_included_leaves_nothing() -> None:
    assert replace(None, {"a": 1, "b": 2}, include="a", exclude="a") == (None, {})


@pytest.mark.parametrize("renames", ["a", "a:", ":", "a:b:c"])
def test_bad_renames_are_named(renames: str) -> None:
    with pytest.raises(ConfigError, match=f"'{renames}' for configuration renames"):
        replace(None, {}, renames=renames)


def test_the_key() -> None:
    transformation: ReplaceFieldKey[SourceRecord] = ReplaceFieldKey()
    transformation.configure({"exclude": "a"})
    changed = transformation.apply(SourceRecord({}, {}, "t", key={"a": 1}, value={"a": 1}))
    assert changed == SourceRecord({}, {}, "t", key={}, value={"a": 1})


def test_a_cache_of_schemas_forgets_the_oldest() -> None:
    compiled: list[Schema] = []
    cache = SchemaCache(lambda schema: compiled.append(schema), size=2)
    for schema in (Schema.INT8, Schema.INT16, Schema.INT8, Schema.INT32, Schema.INT16, Schema.INT8):
        cache[schema]
    assert compiled == [Schema.INT8, Schema.INT16, Schema.INT32, Schema.INT8]
    assert len(cache) == 2
