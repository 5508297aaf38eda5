# SPDX-License-Identifier: Apache-2.0
"""Connect schemas of the JSON schemas of streams, and values for them. Pure.

The table of types is in docs/guide/singer.md. A JSON schema that says more than the table has becomes JSON text.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.connectors.singer.messages import json_text

Convert = Callable[[Any], Any]
"""Returns the Connect value of a JSON value that is not null. Raises DataError, TypeError or ValueError."""
_INT64: Final = 1 << 63
_MOST_PLACES: Final = 38
_SHOWN: Final = 100
# Exact: an operation that would have to round raises.
_EXACT: Final = decimal.Context(prec=10_000, traps=[decimal.Inexact, decimal.InvalidOperation])


@dataclass(frozen=True, slots=True)
class TypeChoices:
    """The user's choices of types: dates and times as logical types, and ``multipleOf`` as Decimal."""

    timestamps: bool = True
    decimals: bool = True


@dataclass(frozen=True, slots=True)
class Column:
    """The optional Connect schema of a JSON schema, and its values."""

    schema: Schema
    convert: Convert


def column(json_schema: Any, choices: TypeChoices) -> Column:
    """Return the column of a JSON schema; JSON text if it is none of the table."""
    kinds, plain = _kinds(json_schema)
    if kinds == {"object"}:
        return _object(plain, choices)
    if kinds == {"array"} and isinstance(plain.get("items"), dict):
        return _array(column(plain["items"], choices))
    if kinds == {"string"}:
        return _string(plain.get("format") if choices.timestamps else None)
    if kinds == {"boolean"}:
        return Column(Schema.OPTIONAL_BOOLEAN, _boolean)
    if kinds == {"integer"}:
        return _integer(plain)
    if kinds in ({"number"}, {"integer", "number"}):
        places = _places(plain.get("multipleOf")) if choices.decimals else None
        return Column(Schema.OPTIONAL_FLOAT64, _float) if places is None else _decimal(places)
    return JSON_TEXT


def _kinds(json_schema: Any) -> tuple[set[str], Mapping[str, Any]]:
    """Return the types but null, and the schema that says the rest; no types if they are not known."""
    if not isinstance(json_schema, dict) or any(word in json_schema for word in ("$ref", "allOf", "oneOf", "not")):
        return set(), {}
    if "anyOf" in json_schema:
        return _kinds_of_any(json_schema["anyOf"])
    kinds = json_schema.get("type")
    named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    return {str(kind) for kind in named} - {"null"}, json_schema


def _kinds_of_any(variants: Any) -> tuple[set[str], Mapping[str, Any]]:
    found = [_kinds(variant) for variant in variants] if isinstance(variants, list) else []
    others = [variant for variant in found if variant[0] or variant[1].get("type") not in ("null", ["null"])]
    if len(others) == 1:
        return others[0]
    if others and all(kinds == {"string"} for kinds, _ in others):
        return {"string"}, {}  # a date, or any other text
    return set(), {}


def _object(json_schema: Mapping[str, Any], choices: TypeChoices) -> Column:
    properties = json_schema.get("properties")
    if not isinstance(properties, dict) or not properties or "" in properties:
        return JSON_TEXT
    columns = {name: column(each, choices) for name, each in properties.items()}
    builder = SchemaBuilder.struct().optional()
    for name, each in columns.items():
        builder.field(name, each.schema)
    schema = builder.build()
    return Column(schema, lambda value: struct_of(schema, columns, value))


def struct_of(schema: Schema, columns: Mapping[str, Column], value: Any) -> Struct:
    """Return a struct of the ``columns`` of an object; what it lacks is null. Raise DataError naming the field."""
    if not isinstance(value, dict):
        raise DataError("it is no object")
    return Struct.of_valid(schema, [_field_value(name, each, value.get(name)) for name, each in columns.items()])


def _field_value(name: str, field: Column, value: Any) -> Any:
    if value is None:
        return None
    try:
        return field.convert(value)
    except (DataError, TypeError, ValueError, ArithmeticError) as error:
        shown = json_text(value)[:_SHOWN]
        reason = error if isinstance(error, DataError) else f"it is no {_noun(field.schema)}"
        raise DataError(f"field '{name}' with the value {shown}: {reason}") from error


def _noun(schema: Schema) -> str:
    return schema.name.rpartition(".")[2] if schema.name else schema.type.value


def _array(element: Column) -> Column:
    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise DataError("it is no array")
        return [None if each is None else element.convert(each) for each in value]

    return Column(SchemaBuilder.array(element.schema).optional().build(), convert)


def _string(form: Any) -> Column:
    match form:
        case "date-time":
            return Column(Schema.OPTIONAL_TIMESTAMP, _timestamp)
        case "date":
            return Column(Schema.OPTIONAL_DATE, _date)
        case "time":
            return Column(Schema.OPTIONAL_TIME, _time)
    return Column(Schema.OPTIONAL_STRING, _text)


def _integer(json_schema: Mapping[str, Any]) -> Column:
    limits = [json_schema.get(name) for name in ("minimum", "maximum")]
    if any(isinstance(limit, int) and not -_INT64 <= limit < _INT64 for limit in limits):
        return _decimal(0)
    return Column(Schema.OPTIONAL_INT64, _int)


def _decimal(places: int) -> Column:
    exponent = Decimal(1).scaleb(-places)

    def convert(value: Any) -> Decimal:
        try:
            return _number(value).quantize(exponent, context=_EXACT)
        except decimal.Inexact as error:
            raise DataError(f"it has more than {places} places") from error

    return Column(SchemaBuilder.decimal(places).optional().build(), convert)


def _places(multiple: Any) -> int | None:
    """Return n for a ``multipleOf`` of 10^-n, else None."""
    if isinstance(multiple, bool) or not isinstance(multiple, (int, Decimal)) or multiple <= 0:
        return None
    _, digits, exponent = Decimal(multiple).normalize(_EXACT).as_tuple()
    if digits != (1,) or not isinstance(exponent, int) or not -_MOST_PLACES <= exponent <= 0:
        return None
    return -exponent


def _number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise DataError("it is no number")
    return Decimal(value)


def _int(value: Any) -> int:
    if type(value) is not int:
        number = _number(value)
        value = int(number)
        if value != number:
            raise DataError("it is no integer")
    if not -_INT64 <= value < _INT64:
        raise DataError("it does not fit into 64 bits")
    return int(value)


def _float(value: Any) -> float:
    return value if isinstance(value, float) else float(_number(value))  # NaN and infinity are floats


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise DataError("it is no boolean")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _timestamp(value: Any) -> datetime.datetime:
    parsed = datetime.datetime.fromisoformat(value)
    utc = parsed.replace(tzinfo=datetime.UTC) if parsed.tzinfo is None else parsed.astimezone(datetime.UTC)
    # Connect's timestamps have milliseconds.
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)


def _date(value: Any) -> datetime.date:
    parsed = datetime.datetime.fromisoformat(value)
    if parsed.time() != datetime.time():
        raise DataError("it has a time of day")
    return parsed.date()


def _time(value: Any) -> datetime.time:
    time = datetime.time.fromisoformat(value)
    if time.tzinfo is not None:
        raise DataError("it has a time zone")
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


JSON_TEXT: Final = Column(Schema.OPTIONAL_STRING, json_text)
