# SPDX-License-Identifier: Apache-2.0
"""HeaderFrom beyond the vectors."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConfigError, DataError
from headrace.api.headers import Header, Headers
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms.header_from import HeaderFromKey, HeaderFromValue

SIZE = SchemaBuilder.int32().optional().default_value(3).build()
SCHEMA = SchemaBuilder.struct().name("s").field("a", Schema.INT64).field("b", Schema.STRING).field("n", SIZE).build()


def applied(record: SourceRecord, operation: str, fields: str = "a", headers: str = "h", **more: str) -> SourceRecord:
    transformation: HeaderFromValue[SourceRecord] = HeaderFromValue()
    transformation.configure({"fields": fields, "headers": headers, "operation": operation, **more})
    found = transformation.apply(record)
    assert found is not None
    return found


def struct(**values: Any) -> SourceRecord:
    return SourceRecord({}, {}, "t", value_schema=SCHEMA, value=Struct(SCHEMA, values), headers=Headers())


def test_the_input_is_left_alone() -> None:
    record = struct(a=1, b="x")
    moved = applied(record, "move")
    assert [field.name for field in moved.value_schema.fields] == ["b", "n"]  # type: ignore[union-attr]
    assert moved.value.field_values == ["x", 3]
    assert list(moved.headers) == [Header("h", 1, Schema.INT64)]
    assert not record.has_headers
    assert record.value.field_values == [1, "x", None]
    value = {"a": 1, "b": 2}
    assert applied(SourceRecord({}, {}, "t", value=value), "move", "a,c", "h,i").value == {"b": 2}
    assert value == {"a": 1, "b": 2}


def test_a_copy_keeps_the_data_itself() -> None:
    record = struct(a=1, b="x")
    copied = applied(record, "copy", "n,n", "h,h")
    assert copied.value is record.value
    assert list(copied.headers) == [Header("h", 3, SIZE)] * 2
    bare = applied(record, "copy", "n", "h", **{"replace.null.with.default": "false"})
    assert list(bare.headers) == [Header("h", None, SIZE)]


def test_the_key_alone() -> None:
    transformation: HeaderFromKey[SourceRecord] = HeaderFromKey()
    transformation.configure({"fields": "a", "headers": "h", "operation": "move"})
    found = transformation.apply(SourceRecord({}, {}, "t", key={"a": 1}, value={"a": 2}))
    assert found is not None
    assert (found.key, found.value, list(found.headers)) == ({}, {"a": 2}, [Header("h", 1)])


def test_errors() -> None:
    with pytest.raises(DataError, match="no field z for the header h; the struct's fields are: a, b, n"):
        applied(struct(a=1, b="x"), "copy", "z")
    with pytest.raises(DataError, match="must be a map for"):
        applied(SourceRecord({}, {}, "t"), "move")
    with pytest.raises(DataError, match="Field b of type string is required"):
        applied(struct(a=1), "move")
    with pytest.raises(ConfigError, match=r"same number of elements.* 2 and 1"):
        applied(struct(), "move", "a,b")
    with pytest.raises(ConfigError, match="Empty list"):
        applied(struct(), "move", "")
