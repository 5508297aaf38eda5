# SPDX-License-Identifier: Apache-2.0
"""StringConverter: text, and `toString` of anything else (Java: `org.apache.kafka.connect.storage.StringConverter`)."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type, Width
from headrace.api.converter import Converter, HeaderConverter, SchemaAndValue
from headrace.api.errors import ConfigError
from headrace.api.java_string import java_string
from headrace.api.schema import Schema
from headrace.converters.common import column_bytes, converter_config_def, is_text, single_values

if TYPE_CHECKING:
    import pyarrow as pa

ENCODING_CONFIG: Final = "converter.encoding"
_UTF_8: Final = "utf-8"
# Java's UTF-16 is big-endian with a byte order mark; Python's has the machine's byte order.
_UTF_16: Final = "utf-16"
_new: Final = tuple.__new__


class StringConverter(Converter, HeaderConverter):
    """A converter of strings in `converter.encoding` (UTF-8 by default); characters that it lacks become `?`.

    Null stays null. The schema read is always the optional string.
    """

    def __init__(self) -> None:
        self._encoding = _UTF_8

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return converter_config_def().define(
            ENCODING_CONFIG,
            Type.STRING,
            "UTF-8",
            importance=Importance.HIGH,
            doc="The name of the character encoding of the strings.",
            width=Width.MEDIUM,
            display_name="Encoding",
        )

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        name = configs.get(ENCODING_CONFIG) or "UTF-8"
        try:
            self._encoding = codecs.lookup(str(name)).name
        except LookupError as error:
            raise ConfigError.invalid(ENCODING_CONFIG, name, "Unsupported encoding") from error

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        text = value if value.__class__ is str else java_string(schema, value)
        if self._encoding == _UTF_16:
            return codecs.BOM_UTF16_BE + text.encode("utf-16-be", "replace")
        return text.encode(self._encoding, "replace")

    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        text = None if value is None else value.decode(self._encoding, "replace")
        # Called for each record, and a named tuple's constructor would take longer than everything else.
        return _new(SchemaAndValue, (Schema.OPTIONAL_STRING, text))

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, value)

    def from_arrow(self, topic: str, column: pa.Array | pa.ChunkedArray) -> list[bytes | None] | None:
        """Return the UTF-8 of a column of text; None for other columns and encodings."""
        return column_bytes(column) if self._encoding == _UTF_8 and is_text(column.type) else None

    def from_arrow_with_schema(self, topic: str, schema: Schema, column: pa.Array) -> list[bytes | None] | None:
        """Return the bytes as `from_arrow`, of columns without text value by value."""
        found = self.from_arrow(topic, column)
        return single_values(self.from_connect_data, topic, schema, column) if found is None else found

    def to_arrow(self, topic: str, column: pa.Array) -> pa.Array | None:
        """Return a column of UTF-8 as text. Invalid UTF-8 is an error: single rows get replacement characters."""
        import pyarrow as pa

        return column.cast(pa.string()) if self._encoding == _UTF_8 else None
