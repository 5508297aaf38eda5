# SPDX-License-Identifier: Apache-2.0
"""A Java converter's calls for whole columns, within the JVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from headrace.api.converter import SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.schema import Schema
from headrace.java.arrays import bytes_column
from headrace.java.columns_to_java import java_column, java_columns
from headrace.java.errors import java_errors
from headrace.java.functions import Cell, Handle, after, as_interface, caught, method, of_same, or_else
from headrace.java.instances import HeldInstance
from headrace.java.jvm import java_class
from headrace.java.record_columns import data_columns
from headrace.java.row_functions import OBJECTS, RowFunction


class ConverterColumns:
    """Converts columns; an error is raised without its row, which is found row by row. Task's thread only."""

    def __init__(self, converter: HeldInstance) -> None:
        self._converter = converter

    @cached_property
    def _to_bytes(self) -> RowFunction:
        def make(topics: Cell, schemas: Cell, values: Cell) -> Handle:
            arguments = topics.element(), schemas.element(), values.element()
            return caught(of_same(self._converter.handle("fromConnectData", 3), *arguments))

        return RowFunction(make, OBJECTS, OBJECTS, OBJECTS)

    @cached_property
    def _to_data(self) -> RowFunction:
        def make(topics: Cell, column: Cell) -> Handle:
            data = of_same(self._converter.handle("toConnectData", 2), topics.element(), column.element())
            return caught(after(data, or_else(java_class("org.apache.kafka.connect.data.SchemaAndValue").NULL)))

        return RowFunction(make, OBJECTS, OBJECTS)

    def to_bytes(self, topic: str, schemas: Sequence[Schema | None], values: Sequence[Any]) -> list[bytes | None]:
        """Return the bytes of each row's data. Raise DataError if one fails."""
        topics, columns = java_column(Schema.STRING, [topic] * len(values)), java_columns(schemas, values)
        with java_errors():
            return bytes_column(_list(self._to_bytes(len(values), topics, *columns)))

    def to_data(self, topics: Sequence[str], column: Sequence[bytes | None]) -> list[SchemaAndValue]:
        """Return the data of each row's bytes. Raise DataError if one fails."""
        with java_errors():
            data = self._to_data(len(column), java_column(Schema.STRING, topics), java_column(Schema.BYTES, column))
            schemas, values = data_columns(_list(data))
        return list(map(SchemaAndValue, schemas, values))


def _list(results: Any) -> Any:
    """Return results as a Java list. Raise DataError if one is what the converter has thrown."""
    arrays = java_class("java.util.Arrays")
    if arrays.stream(results).anyMatch(_is_thrown()):
        raise DataError("The converter has thrown an exception for one of the rows")
    return arrays.asList(results)


@cache
def _is_thrown() -> Any:
    thrown = java_class("java.lang.Throwable").class_
    return as_interface("Predicate", method("java.lang.Class", "isInstance", "java.lang.Object").bindTo(thrown))
