# SPDX-License-Identifier: Apache-2.0
"""ByteArrayConverter: bytes unchanged (Java: `org.apache.kafka.connect.converters.ByteArrayConverter`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef
from headrace.api.converter import Converter, HeaderConverter, SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.schema import Schema, Type
from headrace.converters.common import column_bytes, converter_config_def, is_bytes

if TYPE_CHECKING:
    import pyarrow as pa


class ByteArrayConverter(Converter, HeaderConverter):
    """A converter that passes bytes through; anything else is a DataError. The schema read is optional bytes."""

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return converter_config_def()

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        """Do nothing: there are no settings."""

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        if value is None or value.__class__ is bytes:
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise DataError(f"ByteArrayConverter is not compatible with objects of type {type(value).__name__}")

    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(Schema.OPTIONAL_BYTES, value)

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, value)

    def from_arrow(self, topic: str, column: pa.Array | pa.ChunkedArray) -> list[bytes | None] | None:
        """Return the bytes of a column of bytes; None for other columns."""
        return column_bytes(column) if is_bytes(column.type) else None

    def from_arrow_with_schema(self, topic: str, schema: Schema, column: pa.Array) -> list[bytes | None] | None:
        """Return the bytes as `from_arrow`: the schema adds nothing."""
        return self.from_arrow(topic, column)

    def to_arrow(self, topic: str, column: pa.Array) -> pa.Array | None:
        """Return the column unchanged."""
        return column
