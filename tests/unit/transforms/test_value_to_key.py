# SPDX-License-Identifier: Apache-2.0
"""ValueToKey beyond the vectors."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConfigError, DataError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms.value_to_key import ValueToKey

SCHEMA = (
    SchemaBuilder.struct()
    .name("s")
    .field("a", Schema.INT8)
    .field("b", SchemaBuilder.string().default_value("x").build())
    .build()
)


def keyed(schema: Schema | None, value: Any, fields: str, **config: str) -> SourceRecord:
    transformation: ValueToKey[SourceRecord] = ValueToKey()
    transformation.configure({"fields": fields, **config})
    changed = transformation.apply(SourceRecord({}, {}, "t", key="old", value_schema=schema, value=value, timestamp=5))
    assert changed is not None
    assert (changed.value_schema, changed.timestamp) == (schema, 5)
    assert changed.value is value
    return changed


def test_the_key_has_the_fields_in_the_order_of_the_property() -> None:
    record = keyed(SCHEMA, Struct(SCHEMA, {"a": 1}), "b,a")
    assert list(record.key) == [("b", "x"), ("a", 1)]
    assert (
        record.key_schema == SchemaBuilder.struct().field("b", SCHEMA.fields[1].schema).field("a", Schema.INT8).build()
    )
    assert record.key_schema is record.key.schema


def test_a_field_named_twice_comes_once() -> None:
    assert list(keyed(SCHEMA, Struct(SCHEMA, {"a": 1}), "a,a").key) == [("a", 1)]


def test_a_map_without_the_field_gives_null() -> None:
    record = keyed(None, {"a": 1}, "a,z")
    assert (record.key_schema, record.key) == (None, {"a": 1, "z": None})


def test_what_is_missing_is_named() -> None:
    with pytest.raises(DataError, match=r"Field does not exist: z; .* a, b"):
        keyed(SCHEMA, Struct(SCHEMA, {"a": 1}), "z")
    with pytest.raises(DataError, match="Field a of type int8 is required"):
        keyed(SCHEMA, Struct(SCHEMA), "a")
    with pytest.raises(DataError, match="Field b of type string is required"):
        keyed(SCHEMA, Struct(SCHEMA), "b", **{"replace.null.with.default": "false"})


@pytest.mark.parametrize(("schema", "value"), [(None, None), (SCHEMA.replace(optional=True), None), (None, 5)])
def test_tombstones_and_single_values_are_errors(schema: Schema | None, value: Any) -> None:
    with pytest.raises(DataError, match="copying fields from value to key"):
        keyed(schema, value, "a")


def test_fields_are_needed() -> None:
    with pytest.raises(ConfigError):
        ValueToKey().configure({"fields": ""})
