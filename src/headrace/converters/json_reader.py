# SPDX-License-Identifier: Apache-2.0
"""Conversion of parsed JSON to Connect data: one function per schema, made once."""

from __future__ import annotations

import base64
import decimal
import math
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.java_text import to_float32
from headrace.api.logical import is_logical, to_logical
from headrace.api.schema import DATE, DECIMAL, INTEGER_BITS, TIME, Field, Schema, Struct, Type
from headrace.converters.common import function_of_value
from headrace.converters.json_as_is import INT64_END, as_is_check
from headrace.converters.json_parser import MISSING, LostDigitsError, is_number

FromJson = Callable[[Any], Any]
_BASE64_QUARTETS: Final = re.compile(r"[\x00- ]*([A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==))")
_INT32_END: Final = 1 << 31
_FLOATS_FROM: Final = float(1 << 64)
_FLOATS_DOWN_FROM: Final = -float(1 << 63)
_ALL_ZEROS_FROM: Final = 64


def value_function(schema: Schema, replace_null_with_default: bool) -> FromJson:
    """Return the function from the JSON of a value of `schema` to the value."""
    convert = _convert_function(schema, replace_null_with_default)
    null = _null_function(schema, replace_null_with_default)

    def from_json(value: Any) -> Any:
        return null() if value is None else convert(value)

    return from_json


def _null_function(schema: Schema, replace: bool) -> Callable[[], Any]:
    default = schema.default if replace else None
    if default is not None or schema.optional:
        return lambda: default

    def refuse() -> Any:
        raise DataError(f"Invalid null value for required {schema.type.name} field")

    return refuse


def _convert_function(schema: Schema, replace: bool) -> FromJson:
    if is_logical(schema):
        return _logical_function(schema)
    if schema.type in INTEGER_BITS:
        return _integer_function(INTEGER_BITS[schema.type])
    if schema.type is Type.STRUCT:
        return _struct_function(schema, replace)
    if schema.type is Type.ARRAY:
        return _array_function(schema, replace)
    if schema.type is Type.MAP:
        return _map_function(schema, replace)
    return _PRIMITIVES[schema.type]


def _may_be_whole(value: Any) -> bool:
    """Return True if orjson may have parsed a whole number beyond 64 bits to this value."""
    return value.__class__ is float and not _FLOATS_DOWN_FROM < value < _FLOATS_FROM


def _integer_function(bits: int) -> FromJson:
    """Return the function of Java's casts: fractions are cut off, larger numbers wrap, other values become 0."""
    limit, span = 1 << (bits - 1), 1 << bits

    def integer(value: Any) -> int:
        kind = value.__class__
        if kind is int and -limit <= value < limit:
            return value  # type: ignore[no-any-return]
        if kind is float:
            raise LostDigitsError
        return (_whole(value) + limit) % span - limit if is_number(value) else 0

    return integer


def _whole(value: Any) -> int:
    # Ten to that power is a multiple of the ranges of all integers: its cast is 0 for any exponent.
    if isinstance(value, decimal.Decimal) and value.adjusted() >= len(value.as_tuple().digits) + _ALL_ZEROS_FROM:
        return 0
    return int(value)


def _double(value: Any) -> float:
    if value.__class__ is float:
        return value + 0.0  # Java's parser goes through decimals, which have no negative zero
    try:
        return float(value) if is_number(value) else 0.0
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _float(value: Any) -> float:
    return to_float32(_double(value))


def _boolean(value: Any) -> bool:
    return value is True


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _bytes(value: Any) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        return _bytes_of_quartets(value)


def _bytes_of_quartets(text: str) -> bytes:
    """Decode base64 as Java does: before each four characters white space or controls, in any of them padding."""
    text = text.rstrip("".join(map(chr, range(0x21))))
    quartets = _BASE64_QUARTETS.findall(text)
    if _BASE64_QUARTETS.sub("", text):
        raise DataError(f"Invalid bytes field: {text!r} is not base64")
    return b"".join(map(base64.b64decode, quartets))


_PRIMITIVES: Final[Mapping[Type, FromJson]] = {
    Type.FLOAT64: _double,
    Type.FLOAT32: _float,
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
    Type.BYTES: _bytes,
}


def _logical_function(schema: Schema) -> FromJson:
    if schema.name == DECIMAL:
        return lambda value: _decimal(schema, value)
    if schema.name in (DATE, TIME):
        return lambda value: to_logical(schema, _int32(schema, value))
    int64 = _integer_function(64)

    def timestamp(value: Any) -> Any:
        if value.__class__ is not int and not _may_be_whole(value):
            raise _not_an_integer(schema, value)
        return to_logical(schema, int64(value))

    return timestamp


def _int32(schema: Schema, value: Any) -> int:
    if value.__class__ is not int or not -_INT32_END <= value < _INT32_END:
        raise _not_an_integer(schema, value)
    return value


def _not_an_integer(schema: Schema, value: Any) -> DataError:
    kind = str(schema.name).rpartition(".")[2]
    return DataError(f"Invalid type for {kind}, underlying representation should be integer but was {value!r}")


def _decimal(schema: Schema, value: Any) -> decimal.Decimal:
    """Return the decimal of a number, with the scale of its text, or of text, the base64 of the unscaled value."""
    if value.__class__ is float:
        raise LostDigitsError
    if is_number(value):
        return decimal.Decimal(value)
    stored = _bytes(value)
    if stored is None:
        raise DataError(f"Invalid type for Decimal, underlying representation should be numeric or bytes: {value!r}")
    return to_logical(schema, stored)  # type: ignore[no-any-return]


def _array_function(schema: Schema, replace: bool) -> FromJson:
    element = schemaless_value if schema.value_schema is None else value_function(schema.value_schema, replace)

    def array(value: Any) -> list[Any]:
        if isinstance(value, dict):  # Java iterates over objects too
            value = list(value.values())
        return [element(entry) for entry in value] if isinstance(value, list) else []

    return array


def _map_function(schema: Schema, replace: bool) -> FromJson:
    to_key = schemaless_value if schema.key_schema is None else value_function(schema.key_schema, replace)
    to_entry = schemaless_value if schema.value_schema is None else value_function(schema.value_schema, replace)
    text_keys = schema.key_schema is not None and schema.key_schema.type is Type.STRING

    def text_map(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise DataError(f"Maps with string fields should be encoded as JSON objects, but found {_kind(value)}")
        return {key: to_entry(entry) for key, entry in value.items()}

    def pair_map(value: Any) -> dict[Any, Any]:
        if not isinstance(value, list):
            raise DataError(
                f"Maps with non-string fields should be encoded as JSON array of tuples, but found {_kind(value)}"
            )
        pairs = ((to_key(key), to_entry(entry)) for key, entry in map(_pair, value))
        return {_hashable(key): entry for key, entry in pairs}

    return text_map if text_keys else pair_map


def _pair(entry: Any) -> list[Any]:
    if not isinstance(entry, list):
        raise DataError(f"Found invalid map entry instead of array tuple: {_kind(entry)}")
    if len(entry) != 2:
        raise DataError(f"Found invalid map entry, expected length 2 but found: {len(entry)}")
    return entry


def _hashable(key: Any) -> Any:
    key = tuple(key) if isinstance(key, list) else key
    try:
        hash(key)
    except TypeError as error:
        raise DataError(f"A map key of type {type(key).__name__} cannot be a key in Python") from error
    return key


def _struct_function(schema: Schema, replace: bool) -> FromJson:
    def refuse(value: Any) -> None:
        raise DataError(f"Structs should be encoded as JSON objects, but found {_kind(value)}")

    variables: dict[str, Any] = {"schema": schema, "refuse": refuse, "struct": Struct.of_valid}
    lines = ["if value.__class__ is not dict: refuse(value)", "get = value.get"]
    for field in schema.fields:
        i = field.index
        variables |= {
            f"name{i}": field.name,
            f"as_is{i}": _as_is(field.schema),
            f"convert{i}": _field_function(field, replace),
            f"null{i}": _null_function(field.schema, replace),
        }
        lines += [
            f"v{i} = get(name{i})",
            f"if v{i} is None: v{i} = null{i}()",
            f"elif v{i}.__class__ is not as_is{i}: v{i} = convert{i}(v{i})",
        ]
    lines.append(f"return struct(schema, [{', '.join(f'v{field.index}' for field in schema.fields)}])")
    return function_of_value(lines, variables)


def _as_is(schema: Schema) -> type | None:
    """Return the Python type of JSON values that need no conversion for the schema; None if there is none."""
    return None if is_logical(schema) else _AS_IS.get(schema.type)


_AS_IS: Final[Mapping[Type, type]] = {Type.STRING: str, Type.BOOLEAN: bool}


def _field_function(field: Field, replace: bool) -> FromJson:
    """Return the function of a field's value; DataError if a wrong type, read as null, does not fit the field."""
    schema = field.schema
    convert = _convert_function(schema, replace)
    if schema.type in _NEVER_NULL and not is_logical(schema):
        return convert

    def checked(value: Any) -> Any:
        entry = convert(value)
        schema.validate_value(entry, field.name)
        return entry

    return checked


_NEVER_NULL: Final = {*INTEGER_BITS, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRUCT}


def schemaless_value(value: Any) -> Any:
    """Return Connect data without schema: whole numbers wrap to 64 bits, other numbers are floats."""
    if value is MISSING:
        return None
    try:
        return value if _is_as_is(value) else _schemaless(value)
    except RecursionError as error:
        raise DataError("Converting bytes to Kafka Connect data failed: they are nested too deeply") from error


def _is_plain(value: float) -> bool:
    """Return False for -0.0, which Java reads as 0.0, and for what may have been an integer."""
    return not (_may_be_whole(value) or (value == 0.0 and str(value) != "0.0"))


_is_as_is: Final = as_is_check(_is_plain, plain_from=sys.float_info.min, plain_to=_FLOATS_FROM)


def _schemaless(value: Any) -> Any:
    kind = value.__class__
    if kind is int:
        return (value + INT64_END) % (1 << 64) - INT64_END
    if kind is float:
        if _may_be_whole(value):
            raise LostDigitsError
        return value + 0.0
    if kind is decimal.Decimal:
        return float(value)
    if kind is dict:
        return {key: _schemaless(entry) for key, entry in value.items()}
    if kind is list:
        return [_schemaless(entry) for entry in value]
    return value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    return {dict: "OBJECT", list: "ARRAY", str: "STRING", type(MISSING): "MISSING"}.get(type(value), "NUMBER")
