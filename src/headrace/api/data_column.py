# SPDX-License-Identifier: Apache-2.0
"""Columns in the place of values: the data of many records in one record, for `Transformation.columnwise`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from headrace.api.errors import DataError
from headrace.api.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Struct, Type

if TYPE_CHECKING:
    import pyarrow as pa


_LOGICAL: Final = frozenset({DECIMAL, DATE, TIME, TIMESTAMP})
_KINDS: Final[Mapping[Type, type]] = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), int),
    **dict.fromkeys((Type.FLOAT32, Type.FLOAT64), float),
    Type.BOOLEAN: bool,
    Type.STRING: str,
}


class DataColumn:
    """The values that all records of a batch have in one place, of one schema. It compares by identity."""

    __slots__ = ("schema", "values")

    def __init__(self, schema: Schema, values: pa.Array) -> None:
        self.schema = schema
        self.values = values

    @property
    def has_nulls(self) -> bool:
        """Return True if at least one record has no value."""
        return bool(self.values.null_count)

    @property
    def kind(self) -> type:
        """The Python type of the values: a number, text or a boolean. DataError for all others."""
        kind = None if self.schema.name in _LOGICAL else _KINDS.get(self.schema.type)
        if kind is None:
            raise DataError(f"a column of {self.schema} has no plain values")
        return kind

    def mapped(self, function: Callable[[Any], Any], schema: Schema) -> DataColumn:
        """Return the column of what `function` makes of each value, None too, as data of `schema`."""
        from headrace.api.arrow_records import data_values

        return DataColumn(schema, array_of(schema, list(map(function, data_values(self.schema, self.values)))))

    def common_quotient(self, divisor: int) -> int:
        """Return what each value becomes when it is divided and rounded down.

        DataError if that is not the same for all, or if there is a null.
        """
        import pyarrow.compute as pc

        ends = pc.min_max(self.values).as_py()
        if self.has_nulls or ends["min"] // divisor != ends["max"] // divisor:
            raise DataError("The values of a column differ")
        return int(ends["min"] // divisor)

    def replaced_by(self, value: Any) -> Any:
        """Return what stands for this column when each value but null becomes `value`."""
        if not self.has_nulls:
            return value
        import pyarrow as pa
        import pyarrow.compute as pc

        return DataColumn(self.schema, pc.if_else(self.values.is_valid(), pa.scalar(value, self.values.type), None))


class StructColumn(Struct):
    """The structs that all records of a batch have in one place; the values of its fields are columns.

    A null struct is null in all fields. `values` are the structs themselves.
    """

    __slots__ = ("values",)
    values: pa.StructArray

    @property
    def has_nulls(self) -> bool:
        """Return True if at least one record has no struct."""
        return bool(self.values.null_count)


def array_of(schema: Schema, values: Sequence[Any]) -> pa.Array:
    """Return an Arrow array of data of a schema. DataError for data that has none."""
    import pyarrow as pa

    from headrace.api.arrow_columns import column_of

    # Where Spark is not concerned, a time of day is more than a number.
    return pa.array(values, pa.time32("ms")) if schema.name == TIME else column_of(schema, values, "value")


def data_column(schema: Schema, values: pa.Array) -> DataColumn | StructColumn:
    """Return the column of an Arrow array of that schema.

    Raise DataError for a struct without fields, or in which a field is null that may not be, or that has a default.
    """
    if schema.type is not Type.STRUCT:
        return DataColumn(schema, values)
    if not schema.fields:
        raise DataError("A struct without fields has no columns")
    columns = values.flatten()
    for field, column in zip(schema.fields, columns, strict=True):
        if column.null_count > values.null_count and not _may_be_null(field.schema):
            raise DataError(f"The column of field {field.name} has a null; it is required, or has a default")
    fields = [data_column(field.schema, column) for field, column in zip(schema.fields, columns, strict=True)]
    made = StructColumn.of_valid(schema, fields)
    assert isinstance(made, StructColumn)
    made.values = values
    return made


def has_nulls(data: Any) -> bool:
    """Return True if `data`, a column or a value that all records share, is None for at least one of them."""
    return data.has_nulls if isinstance(data, (DataColumn, StructColumn)) else data is None


def lacks_values(data: Any) -> bool:
    """Return True if `data` is a struct with a field that is null for a record and may not be, or has a default."""
    if not isinstance(data, Struct) or isinstance(data, StructColumn):
        return False
    return any(
        lacks_values(value) or (has_nulls(value) and not _may_be_null(field.schema))
        for field, value in zip(data.schema.fields, data.field_values, strict=True)
    )


def _may_be_null(schema: Schema) -> bool:
    return schema.optional and schema.default is None
