# SPDX-License-Identifier: Apache-2.0
"""SetSchemaMetadata beyond the vectors."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConfigError, DataError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.transforms.set_schema_metadata import SetSchemaMetadataKey, SetSchemaMetadataValue

SCHEMA = SchemaBuilder.struct().name("old").version(1).doc("d").field("a", Schema.INT8).optional().build()


def rename(schema: Schema | None, value: Any, **config: str) -> tuple[Schema | None, Any]:
    transformation: SetSchemaMetadataValue[SourceRecord] = SetSchemaMetadataValue()
    transformation.configure({f"schema.{name}": entry for name, entry in config.items()})
    return transformation.apply_to(SourceRecord({}, {}, "t"), schema, value)


@pytest.mark.parametrize(
    ("config", "changes"),
    [
        ({"name": "new"}, {"name": "new"}),
        ({"version": "7"}, {"version": 7}),
        ({"name": "new", "version": "7"}, {"name": "new", "version": 7}),
    ],
)
def test_only_what_is_configured_changes(config: dict[str, str], changes: dict[str, Any]) -> None:
    given = Struct(SCHEMA, {"a": 1})
    schema, value = rename(SCHEMA, given, **config)
    assert schema == SCHEMA.replace(**changes)
    assert value == Struct(SCHEMA.replace(**changes), {"a": 1})
    assert given == Struct(SCHEMA, {"a": 1})


def test_a_tombstone_keeps_its_schema_renamed() -> None:
    assert rename(SCHEMA, None, name="new") == (SCHEMA.replace(name="new"), None)
    assert rename(None, None, name="new") == (None, None)


def test_only_structs_and_only_with_a_schema() -> None:
    with pytest.raises(DataError, match="not one of string"):
        rename(Schema.STRING, "x", name="new")
    with pytest.raises(DataError, match="without a schema"):
        rename(None, {"a": 1}, name="new")


def test_a_missing_required_value_is_an_error() -> None:
    with pytest.raises(DataError, match="Field a of type int8 is required"):
        rename(SCHEMA, Struct(SCHEMA), name="new")


def test_name_or_version_is_needed() -> None:
    with pytest.raises(ConfigError, match=r"schema\.name nor schema\.version"):
        rename(None, None)


def test_the_key() -> None:
    transformation: SetSchemaMetadataKey[SourceRecord] = SetSchemaMetadataKey()
    transformation.configure({"schema.name": "new"})
    changed = transformation.apply(SourceRecord({}, {}, "t", key_schema=SCHEMA, value_schema=SCHEMA))
    assert changed is not None
    assert changed.key_schema == SCHEMA.replace(name="new")
    assert changed.value_schema is SCHEMA
