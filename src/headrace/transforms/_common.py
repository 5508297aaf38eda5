# SPDX-License-Identifier: Apache-2.0
"""The common part of transformations: checks of input (Java: `transforms.util.Requirements`), caches, absent values.

`purpose` names the operation in messages, such as `field extraction`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from headrace.api.config_def import ConfigDef
from headrace.api.config_def import Type as ConfigType
from headrace.api.errors import DataError
from headrace.api.frame_transform import VALUE_SCHEMA
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder

P = TypeVar("P")
K = TypeVar("K")
V = TypeVar("V")

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


class Remembered(dict[K, V]):
    """A function's results by its argument, where `functools.lru_cache` is too slow for a look-up per record.

    All are forgotten when there are `most`. What it raises is not kept.
    """

    def __init__(self, function: Callable[[K], V], most: int) -> None:
        super().__init__()
        self._function = function
        self._most = most

    def __missing__(self, key: K) -> V:
        result = self._function(key)
        if len(self) >= self._most:
            self.clear()
        self[key] = result
        return result


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


def require_schema(schema: Schema | None, purpose: str) -> Schema:
    """Return the schema. Raise DataError if it is None."""
    if schema is None:
        raise DataError(f"Data without a schema cannot be used for [{purpose}]; use a converter that gives schemas")
    return schema


def require_map(value: Any, purpose: str) -> Mapping[str, Any]:
    """Return the map. Raise DataError for anything else, None included."""
    if value.__class__ is dict or isinstance(value, Mapping):
        return value
    raise DataError(f"Data without a schema must be a map for [{purpose}], not {type_name(value)}")


def require_struct(value: Any, purpose: str) -> Struct:
    """Return the struct. Raise DataError for anything else, None included."""
    if isinstance(value, Struct):
        return value
    raise DataError(f"Data with a schema must be a struct for [{purpose}], not {type_name(value)}")


def type_name(value: Any) -> str:
    """Return the type of a value as messages show it."""
    return "null" if value is None else type(value).__name__


def define_value_schema(definition: ConfigDef) -> ConfigDef:
    """Add the property `value.schema`, which transformations of DataFrames have."""
    return definition.define(
        VALUE_SCHEMA,
        ConfigType.STRING,
        None,
        doc="The type of the column value, in Spark's DDL: 'a INT, b STRING', or one type. Text is parsed as JSON. By "
        "default the type is that of the records' schema, and VARIANT where they have none.",
    )


__all__ = [
    "CACHE_SIZE",
    "REPLACE_NULL_WITH_DEFAULT",
    "Remembered",
    "SchemaCache",
    "copy_basics",
    "define_replace_null_with_default",
    "define_value_schema",
    "fill_absent",
    "require_map",
    "require_schema",
    "require_struct",
    "type_name",
]
