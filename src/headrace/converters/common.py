# SPDX-License-Identifier: Apache-2.0
"""Common parts of the built-in converters: `converter.type`, columns of text and bytes, generated functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from headrace.api.arrow import decoded, logical_type
from headrace.api.arrow_records import data_values
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.schema import Schema
from headrace.api.validators import ValidString

if TYPE_CHECKING:
    import pyarrow as pa

TYPE_CONFIG: Final = "converter.type"


def converter_config_def() -> ConfigDef:
    """Return the definition of the property that every converter has: keys, values or headers."""
    return ConfigDef().define(
        TYPE_CONFIG,
        Type.STRING,
        importance=Importance.LOW,
        validator=ValidString("key", "value", "header"),
        doc="How this converter is used: key, value or header. Set by the runtime.",
    )


def is_text(kind: pa.DataType) -> bool:
    """Return True if an Arrow type, encoded or not, is text."""
    return str(logical_type(kind)) in _BYTES_OF_TEXT


def is_bytes(kind: pa.DataType) -> bool:
    """Return True if an Arrow type, encoded or not, is bytes."""
    kind = logical_type(kind)
    return str(kind) in _BYTES_OF_TEXT.values() or str(kind).startswith("fixed_size_binary")


def column_bytes(column: pa.Array | pa.ChunkedArray) -> list[bytes | None]:
    """Return a column of text (as UTF-8) or bytes as Python bytes; rows with one dictionary entry share one object."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        return [value for chunk in chunks for value in _dictionary_bytes(chunk)]
    column = decoded(column)
    # No copy: the same buffers with another type, whose values become bytes without an intermediate str.
    values: list[bytes | None] = column.cast(_BYTES_OF_TEXT.get(str(column.type), column.type)).to_pylist()
    return values


def _dictionary_bytes(chunk: pa.DictionaryArray) -> list[bytes | None]:
    entries = column_bytes(chunk.dictionary)
    return [None if index is None else entries[index] for index in chunk.indices.to_pylist()]


def single_values(
    convert: Callable[[str, Schema, Any], bytes | None], topic: str, schema: Schema, column: pa.Array
) -> list[bytes | None]:
    """Return the bytes that `convert` makes of each value of a column."""
    return [convert(topic, schema, value) for value in data_values(schema, column)]


_BYTES_OF_TEXT: Final = {"string": "binary", "large_string": "large_binary", "string_view": "binary_view"}


def function_of_value(body: Sequence[str], variables: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return a function of `value` with this body, one statement per line, with `variables` as its globals.

    Generated as `dataclasses` does: a loop over a struct's fields takes twice the time. `body` may contain positions of
    fields, but no text of users: names, functions and schemas are passed as variables. So no text of a schema, which
    may come with the data, is ever executed.
    """
    namespace = dict(variables)
    exec("\n ".join(["def function(value):", *body]), namespace)
    return namespace["function"]  # type: ignore[no-any-return]
