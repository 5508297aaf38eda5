# SPDX-License-Identifier: Apache-2.0
"""Converters: between Connect data and the bytes of Kafka records.

Every task has instances of its own, made by a constructor without arguments and configured once; their methods are
called on the task's thread. The same bytes must come of the same data, in every process and release: keys are
partitioned and compacted by them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.api.config_def import ConfigDef
from headrace.api.connector import UNDEFINED_VERSION
from headrace.api.headers import Headers
from headrace.api.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa


class SchemaAndValue(NamedTuple):
    """A value and its schema; schema None is schemaless data. `NULL` is the absence of data."""

    schema: Schema | None
    value: Any


NULL = SchemaAndValue(None, None)


class Converter(ABC):
    """Converts keys or values (Java: `Converter`). DataError for data or bytes that cannot be converted."""

    def version(self) -> str:
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """The properties that this converter understands."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:  # noqa: B027
        """Take the properties under `key.converter.` or `value.converter.`, prefix removed. Called once, first."""

    @abstractmethod
    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Connect data to bytes; None stands for a Kafka null."""

    @abstractmethod
    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        """Bytes, or a Kafka null, to Connect data."""

    def from_connect_data_with_headers(
        self, topic: str, headers: Headers, schema: Schema | None, value: Any
    ) -> bytes | None:
        """As `from_connect_data`, for converters that write headers: `headers` may be changed in place.

        The runtime calls this only where it is overridden.
        """
        return self.from_connect_data(topic, schema, value)

    def to_connect_data_with_headers(
        self, topic: str, headers: Mapping[str, bytes | None], value: bytes | None
    ) -> SchemaAndValue:
        """As `to_connect_data`, for converters that read headers: the last raw value of each header name.

        The runtime calls this only where it is overridden.
        """
        return self.to_connect_data(topic, value)

    def from_arrow(self, topic: str, column: pa.Array | pa.ChunkedArray) -> list[bytes | None] | None:
        """A whole column to bytes, one entry per row; None for "no columnar path here, give me rows".

        Called once per batch for tasks that poll Arrow tables, in place of `from_connect_data` for every row. It must
        give the very bytes that the rows would.
        """
        return None

    def to_arrow(self, topic: str, column: pa.Array) -> pa.Array | None:
        """A whole column of binary to Connect data; None for "no columnar path here, take rows".

        Called once per batch for tasks that take Arrow tables, in place of `to_connect_data` for every row. It must
        give what the rows would; an error makes the rows be tried, to find the one that is to blame.
        """
        return None

    def close(self) -> None:  # noqa: B027
        """Release everything. Called once, last."""


class HeaderConverter(ABC):
    """Converts the values of record headers (Java: `HeaderConverter`). DataError for what cannot be converted."""

    def version(self) -> str:
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """The properties that this converter understands."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:  # noqa: B027
        """Take the properties under `header.converter.`, prefix removed. Called once, first."""

    @abstractmethod
    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes of the header named `key`."""

    @abstractmethod
    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
        """The Connect data of the header named `key`."""

    def close(self) -> None:  # noqa: B027
        """Release everything. Called once, last."""
