# SPDX-License-Identifier: Apache-2.0
"""Conversion of Connect data to values that orjson writes as Java's JSON: one function per schema, made once.

Where orjson's text would differ from Java's (doubles with exponents, float32, decimals) the function inserts the text
as an `orjson.Fragment`; `java_json` corrects the escapes of the whole text afterwards, where there are any.
"""

from __future__ import annotations

import base64
import decimal
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from headrace.api.errors import DataError
from headrace.api.java_text import double_text, float_text, is_plain
from headrace.api.logical import from_logical, is_logical
from headrace.api.schema import DECIMAL, Schema, Struct, Type
from headrace.converters.common import function_of_value
from headrace.converters.json_as_is import INT64_END, as_is_check

ToJson = Callable[[Any], Any]
ESCAPE: Final = b"\\u00"
_ESCAPED_CONTROL: Final = re.compile(rb"\\\\|\\u00[01][0-9a-f]")
_BEYOND_BMP: Final = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """Properties that change the output: `decimal.format=NUMERIC`, `replace.null.with.default`."""

    numeric_decimals: bool
    replace_null_with_default: bool


def java_json(json: Any) -> bytes:
    """Return the JSON text with Java's escapes: upper-case hexadecimal, and surrogates beyond the BMP."""
    try:
        text = dumps(json)
    except TypeError as error:
        raise unwritable(error) from error
    return as_java(text)


dumps: Final = orjson.dumps
"""Return JSON text without Java's escapes. TypeError for a lone surrogate or too deep nesting; see `unwritable`."""


def unwritable(error: TypeError) -> DataError:
    """Return the DataError to raise in place of an error of `dumps`."""
    return DataError(f"Converting Kafka Connect data to bytes failed due to serialization error: {error}")


def as_java(text: bytes) -> bytes:
    """Apply Java's escapes to text of `dumps`; needed only if it is not ASCII or contains `ESCAPE`."""
    if ESCAPE in text:
        text = _ESCAPED_CONTROL.sub(_upper_case, text)
    return text if text.isascii() else _BEYOND_BMP.sub(_surrogates, text)


def _upper_case(match: re.Match[bytes]) -> bytes:
    found = match[0]
    return found if found == b"\\\\" else found[:2] + found[2:].upper()


def _surrogates(match: re.Match[bytes]) -> bytes:
    point = ord(match[0].decode()) - 0x10000
    return b"\\u%04X\\u%04X" % (0xD800 + (point >> 10), 0xDC00 + (point & 0x3FF))


def json_function(schema: Schema, options: WriterOptions) -> ToJson:
    """Return the function from a value of `schema`, or None, to its JSON; it raises DataError for other values."""
    convert = _value_function(schema, options)
    null = _null_function(schema, convert, options)

    def to_json(value: Any) -> Any:
        return null() if value is None else convert(value)

    return to_json


def _null_function(schema: Schema, convert: ToJson, options: WriterOptions) -> Callable[[], Any]:
    if schema.default is not None and options.replace_null_with_default:
        default = convert(schema.default)
        return lambda: default
    if schema.optional:
        return lambda: None

    def refuse() -> Any:
        raise DataError("Conversion error: null value for field that is required and has no default value")

    return refuse


def _value_function(schema: Schema, options: WriterOptions) -> ToJson:
    if is_logical(schema):
        return _checked(schema, _logical_function(schema, options))
    if schema.type is Type.STRUCT:
        return _struct_function(schema, options)
    if schema.type is Type.ARRAY:
        return _array_function(schema, options)
    if schema.type is Type.MAP:
        return _map_function(schema, options)
    return _checked(schema, _STORED.get(schema.type))


def _checked(schema: Schema, convert: ToJson | None) -> ToJson:
    check = schema.validate_value

    def checked(value: Any) -> Any:
        check(value)
        return value if convert is None else convert(value)

    return checked


def _double(value: float) -> Any:
    # The common part of `is_plain`, inlined, as this runs for every double.
    return value if 1e-3 <= value < 1e7 or is_plain(value) else _number(double_text(value))


def _float(value: float) -> Any:
    return _number(float_text(value))


def _number(text: str) -> Any:
    # Not-a-number and the infinities are strings in Jackson's JSON.
    return text if text[-1].isalpha() else orjson.Fragment(text)


def _bytes(value: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(value).decode()


_STORED: Final[Mapping[Type, ToJson]] = {Type.FLOAT64: _double, Type.FLOAT32: _float, Type.BYTES: _bytes}


def _logical_function(schema: Schema, options: WriterOptions) -> ToJson:
    if schema.name != DECIMAL:
        return lambda value: from_logical(schema, value)
    if options.numeric_decimals:
        return _decimal_digits
    return lambda value: _bytes(from_logical(schema, value))


def _decimal_digits(value: decimal.Decimal) -> Any:
    """Return the digits with the value's own scale. Java's decimals have no negative zero and no not-a-number."""
    if not value.is_finite():
        raise DataError(f"{value} is not a number that a decimal can be")
    return orjson.Fragment(str(value if value else value.copy_abs()))


def _array_function(schema: Schema, options: WriterOptions) -> ToJson:
    element = schemaless_json if schema.value_schema is None else json_function(schema.value_schema, options)

    def array(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise DataError(f"Invalid type for ARRAY: {type(value).__name__}")
        return [element(entry) for entry in value]

    return array


def _map_function(schema: Schema, options: WriterOptions) -> ToJson:
    key_schema, value_schema = schema.key_schema, schema.value_schema
    to_key = schemaless_json if key_schema is None else json_function(key_schema, options)
    to_entry = schemaless_json if value_schema is None else json_function(value_schema, options)
    text_keys = key_schema is not None and key_schema.type is Type.STRING

    def mapping(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise DataError(f"Invalid type for MAP: {type(value).__name__}")
        if text_keys:
            named = ((to_key(key), to_entry(entry)) for key, entry in value.items())
            return {"null" if key is None else key: entry for key, entry in named}
        return [[to_key(key), to_entry(entry)] for key, entry in value.items()]

    return mapping


def _struct_function(schema: Schema, options: WriterOptions) -> ToJson:
    """Return the function of structs, whose values were checked when put: most are passed to orjson unchanged."""

    def check(value: Any) -> None:
        if value.__class__ is not Struct:
            raise DataError(f"Invalid type for STRUCT: {type(value).__name__}")
        if value.schema != schema:
            raise DataError("Mismatching schema.")
        latest[0] = value.schema  # compare once only: the batch's other values have the same schema

    latest = [schema]
    variables: dict[str, Any] = {"Struct": Struct, "latest": latest, "check": check}
    lines = ["if value.__class__ is not Struct or value.schema is not latest[0]: check(value)"]
    if schema.fields:
        lines.append(f"{' '.join(f'v{field.index},' for field in schema.fields)} = value.field_values")
    for field in schema.fields:
        i, convert = field.index, _unchecked(field.schema, options)
        null = _null_function(field.schema, convert or _unchanged, options)
        variables |= {f"name{i}": field.name, f"convert{i}": convert, f"null{i}": null}
        if field.schema.default is not None or not field.schema.optional:
            lines.append(f"if v{i} is None: v{i} = null{i}()")
            lines += [f"else: v{i} = convert{i}(v{i})"] if convert else []
        elif convert:
            lines.append(f"if v{i} is not None: v{i} = convert{i}(v{i})")
    lines.append(f"return {{{', '.join(f'name{field.index}: v{field.index}' for field in schema.fields)}}}")
    return function_of_value(lines, variables)


def _unchecked(schema: Schema, options: WriterOptions) -> ToJson | None:
    """Return the function of a value that is known to fit `schema`, never None; None if the value needs no change."""
    if is_logical(schema):
        return _logical_function(schema, options)
    return None if schema.type in _AS_IS else _STORED.get(schema.type) or _value_function(schema, options)


def _unchanged(value: Any) -> Any:
    return value


_AS_IS: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN, Type.STRING})


def schemaless_json(value: Any) -> Any:
    """Return the JSON of a value without schema, by its Python type. Raise DataError for types that Java lacks."""
    try:
        return value if _is_as_is(value) else _any_json(value)
    except RecursionError as error:
        raise DataError("Converting Kafka Connect data to bytes failed: it is nested too deeply") from error


_is_as_is: Final = as_is_check(is_plain, plain_from=1e-3, plain_to=1e7, keys=True)


def _any_json(value: Any) -> Any:
    kind = value.__class__
    if value is None or kind is str or kind is bool:
        return value
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _any_json(entry) for key, entry in value.items()}
        return [[_any_json(key), _any_json(entry)] for key, entry in value.items()]
    if isinstance(value, (list, tuple)):
        return [_any_json(entry) for entry in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(value)
    if isinstance(value, Struct):
        raise DataError("Mismatching schema: a struct needs its schema beside it")
    if isinstance(value, str):  # subclasses are written as plain strings
        return str.__str__(value)
    if isinstance(value, int):
        if not -INT64_END <= value < INT64_END:
            raise DataError(f"{value} is beyond the range of a 64-bit integer")
        return int(value)
    raise DataError(f"Python class {kind.__name__} does not have corresponding schema type.")
