# SPDX-License-Identifier: Apache-2.0
"""Converters: between Connect data and the bytes of Kafka records.

Every task has its own instances, made by a constructor without arguments and configured once; their methods are called
on the task's thread. A converter must produce the same bytes for the same data in every process and release: Kafka
partitions and compacts keys by their bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.api.config_def import ConfigDef
from headrace.api.connector import UNDEFINED_VERSION
from headrace.api.headers import Headers
from headrace.api.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


class SchemaAndValue(NamedTuple):
    """A value and its schema; `schema` None means schemaless data. The constant `NULL` means no data at all."""

    schema: Schema | None
    value: Any


NULL = SchemaAndValue(None, None)


class Converter(ABC):
    """A converter of keys or values (Java: `Converter`). Its methods raise DataError for what cannot be converted."""

    def version(self) -> str:
        """Return the version that `GET /connector-plugins` shows; by default undefined."""
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the converter's properties."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:  # noqa: B027
        """Configure by the properties under `key.converter.` or `value.converter.`, prefix removed."""

    @abstractmethod
    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of Connect data; None for a Kafka null."""

    @abstractmethod
    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        """Return the Connect data of bytes, or of a Kafka null."""

    def from_connect_data_with_headers(
        self, topic: str, headers: Headers, schema: Schema | None, value: Any
    ) -> bytes | None:
        """Return the bytes as `from_connect_data` does; may add to `headers`, in place.

        For converters that write headers; the runtime calls it only where it is overridden.
        """
        return self.from_connect_data(topic, schema, value)

    def to_connect_data_with_headers(
        self, topic: str, headers: Mapping[str, bytes | None], value: bytes | None
    ) -> SchemaAndValue:
        """Return the Connect data as `to_connect_data` does; `headers` has the last raw value of each header name.

        For converters that read headers; the runtime calls it only where it is overridden.
        """
        return self.to_connect_data(topic, value)

    def from_connect_columns(
        self, topic: str, schemas: Sequence[Schema | None], values: Sequence[Any]
    ) -> list[bytes | None] | None:
        """Return what `from_connect_data` does, for many rows of a topic; None, the default, for single rows.

        If it raises an exception, the rows are converted one by one.
        """
        return None

    def to_connect_columns(self, topics: Sequence[str], column: Sequence[bytes | None]) -> list[SchemaAndValue] | None:
        """Return what `to_connect_data` does, for many rows; None, the default, for single rows.

        If it raises an exception, the rows are converted one by one.
        """
        return None

    def from_arrow(self, topic: str, column: pa.Array | pa.ChunkedArray) -> list[bytes | None] | None:
        """Return the bytes of a whole column, one entry per row; None if this converter needs single rows for it.

        Called once per batch for tasks that poll Arrow tables, in place of `from_connect_data` for every row. The bytes
        must equal those of the single rows. Not in Java.
        """
        return None

    def from_arrow_with_schema(self, topic: str, schema: Schema, column: pa.Array) -> list[bytes | None] | None:
        """Return the bytes of a column as `from_arrow`, of data that transformations have made; None for single rows.

        All rows, null ones too, have `schema`. By default this is `from_arrow` where that says the same.
        """
        from headrace.api.arrow import schema_of

        if column.null_count or schema != schema_of(column.type, "value"):
            return None
        return self.from_arrow(topic, column)

    def to_arrow(self, topic: str, column: pa.Array) -> pa.Array | None:
        """Return the Connect data of a whole column of binary; None if this converter needs single rows for it.

        Called once per batch for tasks that take Arrow tables, in place of `to_connect_data` for every row. The result
        must equal that of the single rows; after an error the runtime converts row by row to find the bad one. Not in
        Java.
        """
        return None

    def close(self) -> None:  # noqa: B027
        """Release all resources. Called once, last."""


class HeaderConverter(ABC):
    """A converter of header values (Java: `HeaderConverter`). Methods raise DataError for what they cannot convert."""

    def version(self) -> str:
        """Return the version that `GET /connector-plugins` shows; by default undefined."""
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the converter's properties."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027
        """Configure by the properties under `header.converter.`, prefix removed. Called once, first."""

    @abstractmethod
    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of the header named `key`."""

    @abstractmethod
    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
        """Return the Connect data of the header named `key`."""

    def close(self) -> None:  # noqa: B027
        """Release all resources. Called once, last."""
