# SPDX-License-Identifier: Apache-2.0
"""Connect data as Arrow columns: the reverse of `arrow_records`."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from headrace.api.errors import DataError
from headrace.api.logical import from_logical, schema_scale
from headrace.api.record import ConnectRecord
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Struct, Type

if TYPE_CHECKING:
    import pyarrow as pa

R = TypeVar("R", bound=ConnectRecord)

_UNKNOWN: Final[Any] = object()
_DECIMAL_DIGITS: Final = 38
"""The precision of Spark's decimals."""
_NAMES: Final = {
    Type.INT8: "int8",
    Type.INT16: "int16",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float32",
    Type.FLOAT64: "float64",
    Type.BOOLEAN: "bool_",
    Type.STRING: "string",
    Type.BYTES: "binary",
}


def column_of(schema: Schema | None, values: Sequence[Any], name: str) -> pa.Array:
    """Return an Arrow column of values of one schema, nulls among them; values without a schema become JSON.

    Raise DataError, naming the column, for values that have no Arrow or JSON form.
    """
    import pyarrow as pa

    kind, plain = (pa.string(), json_text) if schema is None else (arrow_type(schema), _plain(schema))
    try:
        if plain is _identity:
            return pa.array(values, kind)
        return pa.array([None if value is None else plain(value) for value in values], kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, AttributeError) as error:
        raise DataError(f"A {name} of {schema} does not fit {kind}: {error}") from error


def runs_of_one_type(records: Sequence[R]) -> list[Sequence[R]]:
    """Split records into runs that fit one table: all keys of one schema, and all values; nulls fit any schema."""
    runs: list[Sequence[R]] = []
    start, key, value = 0, _UNKNOWN, _UNKNOWN
    for index, record in enumerate(records):
        key_here = _UNKNOWN if record.key is None else record.key_schema
        value_here = _UNKNOWN if record.value is None else record.value_schema
        if _differ(key, key_here) or _differ(value, value_here):
            runs.append(records[start:index])
            start, key, value = index, key_here, value_here
        key = key if key_here is _UNKNOWN else key_here
        value = value if value_here is _UNKNOWN else value_here
    if start < len(records):
        runs.append(records[start:])
    return runs


def _differ(before: object, here: object) -> bool:
    return before is not _UNKNOWN and here is not _UNKNOWN and before is not here and before != here


def json_text(value: Any) -> str:
    """Return data without a schema as JSON. Raise DataError for data that JSON has no form for.

    Dates, times and timestamps are text as in ISO 8601, decimals text with all their digits, bytes base64: Spark reads
    them as such types again.
    """
    try:
        return json.dumps(value, separators=(",", ":"), default=_no_json)
    except ValueError as error:
        raise DataError(f"A value without a schema cannot become JSON: {error}") from error


def _no_json(value: object) -> Any:
    if isinstance(value, Struct):
        return {field.name: value.get_without_default(field.name) for field in value.schema.fields}
    if isinstance(value, datetime.datetime):
        return (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise DataError(f"A value without a schema that holds {type(value).__name__} cannot become JSON")


@lru_cache(maxsize=256)
def arrow_type(schema: Schema) -> pa.DataType:
    """Return the Arrow type for a schema; raise DataError if there is none.

    A time of day is int32, milliseconds since midnight, since Spark has no type for it. Optional fields and elements
    are nullable, others are not.
    """
    import pyarrow as pa

    if schema.name == DECIMAL:
        return pa.decimal128(_DECIMAL_DIGITS, schema_scale(schema))
    if schema.name == DATE:
        return pa.date32()
    if schema.name == TIMESTAMP:
        return pa.timestamp("us", "UTC")
    if schema.type is Type.STRUCT:
        return pa.struct([pa.field(each.name, arrow_type(each.schema), each.schema.optional) for each in schema.fields])
    if schema.key_schema is not None and schema.value_schema is not None:
        item = pa.field("value", arrow_type(schema.value_schema), schema.value_schema.optional)
        return pa.map_(arrow_type(schema.key_schema), item)
    if schema.value_schema is not None:
        return pa.list_(pa.field("element", arrow_type(schema.value_schema), schema.value_schema.optional))
    if not schema.type.is_primitive:
        raise DataError(f"A schema of type {schema.type.name} without schemas of its elements has no column type")
    made: pa.DataType = getattr(pa, _NAMES[schema.type])()
    return made


def _identity(value: Any) -> Any:
    return value


@lru_cache(maxsize=256)
def _plain(schema: Schema) -> Callable[[Any], Any]:
    """Return the function from Connect data of a schema, never None, to the value that pyarrow takes for its type."""
    if schema.name == TIME:
        return lambda value: from_logical(schema, value)
    if schema.type is Type.STRUCT:
        fields = [(each.name, each.schema.default, _optional(_plain(each.schema))) for each in schema.fields]
        return lambda struct: {
            name: plain(default if value is None else value)
            for (name, default, plain), value in zip(fields, struct.field_values, strict=True)
        }
    if schema.key_schema is not None and schema.value_schema is not None:
        to_key, to_value = _plain(schema.key_schema), _optional(_plain(schema.value_schema))
        return lambda value: [(to_key(key), to_value(entry)) for key, entry in value.items()]
    if schema.value_schema is not None:
        element = _optional(_plain(schema.value_schema))
        return lambda value: [element(entry) for entry in value]
    return _identity


def _optional(plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return plain if plain is _identity else lambda value: None if value is None else plain(value)
