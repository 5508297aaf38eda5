# SPDX-License-Identifier: Apache-2.0
"""A record of Kafka as JSON, decoded by a connector's converters: the form that all answers about records share.

{"topic", "partition", "offset", "timestamp", "timestampType", "key": PART, "value": PART,
 "headers": [{"key", "value": PART}]}
PART = {"bytes": base64 | null, "schema": JSON | null, "value": JSON, "error"?: text, "truncated"?: true}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.converter import Converter, HeaderConverter, SchemaAndValue
from headrace.api.error_text import clean_text, error_line
from headrace.config.connector_config import KEY_CONVERTER, VALUE_CONVERTER
from headrace.inspection.readable_json import ReadableJson
from headrace.model.raw_record import RawRecord
from headrace.task.task_converters import TaskConverters

PART_SIZE: Final = 65_536
"""Characters of JSON that a part may take by default, for its value and for its bytes each."""
_ERROR_SIZE: Final = 2_000
_CAUSES: Final = 5


@dataclass(frozen=True, slots=True)
class RecordDecoder:
    """Decodes records by a connector's converters, which have been configured. One thread, that of the converters.

    Without a converter, parts have their bytes alone. `part_size` bounds each part, in characters of JSON.
    """

    key: Converter | None = None
    value: Converter | None = None
    header: HeaderConverter | None = None
    part_size: int = PART_SIZE

    def decode(self, record: RawRecord) -> dict[str, Any]:
        """Return a record's JSON. Never raises: a part that its converter cannot convert has an `error`."""
        raw_headers = dict(record.headers)
        return {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": record.timestamp_type.value,
            "key": self._part(record.topic, raw_headers, self.key, record.key),
            "value": self._part(record.topic, raw_headers, self.value, record.value),
            "headers": [self._header(record.topic, name, value) for name, value in record.headers],
        }

    def _part(
        self, topic: str, headers: dict[str, bytes | None], converter: Converter | None, raw: bytes | None
    ) -> dict[str, Any]:
        if converter is None:
            return decoded_part(raw, None, self.part_size)
        if type(converter).to_connect_data_with_headers is not Converter.to_connect_data_with_headers:
            return decoded_part(
                raw, lambda: converter.to_connect_data_with_headers(topic, headers, raw), self.part_size
            )
        return decoded_part(raw, lambda: converter.to_connect_data(topic, raw), self.part_size)

    def _header(self, topic: str, name: str, raw: bytes | None) -> dict[str, Any]:
        convert = self.header.to_connect_header if self.header is not None else None
        to_data = (lambda: convert(topic, name, raw)) if convert is not None else None
        return {"key": clean_text(name), "value": decoded_part(raw, to_data, self.part_size)}


def create_converters(converters: TaskConverters) -> tuple[Converter, Converter, HeaderConverter]:
    """Return a connector's converters of keys, values and headers, in instances of its own.

    Raise ConfigError, naming the property, for one that is not possible.
    """
    _, key = converters.create_converter(KEY_CONVERTER)
    _, value = converters.create_converter(VALUE_CONVERTER)
    _, create_header = converters.header_converter()
    return key, value, create_header()


def create_decoder(converters: TaskConverters, part_size: int = PART_SIZE) -> RecordDecoder:
    """Return the decoder with a connector's converters, in instances of its own. Errors: as `create_converters`."""
    return RecordDecoder(*create_converters(converters), part_size)


def hide_in_errors(record: Mapping[str, Any], hide: Callable[[str], str]) -> dict[str, Any]:
    """Return a decoded record with the texts of its errors changed by ``hide``: converters quote their configuration.

    What was decoded is the record's own, and stays as it is.
    """

    def part(decoded: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**decoded, "error": hide(decoded["error"])} if "error" in decoded else decoded

    headers = [{**header, "value": part(header["value"])} for header in record["headers"]]
    return {**record, "key": part(record["key"]), "value": part(record["value"]), "headers": headers}


def decoded_part(
    raw: bytes | None, convert: Callable[[], SchemaAndValue] | None, part_size: int = PART_SIZE
) -> dict[str, Any]:
    """Return a key, a value or a header's value as JSON: its bytes, and what `convert` makes of them. Never raises."""
    of_bytes, of_value = ReadableJson(part_size), ReadableJson(part_size)
    part: dict[str, Any] = {"bytes": of_bytes.bytes(raw) if raw is not None else None, "schema": None, "value": None}
    if convert is not None:
        try:
            schema, value = convert()
            part |= {"value": of_value.value(value, schema), "schema": of_value.schema(schema)}
        except Exception as error:  # of the plugin: any
            part["error"] = _with_causes(error)
    if of_bytes.truncated or of_value.truncated:
        part["truncated"] = True
    return part


def _with_causes(error: BaseException) -> str:
    """Return an error's line, and those of its causes: often only these say what is wrong with the bytes."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(lines) < _CAUSES:
        lines.append(clean_text(error_line(cause), _ERROR_SIZE))
        cause = cause.__cause__
    return "; caused by ".join(lines)
