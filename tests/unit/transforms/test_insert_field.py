# SPDX-License-Identifier: Apache-2.0
"""InsertField beyond the vectors."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from headrace.api.errors import ConfigError, DataError
from headrace.api.record import SinkRecord, SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms.insert_field import InsertFieldKey, InsertFieldValue

SCHEMA = SchemaBuilder.struct().name("s").version(2).optional().field("a", Schema.INT64).build()


def inserted(record: Any, **config: str) -> Any:
    transformation: InsertFieldValue[Any] = InsertFieldValue()
    transformation.configure({name.replace("_", "."): value for name, value in config.items()})
    return transformation.apply(record)


def test_all_kinds_in_a_sinks_struct() -> None:
    record = SinkRecord("t", 3, None, None, SCHEMA, Struct(SCHEMA, {"a": 1}), 77, 1700000000123)
    found = inserted(
        record,
        topic_field="topic!",
        partition_field="p?",
        offset_field="o",
        timestamp_field="at!",
        static_field="fixed",
        static_value="x",
    )
    assert [(f.name, f.schema) for f in found.value_schema.fields] == [
        ("a", Schema.INT64),
        ("topic", Schema.STRING),
        ("p", Schema.OPTIONAL_INT32),
        ("o", Schema.OPTIONAL_INT64),
        ("at", Schema.TIMESTAMP),
        ("fixed", Schema.OPTIONAL_STRING),
    ]
    at = datetime.datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=datetime.UTC)
    assert found.value.field_values == [1, "t", 3, 77, at, "x"]
    assert (found.value_schema.name, found.value_schema.version, found.value_schema.optional) == ("s", 2, False)
    assert record.value.field_values == [1]


def test_a_schema_is_extended_once() -> None:
    transformation: InsertFieldValue[Any] = InsertFieldValue()
    transformation.configure({"topic.field": "t"})
    first, second = (
        transformation.apply(SourceRecord({}, {}, "t", value_schema=SCHEMA, value=Struct(SCHEMA, {"a": n})))
        for n in (1, 2)
    )
    assert first is not None
    assert second is not None
    assert first.value_schema is second.value_schema is first.value.schema


def test_the_key_alone() -> None:
    transformation: InsertFieldKey[SourceRecord] = InsertFieldKey()
    transformation.configure({"static.field": "s", "static.value": "x"})
    found = transformation.apply(SourceRecord({}, {}, "t", key={"k": 1}, value={"v": 1}))
    assert found is not None
    assert (found.key, found.value) == ({"k": 1, "s": "x"}, {"v": 1})


def test_errors() -> None:
    with pytest.raises(ConfigError, match=r"static\.value: No value for the static field f"):
        inserted(SourceRecord({}, {}, "t"), static_field="f")
    with pytest.raises(DataError, match=r"Only the records of a sink have an offset for offset\.field"):
        inserted(SourceRecord({}, {}, "t", value={}), offset_field="o")
    with pytest.raises(DataError, match="duplication a"):
        inserted(SourceRecord({}, {}, "t", value_schema=SCHEMA, value=Struct(SCHEMA, {"a": 1})), topic_field="a")
    with pytest.raises(DataError, match="Field a of type int64 is required"):
        inserted(SourceRecord({}, {}, "t", value_schema=SCHEMA, value=Struct(SCHEMA)), topic_field="b")
