# SPDX-License-Identifier: Apache-2.0
"""Conversion of values between types, and of headers' text to values and back (Java: `connect.data.Values`).

Every function takes the schema of the value, or None if it is not known; the schema distinguishes a float32 from a
double, and decides as what number a date or time is stored. The functions have no state and may be called from any
thread. They raise DataError for a value that cannot be converted. None stays None, except where the docstring says that
it is a DataError.
"""

from __future__ import annotations

import base64
import datetime
import decimal
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.api.errors import DataError, SchemaBuilderError
from headrace.api.java_text import double_text, float_text, to_float32
from headrace.api.logical import to_logical
from headrace.api.schema import Schema, Struct, Type
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.values_moments import moment_text, to_date, to_time, to_timestamp
from headrace.api.values_numbers import LONG_MAX, LONG_MIN, as_double, as_long, big_decimal, cannot_convert, wrapped
from headrace.api.values_parser import parse_string

__all__ = [
    "convert_to_boolean",
    "convert_to_byte",
    "convert_to_date",
    "convert_to_decimal",
    "convert_to_double",
    "convert_to_float",
    "convert_to_integer",
    "convert_to_list",
    "convert_to_long",
    "convert_to_map",
    "convert_to_short",
    "convert_to_string",
    "convert_to_struct",
    "convert_to_time",
    "convert_to_timestamp",
    "infer_schema",
    "parse_string",
]


def convert_to_boolean(schema: Schema | None, value: Any) -> bool | None:
    """Return a boolean: from a boolean or its text, or from any other value by comparing its long with zero."""
    if value is None or isinstance(value, bool):
        return value
    parsed = parse_string(value).value if isinstance(value, str) else None
    return parsed if isinstance(parsed, bool) else as_long(schema, value) != 0


def convert_to_byte(schema: Schema | None, value: Any) -> int | None:
    """Return the lowest 8 bits of `convert_to_long`."""
    return None if value is None else wrapped(as_long(schema, value), 8)


def convert_to_short(schema: Schema | None, value: Any) -> int | None:
    """Return the lowest 16 bits of `convert_to_long`."""
    return None if value is None else wrapped(as_long(schema, value), 16)


def convert_to_integer(schema: Schema | None, value: Any) -> int | None:
    """Return the lowest 32 bits of `convert_to_long`."""
    return None if value is None else wrapped(as_long(schema, value), 32)


def convert_to_long(schema: Schema | None, value: Any) -> int | None:
    """Return a number, or the text of one, without its fraction; a date or time as its schema stores it.

    Numbers beyond 64 bits wrap, except floats, which stay at the limit; not-a-number is 0.
    """
    return None if value is None else as_long(schema, value)


def convert_to_float(schema: Schema | None, value: Any) -> float | None:
    """Return `convert_to_double`, rounded to the nearest float32."""
    return None if value is None else to_float32(as_double(schema, value))


def convert_to_double(schema: Schema | None, value: Any) -> float | None:
    """Return a number, or the text of one, as a float; a date or time as its schema stores it."""
    return None if value is None else as_double(schema, value)


def convert_to_string(schema: Schema | None, value: Any) -> str | None:
    """Return the text that SimpleHeaderConverter writes: strings unchanged, other data in a notation like JSON."""
    return None if value is None else _text(schema, value)


def convert_to_list(schema: Schema | None, value: Any) -> Sequence[Any]:
    """Return a list or tuple unchanged, or the array that text represents. None is a DataError."""
    array = parse_string(value).value if isinstance(value, str) else value
    if not isinstance(array, (list, tuple)):
        raise cannot_convert(value, "an array")
    return array


def convert_to_map(schema: Schema | None, value: Any) -> Mapping[Any, Any]:
    """Return a map unchanged, or the map that text represents. None is a DataError."""
    entries = parse_string(value).value if isinstance(value, str) else value
    if not isinstance(entries, Mapping):
        raise cannot_convert(value, "a map")
    return entries


def convert_to_struct(schema: Schema | None, value: Any) -> Struct:
    """Return a struct unchanged. Anything else is a DataError, None too."""
    if not isinstance(value, Struct):
        raise cannot_convert(value, "a struct")
    return value


def convert_to_date(schema: Schema | None, value: Any) -> datetime.date:
    """Return a date, a timestamp's date, or the day with that number since 1970-01-01. None is a DataError.

    Text is parsed; that of a date or timestamp is accepted only without a schema, as in Java.
    """
    return to_date(schema, _parsed(value))


def convert_to_time(schema: Schema | None, value: Any) -> datetime.time:
    """Return a time of day, a timestamp's time, or that of milliseconds since midnight; else as `convert_to_date`."""
    return to_time(schema, _parsed(value))


def convert_to_timestamp(schema: Schema | None, value: Any) -> datetime.datetime:
    """Return a timestamp: of a date, a time of 1970-01-01, or milliseconds since then; else as `convert_to_date`."""
    return to_timestamp(schema, _parsed(value))


def convert_to_decimal(schema: Schema | None, value: Any, scale: int) -> decimal.Decimal:
    """Return a decimal: of text with the text's scale, of bytes as an unscaled value of `scale`. None is a DataError.

    Other numbers are converted through the text of a double, so that 5 becomes 5.0.
    """
    if isinstance(value, decimal.Decimal):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        number: decimal.Decimal | None = to_logical(SchemaBuilder.decimal(scale).build(), bytes(value))
    elif isinstance(value, str):
        number = big_decimal(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number = big_decimal(double_text(as_double(None, value)))
    else:
        number = None
    if number is None:
        raise cannot_convert(value, "a decimal")
    return number


def infer_schema(value: Any) -> Schema | None:
    """Return the schema of a value by its Python type: int64 for integers, float64 for floats, a struct's own.

    None for None, dates, times, decimals, empty or mixed collections, and integers beyond 64 bits. Nested collections
    keep only their outer type. Raise SchemaBuilderError for a collection that holds only None.
    """
    if isinstance(value, Struct):
        return value.schema
    if isinstance(value, (list, tuple)):
        element = _common_schema(value)
        return SchemaBuilder.array(element).build() if element is not None else None
    if isinstance(value, Mapping):
        key, entry = _common_schema(value.keys()), _common_schema(value.values())
        return SchemaBuilder.map(key, entry).build() if key is not None and entry is not None else None
    if isinstance(value, bool):
        return Schema.BOOLEAN
    if isinstance(value, int):
        return Schema.INT64 if LONG_MIN <= value <= LONG_MAX else None
    if isinstance(value, float):
        return Schema.FLOAT64
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Schema.BYTES
    return Schema.STRING if isinstance(value, str) else None


def _common_schema(values: Iterable[Any]) -> Schema | None:
    """Return the type that all values have, optional if None is among them; None for no values or different types."""
    values = list(values)
    present = [value for value in values if value is not None]
    if values and not present:
        raise SchemaBuilderError("Cannot infer a schema: every element is null")
    schemas = [infer_schema(value) for value in present]
    types = {schema.type if schema is not None else None for schema in schemas}
    found = types.pop() if len(types) == 1 else None
    return Schema(found, optional=len(present) < len(values)) if found is not None else None


def _parsed(value: Any) -> Any:
    if value is None:
        raise DataError("Unable to convert a null value to a schema that requires a value")
    return parse_string(value).value if isinstance(value, str) else value


def _text(schema: Schema | None, value: Any, inside: bool = False) -> str:
    """Return the text of a value; strings and bytes are quoted only `inside` arrays, maps and structs.

    `schema` distinguishes a float32 from a double. Raise DataError for a value that is not Connect data.
    """
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if inside else value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value) if schema is not None and schema.type is Type.FLOAT32 else double_text(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return moment_text(value)
    if isinstance(value, decimal.Decimal):
        return str(value if value else value.copy_abs())
    if isinstance(value, (bytes, bytearray, memoryview)):
        encoded = base64.b64encode(value).decode()
        return f'"{encoded}"' if inside else encoded
    return _container_text(schema, value)


def _container_text(schema: Schema | None, value: Any) -> str:
    if isinstance(value, Struct):
        return _object(
            (None, field.name, field.schema, entry)
            for field, (_, entry) in zip(value.schema.fields, value, strict=True)
        )
    value_schema = schema.value_schema if schema is not None else None
    if isinstance(value, Mapping):
        key_schema = schema.key_schema if schema is not None else None
        return _object((key_schema, key, value_schema, entry) for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_text(value_schema, entry, True) for entry in value)}]"
    raise DataError(f"Failed to serialize unexpected value type {type(value).__name__}: {value!r}")


def _object(entries: Iterable[tuple[Schema | None, Any, Schema | None, Any]]) -> str:
    pairs = (f"{_text(kind, key, True)}:{_text(schema, value, True)}" for kind, key, schema, value in entries)
    return f"{{{','.join(pairs)}}}"
