# SPDX-License-Identifier: Apache-2.0
"""SimpleHeaderConverter: headers as readable text (Java: `org.apache.kafka.connect.storage.SimpleHeaderConverter`)."""

from __future__ import annotations

from typing import Any

from headrace import KAFKA_VERSION
from headrace.api import values
from headrace.api.converter import HeaderConverter, SchemaAndValue
from headrace.api.schema import Schema


class SimpleHeaderConverter(HeaderConverter):
    """A converter of headers to text: strings unchanged, other data in the JSON-like notation of `headrace.api.values`.

    Schemas are not written, but inferred from the text on reading: a string of digits is read as a number, and a struct
    as a map.
    """

    def version(self) -> str:
        return KAFKA_VERSION

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        text = values.convert_to_string(schema, value)
        return None if text is None else text.encode("utf-8", "replace")

    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
        return values.parse_string(None if value is None else value.decode("utf-8", "replace"))
