# SPDX-License-Identifier: Apache-2.0
"""What transformations share about schemas: one plan per schema, copies of schemas, values that are absent."""

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
"""How many schemas Java's transformations remember."""

REPLACE_NULL_WITH_DEFAULT: Final = "replace.null.with.default"


class SchemaCache(dict[Schema, P]):
    """What `compile` made of each schema: `cache[schema]`. Bounded; the oldest goes first. For one thread."""

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
    """Give `builder` the name, version, doc and parameters of `source`; not whether it is optional, nor its default."""
    for attribute in ("name", "version", "doc"):
        value = getattr(source, attribute)
        if value is not None:
            getattr(builder, attribute)(value)
    return builder.parameters(source.parameters or {})


def fill_absent(schema: Schema, values: list[Any], with_defaults: bool) -> None:
    """Put the defaults of a struct's fields where `values` holds None, and find what is missing.

    Call it only for values that do hold None. DataError for a None that stays where its field is required: a copy of a
    struct is checked as Java's `Struct.put` checks it, where even a default does not excuse a stored null.
    """
    for field in schema.fields:
        if values[field.index] is None:
            if with_defaults and field.schema.default is not None:
                values[field.index] = field.schema.default
            elif not field.schema.optional:
                raise DataError(f"Field {field.name} of type {field.schema.type.value} is required, but has no value")


def define_replace_null_with_default(definition: ConfigDef) -> ConfigDef:
    """Add the property that most transformations have."""
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
