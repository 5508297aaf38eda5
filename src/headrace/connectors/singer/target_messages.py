# SPDX-License-Identifier: Apache-2.0
"""SCHEMA, RECORD and STATE lines for a target, of sink records. Pure."""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.logical import schema_scale
from headrace.api.record import SinkRecord
from headrace.api.schema import DATE, DECIMAL, INTEGER_BITS, TIME, TIMESTAMP, Schema, Struct, Type
from headrace.api.sink import OffsetAndMetadata, TopicPartition
from headrace.connectors.singer.messages import json_text

JsonSchema = dict[str, Any]
_BOOKMARK: Final = "headrace"
_BOOKMARKS: Final = "bookmarks"
_NULL: Final = "null"
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_BASE64: Final = {"type": "string", "contentEncoding": "base64"}
_FORMATS: Final = {DATE: "date", TIME: "time", TIMESTAMP: "date-time"}


class TargetStreams:
    """The streams of one run of a target, which knows the SCHEMAs that it was sent."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """``names``: the streams of topics; of others the stream has the topic's name."""
        self._names = names
        self._sent: dict[str, tuple[Any, ...]] = {}
        self._inferred: dict[str, dict[str, set[str]]] = {}

    def lines(self, record: SinkRecord) -> list[str]:
        """Return the RECORD of a sink record, after a SCHEMA if it is not the stream's last one.

        Raise DataError if the record's value is neither a struct nor a map with text as keys.
        """
        stream = self._names.get(record.topic, record.topic)
        value = record.value
        if isinstance(value, Struct):
            signature: tuple[Any, ...] = (value.schema, _keys(record, {field.name for field in value.schema.fields}))
        elif isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
            signature = (self._infer(stream, value), _keys(record, set(value)))
        else:
            raise DataError(f"its value is neither a struct nor a map with text as keys, but {type(value).__name__}")
        row = {"type": "RECORD", "stream": stream, "record": _json_value(value)}
        if record.timestamp is not None:
            row["time_extracted"] = _iso_text(record.timestamp)
        lines = [json_text(row)]
        if self._sent.get(stream) != signature:
            lines.insert(0, self._schema_line(stream, signature))
            self._sent[stream] = signature
        return lines

    def _schema_line(self, stream: str, signature: tuple[Any, ...]) -> str:
        described, keys = signature
        if isinstance(described, Schema):
            schema = json_schema(described.replace(optional=False))
        else:
            properties = {name: _inferred_schema(kinds) for name, kinds in described}
            schema = {"type": "object", "properties": properties}
        return json_text({"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": list(keys)})

    def _infer(self, stream: str, value: Mapping[str, Any]) -> tuple[tuple[str, frozenset[str]], ...]:
        """Return the types that the stream's properties have had so far; they only become more."""
        known = self._inferred.setdefault(stream, {})
        for name, each in value.items():
            known.setdefault(name, set()).update(() if each is None else (_kind(each),))
        return tuple((name, frozenset(kinds)) for name, kinds in known.items())


def _keys(record: SinkRecord, names: set[str]) -> tuple[str, ...]:
    """Return the fields of the record's key, if they are all fields of its value."""
    if isinstance(record.key, Struct):
        keys = tuple(field.name for field in record.key.schema.fields)
    elif isinstance(record.key, Mapping):
        keys = tuple(record.key)
    else:
        return ()
    return keys if names.issuperset(keys) else ()


def json_schema(schema: Schema) -> JsonSchema:
    """Return the JSON schema of a Connect schema."""
    described = _described(schema)
    if schema.optional:
        described["type"] = [described["type"], _NULL]
    return described


def _described(schema: Schema) -> JsonSchema:
    if schema.name in _FORMATS:
        return {"type": "string", "format": _FORMATS[schema.name]}
    if schema.name == DECIMAL:
        return {"type": "number", "multipleOf": Decimal(1).scaleb(-schema_scale(schema))}
    match schema.type:
        case Type.STRUCT:
            return {"type": "object", "properties": {each.name: json_schema(each.schema) for each in schema.fields}}
        case Type.MAP:
            values = schema.value_schema
            return {"type": "object", "additionalProperties": json_schema(values) if values is not None else True}
        case Type.ARRAY:
            items = schema.value_schema
            return {"type": "array", "items": json_schema(items) if items is not None else {}}
        case Type.BYTES:
            return dict(_BASE64)
        case Type.FLOAT32 | Type.FLOAT64:
            return {"type": "number"}
        case Type.BOOLEAN | Type.STRING:
            return {"type": schema.type.value}
    assert schema.type in INTEGER_BITS
    return {"type": "integer"}


def _inferred_schema(kinds: frozenset[str]) -> JsonSchema:
    return {"type": [*sorted(kinds or {"string"}), _NULL]}


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float() | Decimal():
            return "number"
        case list() | tuple():
            return "array"
        case Mapping() | Struct():
            return "object"
    return "string"


def _json_value(value: Any) -> Any:
    """Return a value of dicts, lists, texts and numbers. Raise DataError if it has no JSON."""
    match value:
        case None | bool() | int() | str():
            return value
        case float() | Decimal():
            if not math.isfinite(value):
                raise DataError(f"JSON has no number {value}")
            return value
        case Struct() | Mapping():
            items = value if isinstance(value, Struct) else value.items()
            return {_name(name): _json_value(each) for name, each in items}
        case list() | tuple():
            return [_json_value(each) for each in value]
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case datetime.datetime():
            return (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).isoformat()
        case datetime.date() | datetime.time():
            return value.isoformat()
    raise DataError(f"JSON has no {type(value).__name__}")


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise DataError(f"the key {name!r} of a map is no text")
    return name


def _iso_text(milliseconds: int) -> str:
    return (_EPOCH + datetime.timedelta(milliseconds=milliseconds)).isoformat()


def state_line(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> str:
    """Return the STATE with these offsets."""
    places = {str(partition): each.offset for partition, each in offsets.items()}
    return json_text({"type": "STATE", "value": {_BOOKMARKS: {_BOOKMARK: places}}})


def acknowledged(line: bytes) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the offsets of a line that a target has printed; none if it is no such STATE."""
    try:
        places = json.loads(line)[_BOOKMARKS][_BOOKMARK]
        return {_partition(name): OffsetAndMetadata(int(offset)) for name, offset in places.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))
