# SPDX-License-Identifier: Apache-2.0
"""A builder of schemas (Java: `SchemaBuilder`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.api.errors import DataError, SchemaBuilderError
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Field, Schema, Struct, Type

SCALE_PARAMETER: Final = "scale"


class SchemaBuilder:
    """A builder of a `Schema`, by chained calls.

    `SchemaBuilder.struct().name("user").field("id", Schema.INT64).field("email", Schema.OPTIONAL_STRING).build()`

    Each attribute can be set once; setting it again, or setting one that the type does not have, raises
    SchemaBuilderError.
    """

    def __init__(self, type: Type) -> None:
        self._type = type
        self._set: dict[str, Any] = {}
        self._parameters: dict[str, str] = {}
        self._fields: dict[str, Field] = {}

    @classmethod
    def int8(cls) -> SchemaBuilder:
        """Start a schema of 8-bit integers."""
        return cls(Type.INT8)

    @classmethod
    def int16(cls) -> SchemaBuilder:
        """Start a schema of 16-bit integers."""
        return cls(Type.INT16)

    @classmethod
    def int32(cls) -> SchemaBuilder:
        """Start a schema of 32-bit integers."""
        return cls(Type.INT32)

    @classmethod
    def int64(cls) -> SchemaBuilder:
        """Start a schema of 64-bit integers."""
        return cls(Type.INT64)

    @classmethod
    def float32(cls) -> SchemaBuilder:
        """Start a schema of single-precision numbers."""
        return cls(Type.FLOAT32)

    @classmethod
    def float64(cls) -> SchemaBuilder:
        """Start a schema of double-precision numbers."""
        return cls(Type.FLOAT64)

    @classmethod
    def boolean(cls) -> SchemaBuilder:
        """Start a schema of booleans."""
        return cls(Type.BOOLEAN)

    @classmethod
    def string(cls) -> SchemaBuilder:
        """Start a schema of strings."""
        return cls(Type.STRING)

    @classmethod
    def bytes(cls) -> SchemaBuilder:
        """Start a schema of bytes."""
        return cls(Type.BYTES)

    @classmethod
    def struct(cls) -> SchemaBuilder:
        """Start a schema of structs; add its fields with `field`."""
        return cls(Type.STRUCT)

    @classmethod
    def array(cls, value_schema: Schema) -> SchemaBuilder:
        """Start a schema of arrays whose elements fit `value_schema`."""
        return cls(Type.ARRAY)._put("value_schema", value_schema)

    @classmethod
    def map(cls, key_schema: Schema, value_schema: Schema) -> SchemaBuilder:
        """Start a schema of maps whose keys and values fit these schemas."""
        return cls(Type.MAP)._put("key_schema", key_schema)._put("value_schema", value_schema)

    @classmethod
    def decimal(cls, scale: int) -> SchemaBuilder:
        """Start a schema of decimals with `scale` digits after the point."""
        return cls(Type.BYTES).name(DECIMAL).version(1).parameter(SCALE_PARAMETER, str(scale))

    @classmethod
    def date(cls) -> SchemaBuilder:
        """Start a schema of calendar days."""
        return cls(Type.INT32).name(DATE).version(1)

    @classmethod
    def time(cls) -> SchemaBuilder:
        """Start a schema of times of day, in milliseconds."""
        return cls(Type.INT32).name(TIME).version(1)

    @classmethod
    def timestamp(cls) -> SchemaBuilder:
        """Start a schema of points in time, in milliseconds."""
        return cls(Type.INT64).name(TIMESTAMP).version(1)

    def optional(self) -> SchemaBuilder:
        """Allow None as a value."""
        return self._put("optional", True)

    def required(self) -> SchemaBuilder:
        """Refuse None as a value; this is the default."""
        return self._put("optional", False)

    def default_value(self, value: Any) -> SchemaBuilder:
        """Set the value that replaces an absent one; `build` checks that it fits the schema."""
        return self._put("default", value)

    def name(self, name: str) -> SchemaBuilder:
        """Set the schema's name."""
        return self._put("name", name)

    def version(self, version: int) -> SchemaBuilder:
        """Set the schema's version."""
        return self._put("version", version)

    def doc(self, doc: str) -> SchemaBuilder:
        """Set the schema's documentation."""
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
        """Return the schema. Raise SchemaBuilderError if the default does not fit it."""
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
            # A struct's default was made with a schema that has no default yet.
            schema.replace(default=None).validate_value(Struct.of_valid(_bare(default.schema), [*default.field_values]))
        else:
            schema.validate_value(default)
    except DataError as error:
        raise SchemaBuilderError(f"Invalid default value: {error}") from error


def _bare(schema: Schema) -> Schema:
    return schema if schema.default is None else schema.replace(default=None)
