# SPDX-License-Identifier: Apache-2.0
"""JSON text of Arrow columns, by a few vector operations per field and without objects per record.

The text equals that of `json_writer` for the same values, character by character.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.api.arrow import decoded, millis, schema_of
from headrace.api.schema import Schema
from headrace.converters import json_writer
from headrace.converters.common import is_bytes, is_text
from headrace.converters.json_writer import ToJson, WriterOptions

NEEDS_ESCAPES: Final = r'[\x00-\x1f"\\\x{10000}-\x{10FFFF}]'
"""Characters of text that has to be written value by value."""
_NULL: Final = "null"
_SPACE: Final = 0x20
_QUOTE: Final = 0x22
_ESCAPE: Final = 0x5C
_FOUR_BYTES: Final = 0xF0
"""The least first byte of a character of four bytes in UTF-8."""
_COMMA: Final = b","


def written(column: pa.Array, options: WriterOptions, head: str = "", tail: str = "") -> pa.Array | None:
    """Return the JSON of each row between `head` and `tail`, null for a null row; None as `texts`."""
    column = decoded(column)
    pieces = _pieces(column, options)
    return None if pieces is None else _with_nulls_of(column, _joined([head, *pieces, tail]))


def texts(column: pa.Array, options: WriterOptions) -> pa.Array | None:
    """Return the JSON of each row, null for a null row; None for a column that has to be written row by row.

    That applies to maps, to nulls in required fields, and to the rarest types.
    """
    column = decoded(column)
    kind = column.type
    if is_text(kind):
        return _strings(column)
    if pa.types.is_struct(kind):
        return written(column, options)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(column, options)
    write = _OF_TYPE.get(str(kind)) or _of_family(kind)
    if write is not None:
        return write(column)
    schema = schema_of(kind, "value")
    return _singly(column, schema, options) if schema is not None and _is_single(kind) else None


def _pieces(column: pa.Array, options: WriterOptions) -> list[Any] | None:
    """Return texts and columns of text that, joined, are the JSON of each row; any text for a null row of structs.

    So a row's bytes are copied once, however deep they stand.
    """
    column = decoded(column)
    if pa.types.is_struct(column.type):
        return _of_fields(column, options)
    if is_text(column.type) and not column.null_count:
        column = column.cast(pa.string())
        if not _may_need_escapes(column):
            return ['"', column, '"']
    inner = texts(column, options)
    return None if inner is None else [_filled(inner)]


def _of_fields(column: pa.StructArray, options: WriterOptions) -> list[Any] | None:
    pieces: list[Any] = []
    for field, values in zip(column.type, column.flatten(), strict=True):
        inner = _pieces(values, options)
        # A null struct counts as a null in each of its fields.
        if inner is None or (values.null_count > column.null_count and not field.nullable):
            return None
        if pa.types.is_struct(field.type) and values.null_count:
            inner = [_filled(_with_nulls_of(values, _joined(inner)))]
        name = json_writer.java_json(field.name).decode()
        pieces += [f"{',' if pieces else '{'}{name}:", *inner]
    return [*pieces, "}"] if pieces else None


def _joined(pieces: list[Any]) -> pa.Array:
    merged: list[Any] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    return pc.binary_join_element_wise(*merged, "")


def _strings(column: pa.Array) -> pa.Array:
    column = column.cast(pa.string())
    quoted = pc.binary_join_element_wise('"', column, '"', "")
    if not _may_need_escapes(column):
        return quoted
    special = pc.fill_null(pc.match_substring_regex(column, NEEDS_ESCAPES), False)
    rows = column.filter(special).to_pylist()
    return pc.replace_with_mask(
        quoted, special, pa.array([json_writer.java_json(row).decode() for row in rows], pa.string())
    )


def _may_need_escapes(column: pa.StringArray) -> bool:
    """Return False if no text has a character of `NEEDS_ESCAPES`, by the bytes of all: a tenth of its time."""
    _, offsets, text = column.buffers()
    if text is None or not len(column):
        return False
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    found = np.frombuffer(text, np.uint8)[ends[0] : ends[-1]]
    if not len(found):
        return False
    return bool(
        found.min() < _SPACE or found.max() >= _FOUR_BYTES or (found == _QUOTE).any() or (found == _ESCAPE).any()
    )


def _lists(column: pa.ListArray, options: WriterOptions) -> pa.Array | None:
    entries = column.flatten()
    inner = texts(entries, options)
    if inner is None or (entries.null_count and not column.type.value_field.nullable):
        return None
    lengths = pc.fill_null(pc.list_value_length(column), 0).cast(pa.int32())
    ends = pc.cumulative_sum(lengths)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, _filled(inner)), ",")
    return _with_nulls_of(column, pc.binary_join_element_wise("[", joined, "]", ""))


def _singly(column: pa.Array, schema: Schema, options: WriterOptions) -> pa.Array:
    """Write values that have no comma in their JSON: as one list, which is then split at the commas."""
    write: ToJson = json_writer.json_function(schema, options)
    rows = [None if row is None else write(row) for row in column.to_pylist()]
    written = json_writer.dumps(rows)[1:-1].split(_COMMA) if rows else []
    return _with_nulls_of(column, pa.array(written, pa.binary()).cast(pa.string()))


def _is_single(kind: pa.DataType) -> bool:
    return bool(is_bytes(kind) or pa.types.is_decimal(kind) or str(kind) in ("float", "double"))


def _filled(column: pa.Array) -> pa.Array:
    return pc.fill_null(column, _NULL) if column.null_count else column


def _with_nulls_of(column: pa.Array, written: pa.Array) -> pa.Array:
    return pc.if_else(column.is_valid(), written, None) if column.null_count else written


def _digits(column: pa.Array) -> pa.Array:
    return column.cast(pa.string())


def _of_family(kind: pa.DataType) -> Callable[[pa.Array], pa.Array] | None:
    if pa.types.is_timestamp(kind):
        return lambda column: _digits(millis(column))
    return _digits if pa.types.is_integer(kind) and kind != pa.uint64() else None


_OF_TYPE: Final[dict[str, Callable[[pa.Array], pa.Array]]] = {
    "bool": lambda column: pc.if_else(column, "true", "false"),
    "date32[day]": lambda column: _digits(column.cast(pa.int32())),
    "time32[ms]": lambda column: _digits(column.cast(pa.int32())),
    "time64[us]": lambda column: _digits(pc.divide(column.cast(pa.int64()), 1000)),
}
