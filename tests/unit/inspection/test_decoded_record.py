# SPDX-License-Identifier: Apache-2.0
"""Records decoded by converters of all kinds, also bad ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from headrace.api.converter import Converter, HeaderConverter, SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.record import TimestampType
from headrace.api.schema import Schema
from headrace.converters.json_converter import JsonConverter
from headrace.converters.simple_header_converter import SimpleHeaderConverter
from headrace.converters.string_converter import StringConverter
from headrace.inspection.decoded_record import RecordDecoder, hide_in_errors
from headrace.model.raw_record import RawRecord


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def decoder(value: Converter | None = None, header: HeaderConverter | None = None, size: int = 1000) -> RecordDecoder:
    key = StringConverter()
    key.configure({}, True)
    if value is not None:
        value.configure({"schemas.enable": "true"}, False)
    if header is not None:
        header.configure({})
    return RecordDecoder(key, value, header, size)


def record(value: bytes | None, **more: Any) -> RawRecord:
    return RawRecord("t", 1, 5, 1700000000000, TimestampType.CREATE_TIME, b"k", value, **more)


class Bad(Converter):
    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        raise AssertionError

    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        try:
            raise ValueError("byte 3 \ud800")
        except ValueError as error:
            raise DataError("cannot be read") from error


class NoTuple(Bad):
    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        return None  # type: ignore[return-value]


class ByHeader(Bad):
    def to_connect_data_with_headers(
        self, topic: str, headers: Mapping[str, bytes | None], value: bytes | None
    ) -> SchemaAndValue:
        return SchemaAndValue(Schema.BYTES, headers["type"])


def test_a_record_with_schema_key_and_headers() -> None:
    value = json.dumps({"schema": {"type": "int32", "optional": False}, "payload": 7}).encode()
    decoded = decoder(JsonConverter(), SimpleHeaderConverter()).decode(
        record(value, headers=(("n", b"12"), ("x", None)))
    )
    assert decoded == {
        "topic": "t",
        "partition": 1,
        "offset": 5,
        "timestamp": 1700000000000,
        "timestampType": "CreateTime",
        "key": {"bytes": b64(b"k"), "schema": {"type": "string", "optional": True}, "value": "k"},
        "value": {"bytes": b64(value), "schema": {"type": "int32", "optional": False}, "value": 7},
        "headers": [
            {"key": "n", "value": {"bytes": b64(b"12"), "schema": {"type": "int8", "optional": False}, "value": 12}},
            {"key": "x", "value": {"bytes": None, "schema": None, "value": None}},
        ],
    }


def test_a_tombstone_has_no_bytes() -> None:
    assert decoder(JsonConverter()).decode(record(None))["value"] == {"bytes": None, "schema": None, "value": None}


def test_an_error_is_text_with_its_cause_beside_the_bytes() -> None:
    part = decoder(Bad()).decode(record(b"abc"))["value"]
    assert part == {
        "bytes": b64(b"abc"),
        "schema": None,
        "value": None,
        "error": "DataError: cannot be read; caused by ValueError: byte 3 \\ud800",
    }
    assert "TypeError" in decoder(NoTuple()).decode(record(b"abc"))["value"]["error"]


def test_a_header_that_cannot_be_decoded_leaves_the_record() -> None:
    class BadHeader(SimpleHeaderConverter):
        def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
            raise DataError("no")

    decoded = decoder(JsonConverter(), BadHeader()).decode(record(None, headers=(("a", b"1"),)))
    assert decoded["headers"][0]["value"]["error"] == "DataError: no"
    assert decoded["key"]["value"] == "k"


def test_a_converter_that_reads_headers_gets_the_last_of_each_name() -> None:
    decoded = decoder(ByHeader()).decode(record(b"", headers=(("type", b"old"), ("type", b"new"))))
    assert decoded["value"]["value"] == b64(b"new")


def test_without_converters_there_are_bytes_alone() -> None:
    decoded = RecordDecoder().decode(RawRecord("t", value=b"abc", headers=(("h", b"1"),)))
    assert decoded["value"] == {"bytes": b64(b"abc"), "schema": None, "value": None}
    assert decoded["headers"][0]["value"]["bytes"] == b64(b"1")
    assert (decoded["offset"], decoded["timestamp"], decoded["timestampType"]) == (None, None, "NoTimestampType")


def test_large_parts_are_marked() -> None:
    part = decoder(JsonConverter(), size=300).decode(record(b'"' + b"x" * 10_000 + b'"'))["value"]
    assert part["truncated"] is True
    assert len(part["bytes"]) == 300


def test_errors_are_shown_without_values_of_the_configuration_and_data_as_it_is() -> None:
    decoded = decoder(Bad()).decode(record(b"cannot", headers=(("cannot", b"cannot"),)))
    shown = hide_in_errors(decoded, lambda text: text.replace("cannot", "must not"))
    assert shown["value"].pop("error").startswith("DataError: must not be read")
    assert decoded["value"].pop("error").startswith("DataError: cannot be read")
    assert shown == decoded
