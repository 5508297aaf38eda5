# SPDX-License-Identifier: Apache-2.0
"""Schemas in transformations: a cache of one plan per schema, copies of schemas, absent values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from headrace.api.config_def import ConfigDef
from headrace.api.config_def import Type as ConfigType
from headrace.api.errors import DataError
from headrace.api.schema import Schema
from headrace.api.schema_builder import SchemaBuilder

P = TypeVar("P")

CACHE_SIZE: Final = 16
"""The size of Java's caches of schemas."""

REPLACE_NULL_WITH_DEFAULT: Final = "replace.null.with.default"


class SchemaCache(dict[Schema, P]):
    """A cache of `compile` for each schema: `cache[schema]`. Bounded: the oldest is evicted. For one thread."""

    def __init__(self, compile: Callable[[Schema], P], size: int = CACHE_SIZE) -> None:
        super().__init__()
        self._compile = compile
        self._size = size

    def __missing__(self, schema: Schema) -> P:
        plan = self._compile(schema)
        if len(self) >= self._size:
            del self[next(iter(self))]
        self[schema] = plan
        return plan


def copy_basics(source: Schema, builder: SchemaBuilder) -> SchemaBuilder:
    """Copy the name, version, doc and parameters of `source` to `builder`, but not `optional` and `default`."""
    for attribute in ("name", "version", "doc"):
        value = getattr(source, attribute)
        if value is not None:
            getattr(builder, attribute)(value)
    return builder.parameters(source.parameters or {})


def fill_absent(schema: Schema, values: list[Any], with_defaults: bool) -> None:
    """Replace None in `values` by the defaults of a struct's fields, and check required fields.

    Call it only for values that contain None. Raise DataError for a None that stays in a required field: a copy of a
    struct is checked like Java's `Struct.put`, which refuses a null even if there is a default.
    """
    for field in schema.fields:
        if values[field.index] is None:
            if with_defaults and field.schema.default is not None:
                values[field.index] = field.schema.default
            elif not field.schema.optional:
                raise DataError(f"Field {field.name} of type {field.schema.type.value} is required, but has no value")


def define_replace_null_with_default(definition: ConfigDef) -> ConfigDef:
    """Add the property `replace.null.with.default`, which most transformations have."""
    return definition.define(
        REPLACE_NULL_WITH_DEFAULT,
        ConfigType.BOOLEAN,
        True,
        doc="Whether a field that is null takes the default value of its schema, if it has one.",
    )


__all__ = [
    "CACHE_SIZE",
    "REPLACE_NULL_WITH_DEFAULT",
    "SchemaCache",
    "copy_basics",
    "define_replace_null_with_default",
    "fill_absent",
]
