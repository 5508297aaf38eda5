# SPDX-License-Identifier: Apache-2.0
"""JSON to Connect data: parsing as leniently as Java's, and one function per schema, made once."""

from __future__ import annotations

import base64
import binascii
import decimal
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from headrace.api.errors import DataError
from headrace.api.java_text import to_float32
from headrace.api.logical import is_logical, to_logical
from headrace.api.schema import DATE, DECIMAL, INTEGER_BITS, TIME, Schema, Struct, Type

FromJson = Callable[[Any], Any]
MISSING: Final = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
"""What empty text is parsed to."""
_UTF_8_BOM: Final = "\ufeff"
_WHITESPACE: Final = " \t\r\n"
_STRING_OR_NUMBER: Final = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*', re.DOTALL)
_LEADING_ZEROS: Final = re.compile(r"^(-?)0+(?=[0-9])")
_UINT64_LIMIT: Final = float(1 << 64)
_ALL_ZEROS_FROM: Final = 64


class LostDigitsError(ValueError):
    """A whole number came as a float and may have lost digits: parse the text with `parse_exactly`."""


def parse_json(data: bytes) -> Any:
    """JSON with whole numbers as int and others as float or, where a float would not be exact, `decimal.Decimal`.

    Like Java's, it takes leading zeros and a byte order mark, and does not look at what follows the first value.
    DataError for what is no JSON; `MISSING` for no text at all.
    """
    try:
        parsed = orjson.loads(data)
    except orjson.JSONDecodeError:
        return parse_exactly(data)
    return parse_exactly(data) if _lost_digits(parsed) else parsed


def parse_strictly(data: bytes, exactly: bool) -> Any:
    """One plain JSON value and nothing else, or ValueError. Unless `exactly`, integers beyond 64 bits are floats."""
    return _EXACT.decode(data.decode()) if exactly else orjson.loads(data)


def parse_exactly(data: bytes) -> Any:
    """As `parse_json`, but every number that is not whole is a Decimal, with the digits and scale of its text."""
    try:
        return parse_strictly(data, True)
    except (ValueError, RecursionError):
        return _parse_leniently(data)


def _parse_leniently(data: bytes) -> Any:
    try:
        text = data.decode().removeprefix(_UTF_8_BOM).lstrip(_WHITESPACE)
        if not text:
            return MISSING
        return _EXACT.raw_decode(_STRING_OR_NUMBER.sub(_without_leading_zeros, text))[0]
    except (ValueError, RecursionError) as error:
        raise DataError(f"Converting bytes to Kafka Connect data failed due to serialization error: {error}") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


_EXACT: Final = json.JSONDecoder(parse_float=decimal.Decimal, parse_constant=_refuse_constant)


def _without_leading_zeros(match: re.Match[str]) -> str:
    return match[0] if match[0][0] == '"' else _LEADING_ZEROS.sub(r"\1", match[0])


def _lost_digits(value: Any) -> bool:
    """Whether there may have been a whole number beyond 64 bits, of which orjson makes a float."""
    kind = value.__class__
    if kind is float:
        return bool(abs(value) >= _UINT64_LIMIT)
    if kind is dict:
        return any(map(_lost_digits, value.values()))
    return kind is list and any(map(_lost_digits, value))


def value_function(schema: Schema, replace_null_with_default: bool) -> FromJson:
    """The function from the JSON of a value of `schema` to the value."""
    convert = _convert_function(schema, replace_null_with_default)
    default = schema.default if replace_null_with_default else None

    def from_json(value: Any) -> Any:
        if value is not None:
            return convert(value)
        if default is None and not schema.optional:
            raise DataError(f"Invalid null value for required {schema.type.name} field")
        return default

    return from_json


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


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool)


def _integer_function(bits: int) -> FromJson:
    """Java's casts: fractions are cut off, what is too big wraps around, what is no number is 0."""
    limit, span = 1 << (bits - 1), 1 << bits

    def integer(value: Any) -> int:
        kind = value.__class__
        if kind is int and -limit <= value < limit:
            return value  # type: ignore[no-any-return]
        if kind is float and abs(value) >= _UINT64_LIMIT:
            raise LostDigitsError
        return (_whole(value) + limit) % span - limit if _is_number(value) else 0

    return integer


def _whole(value: Any) -> int:
    # Ten to that power is a multiple of all spans: what a cast leaves of it is 0, however big the exponent.
    if isinstance(value, decimal.Decimal) and value.adjusted() >= len(value.as_tuple().digits) + _ALL_ZEROS_FROM:
        return 0
    return int(value)


def _double(value: Any) -> float:
    return float(value) if _is_number(value) else 0.0


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
    except (binascii.Error, ValueError) as error:
        raise DataError("Invalid bytes field") from error


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
    bits = 32 if schema.name in (DATE, TIME) else 64
    limit = 1 << (bits - 1)

    def logical(value: Any) -> Any:
        if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
            kind = str(schema.name).rpartition(".")[2]
            raise DataError(f"Invalid type for {kind}, underlying representation should be integer but was {value!r}")
        return to_logical(schema, value)

    return logical


def _decimal(schema: Schema, value: Any) -> decimal.Decimal:
    """A number keeps the scale of its text; text is the base64 of the unscaled value."""
    if _is_number(value):
        return decimal.Decimal(repr(value) if isinstance(value, float) else value)
    if not isinstance(value, str):
        raise DataError(f"Invalid type for Decimal, underlying representation should be numeric or bytes: {value!r}")
    try:
        stored = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DataError("Invalid bytes for Decimal field") from error
    return to_logical(schema, stored)  # type: ignore[no-any-return]


def _array_function(schema: Schema, replace: bool) -> FromJson:
    element = schemaless_value if schema.value_schema is None else value_function(schema.value_schema, replace)

    def array(value: Any) -> list[Any]:
        if isinstance(value, dict):  # Java iterates over whatever it finds
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
    fields = [(field.name, value_function(field.schema, replace)) for field in schema.fields]
    containers = any(not field.schema.type.is_primitive for field in schema.fields)

    def struct(value: Any) -> Struct:
        if not isinstance(value, dict):
            raise DataError(f"Structs should be encoded as JSON objects, but found {_kind(value)}")
        get = value.get
        values = [from_json(get(name)) for name, from_json in fields]
        if containers or None in values:  # a value of the wrong type was read as null
            for field, entry in zip(schema.fields, values, strict=True):
                field.schema.validate_value(entry, field.name)
        return Struct.of_valid(schema, values)

    return struct


def schemaless_value(value: Any) -> Any:
    """Connect data without schema: whole numbers wrap to 64 bits, other numbers are floats."""
    kind = value.__class__
    if kind is int:
        return (value + (1 << 63)) % (1 << 64) - (1 << 63)
    if kind is decimal.Decimal:
        return float(value)
    if kind is dict:
        return {key: schemaless_value(entry) for key, entry in value.items()}
    if kind is list:
        return [schemaless_value(entry) for entry in value]
    if value is MISSING:
        raise DataError("There is no JSON value in the bytes")
    return value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    return {dict: "OBJECT", list: "ARRAY", str: "STRING", type(MISSING): "MISSING"}.get(type(value), "NUMBER")
