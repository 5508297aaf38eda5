# SPDX-License-Identifier: Apache-2.0
"""Make the key from fields of the value (Java: `org.apache.kafka.connect.transforms.ValueToKey`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import DataError
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.transform import R, Transformation
from headrace.api.validators import ValidList
from headrace.transforms._common import (
    REPLACE_NULL_WITH_DEFAULT,
    SchemaCache,
    define_replace_null_with_default,
    fill_absent,
    require_map,
    require_struct,
)

FIELDS: Final = "fields"
_PURPOSE: Final = "copying fields from value to key"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The key's schema, and for each of its fields the position in the value."""

    schema: Schema
    sources: Sequence[int]


class ValueToKey(Transformation[R]):
    """A transformation that replaces the key by a struct, or without a schema a map, of fields of the value.

    A field that a map does not have becomes null. Raises DataError for a schema without the field, and for null values.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        self._fields: Sequence[str] = config[FIELDS]
        self._with_defaults = config[REPLACE_NULL_WITH_DEFAULT]
        self._plans = SchemaCache(self._plan)

    def apply(self, record: R) -> R | None:
        if record.value_schema is None:
            value = require_map(record.value, _PURPOSE)
            return record.with_key(None, {name: value.get(name) for name in self._fields})
        struct = require_struct(record.value, _PURPOSE)
        plan = self._plans[struct.schema]
        given = struct.field_values
        values = [given[index] for index in plan.sources]
        if None in values:
            fill_absent(plan.schema, values, self._with_defaults)
        return record.with_key(plan.schema, Struct.of_valid(plan.schema, values))

    def _plan(self, schema: Schema) -> _Plan:
        builder = SchemaBuilder.struct()
        sources = []
        for name in self._fields:
            field = schema.field(name)
            if field is None:
                known = ", ".join(known.name for known in schema.fields)
                raise DataError(f"Field does not exist: {name}; the fields of {schema} are: {known}")
            builder.field(name, field.schema)
            sources.append(field.index)
        return _Plan(builder.build(), sources)


_CONFIG: Final = define_replace_null_with_default(
    ConfigDef().define(
        FIELDS,
        Type.LIST,
        importance=Importance.HIGH,
        validator=ValidList(allow_empty=False),
        doc="The names of the value's fields that form the key.",
    )
)
