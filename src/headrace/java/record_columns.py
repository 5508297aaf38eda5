# SPDX-License-Identifier: Apache-2.0
"""Contents of a list of Java's records as Python's, column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import repeat
from types import SimpleNamespace
from typing import Any, Final

from headrace.api.headers import Header, Headers
from headrace.java import record_functions
from headrace.java.arrays import python_numbers, text_column
from headrace.java.columns_to_python import python_column
from headrace.java.errors import java_errors
from headrace.java.functions import after, as_interface, method, with_values
from headrace.java.kinds import by_kind
from headrace.java.to_python import python_schema

_CONNECT: Final = "org.apache.kafka.connect"
_DATA: Final = f"{_CONNECT}.data.SchemaAndValue"
_HEADER: Final = f"{_CONNECT}.header.Header"
_ITERABLE: Final = "java.lang.Iterable"
_STREAMS: Final = "java.util.stream.StreamSupport"


def column_contents(records: Any) -> Iterator[tuple[Any, ...]]:
    """Yield what `contents` returns, for each record of a Java list.

    Raise ConnectError, mostly DataError, if Python cannot hold what is in one: which one is not said.
    """
    parts = _functions()
    with java_errors():
        return zip(
            python_column(None, records.stream().map(parts.topic).toList()),
            record_functions.kafka_partitions(records) or repeat(None),
            *_schemas_and_values(records, *parts.key),
            *_schemas_and_values(records, *parts.value),
            record_functions.timestamps(records) or repeat(None),
            _headers(records) if record_functions.have_headers(records) else repeat(None),
            strict=False,
        )


def data_columns(data: Any) -> tuple[list[Any], list[Any]]:
    """Return the schemas and the values of a Java list of `SchemaAndValue`, none of which is null."""
    return _schemas_and_values(data, *_functions().data)


def _schemas_and_values(elements: Any, schema_of: Any, value: Any) -> tuple[list[Any], list[Any]]:
    def convert_of(schema: Any) -> Callable[[Any], list[Any]]:
        ours = python_schema(schema)

        def convert(part: Any) -> list[Any]:
            return [(ours, each) for each in python_column(schema, part.stream().map(value).toList())]

        return convert

    pairs = by_kind(elements, schema_of, convert_of)
    return [schema for schema, _ in pairs], [value for _, value in pairs]


def _headers(records: Any) -> list[Headers | None]:
    parts = _functions()
    all_headers = records.stream().map(parts.headers).toList()
    sizes = python_numbers("i", all_headers.stream().mapToInt(parts.size).toArray())
    flat = all_headers.stream().flatMap(parts.each_header).toList()
    names = text_column(flat.stream().map(parts.name).toList())
    schemas, values = _schemas_and_values(flat, *parts.header)
    made = map(Header, names, values, schemas)
    return [Headers(next(made) for _ in range(size)) if size else None for size in sizes]


@cache
def _functions() -> SimpleNamespace:
    record = record_functions.RECORD
    spliterator = method(_ITERABLE, "spliterator")
    stream = method(_STREAMS, "stream", "java.util.Spliterator", "boolean")
    return SimpleNamespace(
        data=_parts(_DATA, "schema", "value"),
        each_header=as_interface("Function", after(spliterator, with_values(stream, {1: False}))),
        header=_parts(_HEADER, "schema", "value"),
        headers=as_interface("Function", method(record, "headers")),
        key=_parts(record, "keySchema", "key"),
        name=as_interface("Function", method(_HEADER, "key")),
        size=as_interface("ToIntFunction", method(f"{_CONNECT}.header.Headers", "size")),
        topic=as_interface("Function", method(record, "topic")),
        value=_parts(record, "valueSchema", "value"),
    )


def _parts(owner: str, schema: str, value: str) -> tuple[Any, Any]:
    return method(owner, schema), as_interface("Function", method(owner, value))
