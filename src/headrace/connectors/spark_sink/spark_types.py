# SPDX-License-Identifier: Apache-2.0
"""Names of Spark's types, as in its DDL: of Arrow's types, and of the fields in a DDL. Pure, and without Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from headrace.api.frame_json import quoted

_SIMPLE: Final = {
    pa.null(): "VOID",
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.large_string(): "STRING",
    pa.binary(): "BINARY",
    pa.large_binary(): "BINARY",
    pa.date32(): "DATE",
}
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*")
_STRUCT: Final = re.compile(r"\s*STRUCT\s*<(.*)>\s*", re.IGNORECASE | re.DOTALL)
_TOKEN: Final = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|.", re.DOTALL)
"""A quoted name or text, which may hold a comma that separates no fields, or one character."""
_FIELD: Final = re.compile(r"\s*(?:`((?:[^`]|``)*)`|(\w+))(?:\s*:\s*|\s+)([A-Za-z].*)", re.DOTALL)


def spark_type(kind: pa.DataType) -> str:
    """Return the type that Spark makes of an Arrow type; the Arrow type's own name if it makes none."""
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{column_name(each.name)}: {spark_type(each.type)}' for each in kind)}>"
    if pa.types.is_map(kind):
        return f"MAP<{spark_type(kind.key_type)}, {spark_type(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"ARRAY<{spark_type(kind.value_type)}>"
    return str(kind)


def column_name(name: str) -> str:
    """Return a name as in DDL, quoted if it has to be."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def ddl_fields(ddl: str) -> Sequence[tuple[str, str]] | None:
    """Return names and types of a DDL's fields; None if it has none, as that of an array."""
    struct = _STRUCT.fullmatch(ddl)
    found = [_FIELD.fullmatch(each) for each in _split(struct[1] if struct else ddl)]
    fields = [
        (field[2] if field[1] is None else field[1].replace("``", "`"), field[3].strip()) for field in found if field
    ]
    return fields if len(fields) == len(found) else None


def _split(ddl: str) -> Iterator[str]:
    """Split at the commas that are in no brackets, quoted names or texts."""
    depth, part = 0, ""
    for token in _TOKEN.findall(ddl):
        depth += (token in "<(") - (token in ">)")
        if token == "," and not depth:
            yield part
            part = ""
        else:
            part += token
    yield part
