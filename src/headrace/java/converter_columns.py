# SPDX-License-Identifier: Apache-2.0
"""A Java converter's calls for whole columns, within the JVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

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

WORTH_COLUMNS: Final = 20
"""Rows of which columns take less time than each row by itself."""


class ConverterColumns:
    """Converts columns; an error is raised without its row, which is found row by row. Task's thread only."""

    def __init__(self, converter: HeldInstance) -> None:
        def to_bytes(topics: Cell, schemas: Cell, values: Cell) -> Handle:
            arguments = topics.element(), schemas.element(), values.element()
            return caught(of_same(converter.handle("fromConnectData", 3), *arguments))

        def to_data(topics: Cell, column: Cell) -> Handle:
            data = of_same(converter.handle("toConnectData", 2), topics.element(), column.element())
            return caught(after(data, or_else(java_class("org.apache.kafka.connect.data.SchemaAndValue").NULL)))

        self._to_bytes = RowFunction(to_bytes, OBJECTS, OBJECTS, OBJECTS)
        self._to_data = RowFunction(to_data, OBJECTS, OBJECTS)

    def to_bytes(self, topic: str, schemas: Sequence[Schema | None], values: Sequence[Any]) -> list[bytes | None]:
        """Return the bytes of each row's data. Raise DataError if one fails."""
        columns = java_columns(schemas, values)
        with java_errors():
            return bytes_column(
                _list(self._to_bytes(len(values), java_column(Schema.STRING, [topic] * len(values)), *columns))
            )

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
