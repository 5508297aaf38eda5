# SPDX-License-Identifier: Apache-2.0
"""HoistField beyond the vectors."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import DataError, SchemaBuilderError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms.hoist_field import HoistFieldKey, HoistFieldValue

RECORD = SourceRecord({}, {}, "t")


def hoist(schema: Schema | None, value: Any, field: str = "f") -> tuple[Schema | None, Any]:
    transformation: HoistFieldValue[SourceRecord] = HoistFieldValue()
    transformation.configure({"field": field})
    return transformation.apply_to(RECORD, schema, value)


def test_a_struct_is_wrapped_as_it_is() -> None:
    inner = Struct(SchemaBuilder.struct().field("x", Schema.INT8).build(), {"x": 1})
    schema, outer = hoist(inner.schema, inner)
    assert schema == SchemaBuilder.struct().field("f", inner.schema).build()
    assert outer == Struct(outer.schema, {"f": inner})
    assert outer["f"] is inner


def test_a_value_that_does_not_fit_its_schema_is_named() -> None:
    with pytest.raises(DataError, match='"f"'):
        hoist(Schema.INT8, 1000)
    with pytest.raises(DataError, match='"f"'):
        hoist(Schema.INT8, None)


def test_a_schema_needs_a_name_for_its_field() -> None:
    assert hoist(None, 1, "") == (None, {"": 1})
    with pytest.raises(SchemaBuilderError):
        hoist(Schema.INT8, 1, "")


def test_one_schema_is_made_for_all_records_of_a_schema() -> None:
    transformation: HoistFieldValue[SourceRecord] = HoistFieldValue()
    transformation.configure({"field": "f"})
    schemas = [transformation.apply_to(RECORD, Schema.INT8, n)[0] for n in (1, 2)]
    assert schemas[0] is schemas[1]


def test_the_key() -> None:
    transformation: HoistFieldKey[SourceRecord] = HoistFieldKey()
    transformation.configure({"field": "id"})
    assert transformation.apply(SourceRecord({}, {}, "t", key=1)) == SourceRecord({}, {}, "t", key={"id": 1})
