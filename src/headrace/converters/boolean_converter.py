# SPDX-License-Identifier: Apache-2.0
"""BooleanConverter: a boolean as one byte, 0 or 1 (Java: `org.apache.kafka.connect.converters.BooleanConverter`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef
from headrace.api.converter import Converter, HeaderConverter, SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.schema import Schema, Type
from headrace.converters.common import converter_config_def, single_values

if TYPE_CHECKING:
    import pyarrow as pa

_BYTES: Final = {True: b"\x01", False: b"\x00"}
_READ: Final = {None: None, b"\x01": True, b"\x00": False}


class BooleanConverter(Converter, HeaderConverter):
    """A converter of booleans; any other value or byte is a DataError. Null stays null; the schema read is optional."""

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return converter_config_def()

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        """Do nothing: there are no settings."""

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        if value is None:
            return None
        if not isinstance(value, bool):
            raise DataError(f"BooleanConverter is not compatible with objects of type {type(value).__name__}")
        return _BYTES[value]

    def from_arrow_with_schema(self, topic: str, schema: Schema, column: pa.Array) -> list[bytes | None] | None:
        """Return the bytes of each value, without a record for it."""
        return single_values(self.from_connect_data, topic, schema, column)

    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        if value not in _READ:
            raise DataError(f"BooleanConverter cannot read {value!r} from topic {topic}: it is neither 00 nor 01")
        return SchemaAndValue(Schema.OPTIONAL_BOOLEAN, _READ[value])

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, value)
