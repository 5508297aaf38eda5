# SPDX-License-Identifier: Apache-2.0
"""Converters of single numbers, big-endian (Java: `org.apache.kafka.connect.converters.NumberConverter`)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef
from headrace.api.converter import Converter, HeaderConverter, SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.schema import Schema
from headrace.converters.common import converter_config_def, single_values

if TYPE_CHECKING:
    import pyarrow as pa


class _NumberConverter(Converter, HeaderConverter):
    """A converter of numbers of one type to a fixed number of bytes. Null stays null; the schema read is optional.

    The value's type is checked, its schema is ignored. Raises DataError for values of another type or out of range, and
    for bytes of another length.
    """

    _layout: ClassVar[struct.Struct]
    _schema: ClassVar[Schema]
    _python_type: ClassVar[type]

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return converter_config_def()

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        """Do nothing: there are no settings."""

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if not isinstance(value, self._python_type) or isinstance(value, bool):
            raise DataError(f"{type(self).__name__} cannot write {value!r}: it is of type {type(value).__name__}")
        try:
            return self._layout.pack(value)
        except (struct.error, OverflowError) as error:
            reason = f"{value!r} is out of range of {self._schema.type.value}"
            raise DataError(f"{type(self).__name__} cannot write to topic {topic}: {reason}") from error

    def from_arrow_with_schema(self, topic: str, schema: Schema, column: pa.Array) -> list[bytes | None] | None:
        """Return the bytes of each value, without a record for it."""
        return single_values(self.from_connect_data, topic, schema, column)

    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        if value is None:
            return SchemaAndValue(self._schema, None)
        if len(value) != self._layout.size:
            reason = f"{self._schema.type.value} has {self._layout.size} bytes, not {len(value)}"
            raise DataError(f"{type(self).__name__} cannot read from topic {topic}: {reason}")
        return SchemaAndValue(self._schema, self._layout.unpack(value)[0])

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, value)


class ShortConverter(_NumberConverter):
    """A converter of int16."""

    _layout = struct.Struct(">h")
    _schema = Schema.OPTIONAL_INT16
    _python_type = int


class IntegerConverter(_NumberConverter):
    """A converter of int32."""

    _layout = struct.Struct(">i")
    _schema = Schema.OPTIONAL_INT32
    _python_type = int


class LongConverter(_NumberConverter):
    """A converter of int64."""

    _layout = struct.Struct(">q")
    _schema = Schema.OPTIONAL_INT64
    _python_type = int


class FloatConverter(_NumberConverter):
    """A converter of float32."""

    _layout = struct.Struct(">f")
    _schema = Schema.OPTIONAL_FLOAT32
    _python_type = float


class DoubleConverter(_NumberConverter):
    """A converter of float64."""

    _layout = struct.Struct(">d")
    _schema = Schema.OPTIONAL_FLOAT64
    _python_type = float
