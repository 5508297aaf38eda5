# SPDX-License-Identifier: Apache-2.0
"""A parser of headers' text into values with schemas (Java: `Values.parseString`)."""

from __future__ import annotations

import decimal
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace.api.converter import NULL, SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.java_text import to_float32
from headrace.api.logical import scale_of
from headrace.api.schema import DATE, INTEGER_BITS, TIME, TIMESTAMP, Schema, Type
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.values_moments import parse_moment, to_date, to_time, to_timestamp
from headrace.api.values_numbers import (
    LONG_MAX,
    LONG_MIN,
    as_double,
    as_long,
    big_decimal,
    nearest_float32,
)

MAX_NESTING: Final = 100
_SPACE: Final = "".join(map(chr, range(33)))  # the characters that Java's trim removes
# A delimiter is a token of its own unless a backslash precedes it; the backslash stays in the token.
_TOKEN: Final = re.compile(r'[:,{}\[\]"]|(?:[^\\:,{}\[\]"]|\\.?)++', re.DOTALL)
_INTEGERS: Final = tuple((Schema(kind), 1 << (bits - 1)) for kind, bits in INTEGER_BITS.items())
_SURE_DIGITS: Final = 19  # fewer digits always fit into 64 bits
_LITERALS: Final[Mapping[str, SchemaAndValue]] = {
    "null": NULL,
    "true": SchemaAndValue(Schema.BOOLEAN, True),
    "false": SchemaAndValue(Schema.BOOLEAN, False),
}
# In the order of widening; the common type of two numbers is the one further to the right.
_NUMBERS: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


def parse_string(text: str | None) -> SchemaAndValue:
    """Return the value that `text` represents, with its schema; `NULL` for None and for the word null. Never raises.

    Tried in this order: null, true, false; array and map, nested up to `MAX_NESTING` deep; date, time and timestamp;
    the narrowest number. Any other text, and values beyond Python's types, are strings. As in Java, a leading part is
    enough (`1,000` is the int8 1, `[1,2] x` an array), arrays with null beside other values are strings, and
    backslashes stay in quoted strings.
    """
    if text is None:
        return NULL
    start = text.strip(_SPACE)
    if start in _LITERALS:
        return _LITERALS[start]
    if not start or (start[0] not in "[{+-" and not start[0].isdecimal()):
        return SchemaAndValue(Schema.STRING, text)
    tokens: list[str] = _TOKEN.findall(text)
    try:
        return _Parser(tokens).parse() or SchemaAndValue(Schema.STRING, text)
    except DataError:
        # Java keeps only the blanks before a bracket that does not match.
        return SchemaAndValue(Schema.STRING, text if tokens[0].strip(_SPACE) else tokens[0])


class _Parser:
    """A parser of the tokens of one text. Inside arrays and maps it raises DataError for tokens that do not fit."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._stripped = [token.strip(_SPACE) for token in tokens]
        self._position = 0
        self._depth = 0

    def parse(self) -> SchemaAndValue | None:
        """Return the array, map, moment or number that the text begins with; None if it is a plain string."""
        return self._container() or self._scalar()

    def _element(self) -> SchemaAndValue:
        """Return the next value inside an array or map."""
        token = self._peek()
        if token is None:
            return NULL
        if token in _LITERALS:
            self._position += 1
            return _LITERALS[token]
        found = self._quoted() if self._accept('"') else self._container() or self._scalar()
        if found is None:
            raise DataError("Failed to parse embedded value")
        return found

    def _container(self) -> SchemaAndValue | None:
        read = self._array if self._accept("[") else self._map if self._accept("{") else None
        if read is None:
            return None
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise DataError(f"Nested more than {MAX_NESTING} deep")
        found = read()
        self._depth -= 1
        return found

    def _array(self) -> SchemaAndValue:
        values: list[Any] = []
        common = _CommonSchema()
        while not self._accept("]"):
            if self._accept(","):
                raise DataError("Unable to parse an empty array element")
            schema, value = self._element()
            common.add(schema)
            values.append(value)
            if not self._accept(",") and self._peek() != "]":
                raise DataError("Array elements missing ',' delimiter")
        return SchemaAndValue(_array_schema(common.schema), _aligned(common.schema, values))

    def _map(self) -> SchemaAndValue:
        entries = _Entries()
        while not self._accept("}"):
            if self._accept(","):
                raise DataError("Unable to parse a map entry with no key or value")
            key = self._element()
            if key.value is None:
                raise DataError("Map entry may not have a null key")
            if not self._accept(":"):
                raise DataError("Map entry is missing ':'")
            entries.put(key, self._element())
            self._accept(",")
        return entries.result()

    def _quoted(self) -> SchemaAndValue:
        parts: list[str] = []
        while self._position < len(self._tokens) and not self._accept('"'):
            parts.append(self._tokens[self._position])
            self._position += 1
        content = "".join(parts)
        return parse_moment(content) or SchemaAndValue(Schema.STRING, content)

    def _scalar(self) -> SchemaAndValue | None:
        """Return the next token as a moment or number; None if it is neither."""
        token = self._stripped[self._position]
        self._position += 1
        if not token:
            return SchemaAndValue(Schema.STRING, self._tokens[self._position - 1])
        digit = token[0].isdecimal()
        if digit:
            moment = self._moment(token)
            if moment is not None:
                return moment
        return _number(token) if digit or token[0] in "+-" else None

    def _moment(self, token: str) -> SchemaAndValue | None:
        # The colons of a time are separate tokens: 14 : 34 : 54.346Z are five.
        rest = self._tokens[self._position : self._position + 4]
        if len(rest) == 4 and (rest[0] == ":" or "\\" in token):
            moment = parse_moment(token + "".join(rest))
            if moment is not None:
                self._position += 4
                return moment
        return parse_moment(token)

    def _accept(self, expected: str) -> bool:
        """Skip `expected` if it comes next, and return True."""
        found = self._peek() == expected
        self._position += found
        return found

    def _peek(self) -> str | None:
        """Skip blanks, also inside quotes as Java does, and return the next token; None at the end."""
        last = len(self._tokens) - 1
        if self._position > last:
            return None
        while self._position < last and not self._stripped[self._position]:
            self._position += 1
        return self._stripped[self._position]


class _CommonSchema:
    """The common schema of all elements: numbers widen, other types must be equal; None if there is none."""

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self._compatible = True

    def add(self, schema: Schema | None) -> None:
        """Add the schema of one more element; None, the schema of null, changes nothing."""
        if schema is None or not self._compatible:
            return
        self.schema = schema if self.schema is None else _wider(self.schema, schema)
        self._compatible = self.schema is not None


class _Entries:
    """The entries of a map being read."""

    def __init__(self) -> None:
        self._map: dict[Any, Any] = {}
        self._keys: set[tuple[type, Any]] = set()
        self._key_schema = _CommonSchema()
        self._value_schema = _CommonSchema()

    def put(self, key: SchemaAndValue, value: SchemaAndValue) -> None:
        if isinstance(key.value, (list, dict)):
            raise DataError("Python has no maps with arrays or maps as keys")
        kind = (type(key.value), key.value)
        if key.value in self._map and kind not in self._keys:
            raise DataError(f"Two keys that are one to Python: {key.value!r}")
        self._keys.add(kind)
        self._map[key.value] = value.value
        self._key_schema.add(key.schema)
        self._value_schema.add(value.schema)

    def result(self) -> SchemaAndValue:
        key_schema, value_schema = self._key_schema.schema, self._value_schema.schema
        if key_schema is None:
            value_schema = None
        keys, values = _aligned(key_schema, list(self._map)), _aligned(value_schema, list(self._map.values()))
        return SchemaAndValue(_map_schema(key_schema, value_schema), dict(zip(keys, values, strict=True)))


# Cached: most headers have one of a few schemas.
@functools.lru_cache(64)
def _array_schema(element: Schema | None) -> Schema:
    return Schema(Type.ARRAY, value_schema=element)


@functools.lru_cache(64)
def _map_schema(key: Schema | None, value: Schema | None) -> Schema:
    return Schema(Type.MAP, key_schema=key, value_schema=value)


def _wider(one: Schema, other: Schema) -> Schema | None:
    if one.type is other.type:
        return other
    if one.type in _NUMBERS and other.type in _NUMBERS:
        return max(one, other, key=lambda schema: _NUMBERS.index(schema.type))
    return None


def _number(token: str) -> SchemaAndValue | None:
    if len(token) < _SURE_DIGITS and token.isdecimal() and token.isascii():
        return _narrowest(int(token))
    number = big_decimal(token)
    if number is None:
        return None
    integer = _integer(number)
    if integer is not None:
        return _narrowest(integer)
    scale = scale_of(number)
    for schema, value in ((Schema.FLOAT32, nearest_float32(number)), (Schema.FLOAT64, float(number))):
        if scale != 0 and abs(value) != float("inf"):
            return SchemaAndValue(schema, value)
    return SchemaAndValue(SchemaBuilder.decimal(scale).build(), number)


def _narrowest(integer: int) -> SchemaAndValue:
    return SchemaAndValue(next(kind for kind, limit in _INTEGERS if -limit <= integer < limit), integer)


def _integer(number: decimal.Decimal) -> int | None:
    """Return the 64-bit integer that a decimal equals, else None; fast for any exponent."""
    if not number:
        return 0
    if not 0 <= number.adjusted() <= 18 or number != number.to_integral_value():
        return None
    integer = int(number)
    return integer if LONG_MIN <= integer <= LONG_MAX else None


_ALIGN: Final[Mapping[Any, Callable[[Any], Any]]] = {
    DATE: lambda value: to_date(None, value),
    TIME: lambda value: to_time(None, value),
    TIMESTAMP: lambda value: to_timestamp(None, value),
    **{kind: lambda value: as_long(None, value) for kind in INTEGER_BITS},
    Type.FLOAT32: lambda value: to_float32(as_double(None, value)),
    Type.FLOAT64: lambda value: as_double(None, value),
}


def _aligned(schema: Schema | None, values: list[Any]) -> list[Any]:
    """Convert elements to their common schema, if any. Raise DataError for one that does not fit: null never does."""
    if schema is None:
        return values
    if None in values:
        raise DataError("Unable to convert a null value to a schema that requires a value")
    align = _ALIGN.get(schema.name) or _ALIGN.get(schema.type)
    return values if align is None else [align(value) for value in values]
