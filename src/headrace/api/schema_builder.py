# SPDX-License-Identifier: Apache-2.0
"""Building schemas step by step (Java: `SchemaBuilder`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.api.errors import DataError, SchemaBuilderError
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Field, Schema, Struct, Type

SCALE_PARAMETER: Final = "scale"


class SchemaBuilder:
    """Builds a `Schema` step by step: `SchemaBuilder.struct().name("user").field("id", Schema.INT64).build()`.

    A property can be set once; setting it again, or one that the type does not have, is a SchemaBuilderError.
    """

    def __init__(self, type: Type) -> None:
        self._type = type
        self._set: dict[str, Any] = {}
        self._parameters: dict[str, str] = {}
        self._fields: dict[str, Field] = {}

    @classmethod
    def int8(cls) -> SchemaBuilder:
        return cls(Type.INT8)

    @classmethod
    def int16(cls) -> SchemaBuilder:
        return cls(Type.INT16)

    @classmethod
    def int32(cls) -> SchemaBuilder:
        return cls(Type.INT32)

    @classmethod
    def int64(cls) -> SchemaBuilder:
        return cls(Type.INT64)

    @classmethod
    def float32(cls) -> SchemaBuilder:
        return cls(Type.FLOAT32)

    @classmethod
    def float64(cls) -> SchemaBuilder:
        return cls(Type.FLOAT64)

    @classmethod
    def boolean(cls) -> SchemaBuilder:
        return cls(Type.BOOLEAN)

    @classmethod
    def string(cls) -> SchemaBuilder:
        return cls(Type.STRING)

    @classmethod
    def bytes(cls) -> SchemaBuilder:
        return cls(Type.BYTES)

    @classmethod
    def struct(cls) -> SchemaBuilder:
        return cls(Type.STRUCT)

    @classmethod
    def array(cls, value_schema: Schema) -> SchemaBuilder:
        """An array of values that fit `value_schema`."""
        return cls(Type.ARRAY)._put("value_schema", value_schema)

    @classmethod
    def map(cls, key_schema: Schema, value_schema: Schema) -> SchemaBuilder:
        """A map of keys and values that fit these schemas."""
        return cls(Type.MAP)._put("key_schema", key_schema)._put("value_schema", value_schema)

    @classmethod
    def decimal(cls, scale: int) -> SchemaBuilder:
        """Decimals with `scale` digits after the point."""
        return cls(Type.BYTES).name(DECIMAL).version(1).parameter(SCALE_PARAMETER, str(scale))

    @classmethod
    def date(cls) -> SchemaBuilder:
        """Calendar days."""
        return cls(Type.INT32).name(DATE).version(1)

    @classmethod
    def time(cls) -> SchemaBuilder:
        """Times of day, in milliseconds."""
        return cls(Type.INT32).name(TIME).version(1)

    @classmethod
    def timestamp(cls) -> SchemaBuilder:
        """Points in time, in milliseconds."""
        return cls(Type.INT64).name(TIMESTAMP).version(1)

    def optional(self) -> SchemaBuilder:
        """None is a value."""
        return self._put("optional", True)

    def required(self) -> SchemaBuilder:
        """None is no value; this is so anyway."""
        return self._put("optional", False)

    def default_value(self, value: Any) -> SchemaBuilder:
        """The value that stands for an absent one. It must fit the schema."""
        return self._put("default", value)

    def name(self, name: str) -> SchemaBuilder:
        return self._put("name", name)

    def version(self, version: int) -> SchemaBuilder:
        return self._put("version", version)

    def doc(self, doc: str) -> SchemaBuilder:
        return self._put("doc", doc)

    def parameter(self, name: str, value: str) -> SchemaBuilder:
        """Add one parameter."""
        if name in self._parameters:
            raise SchemaBuilderError(f"Invalid SchemaBuilder call: parameter {name} has already been set")
        self._parameters[name] = value
        return self

    def parameters(self, parameters: Mapping[str, str]) -> SchemaBuilder:
        """Add several parameters."""
        for name, value in parameters.items():
            self.parameter(name, value)
        return self

    def field(self, name: str, schema: Schema) -> SchemaBuilder:
        """Add a field to a struct."""
        if self._type is not Type.STRUCT:
            raise SchemaBuilderError(f"Cannot create field {name} on type {self._type.name}")
        if not name:
            raise SchemaBuilderError("The name of a field cannot be null or empty")
        if name in self._fields:
            raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
        self._fields[name] = Field(name, len(self._fields), schema)
        return self

    def build(self) -> Schema:
        """The schema. SchemaBuilderError if the default does not fit it."""
        schema = Schema(
            self._type, parameters=self._parameters or None, fields=tuple(self._fields.values()), **self._set
        )
        if "default" in self._set:
            _check_default(schema)
        return schema

    def _put(self, attribute: str, value: Any) -> SchemaBuilder:
        if attribute in self._set:
            raise SchemaBuilderError(f"Invalid SchemaBuilder call: {attribute} has already been set")
        self._set[attribute] = value
        return self


def _check_default(schema: Schema) -> None:
    default = schema.default
    try:
        if schema.type is Type.STRUCT and isinstance(default, Struct):
            # The struct cannot have been made with the schema that holds it.
            schema.replace(default=None).validate_value(Struct.of_valid(_bare(default.schema), [*default.field_values]))
        else:
            schema.validate_value(default)
    except DataError as error:
        raise SchemaBuilderError(f"Invalid default value: {error}") from error


def _bare(schema: Schema) -> Schema:
    return schema if schema.default is None else schema.replace(default=None)
