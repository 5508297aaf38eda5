# SPDX-License-Identifier: Apache-2.0
"""The streams of a tap's run: their SCHEMAs, and the source records of their RECORDs. Pure but for log lines."""

from __future__ import annotations

import datetime
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.api.errors import ConfigError, DataError
from headrace.api.headers import Headers
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.connectors.singer.json_schemas import Column, TypeChoices, column, struct_of
from headrace.connectors.singer.messages import ActivateVersionMessage, RecordMessage, SchemaMessage
from headrace.connectors.singer.row_headers import key_struct, row_headers, source_name

log = logging.getLogger(__name__)

_NO_TOPIC_CHARACTER: Final = re.compile(r"[^a-zA-Z0-9._-]")
_LONGEST_TOPIC: Final = 249
_ACTIVATION_KEY: Final = SchemaBuilder.struct().name("singer.activation.key").field("stream", Schema.STRING).build()
_ACTIVATION: Final = (
    SchemaBuilder.struct()
    .name("singer.activation")
    .field("stream", Schema.STRING)
    .field("topic", Schema.STRING)
    .field("version", Schema.INT64)
    .build()
)


class Topics:
    """The topic of each stream: one that the user has named, else a prefix and the stream's name."""

    def __init__(self, prefix: str, named: Mapping[str, str]) -> None:
        self._prefix, self._named = prefix, named
        self._streams: dict[str, str] = {}

    def of(self, stream: str) -> str:
        """Return the topic. Raise ConfigError if another stream has it, or if it is no name of a topic.

        Characters that topics cannot have become underscores.
        """
        topic = self._named.get(stream) or _NO_TOPIC_CHARACTER.sub("_", self._prefix + stream)
        other = self._streams.setdefault(topic, stream)
        if other != stream:
            raise ConfigError(f"Streams '{other}' and '{stream}' have one topic '{topic}': name them in stream.topics")
        if not topic or len(topic) > _LONGEST_TOPIC:
            raise ConfigError(f"Stream '{stream}' has no valid topic '{topic}': name it in stream.topics")
        return topic


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream as its last SCHEMA describes it."""

    message: SchemaMessage
    topic: str
    schema: Schema
    columns: Mapping[str, Column]
    key_schema: Schema | None
    unknown: set[str] = field(default_factory=set)
    """Fields of records that the SCHEMA does not have, which are logged once each."""


class Streams:
    """The streams that a tap has announced since the task's start."""

    def __init__(
        self, topics: Topics, choices: TypeChoices, version_field: str | None = None, connector: str | None = None
    ) -> None:
        """``version_field``: the field of values that gets the version of a RECORD.

        ``connector``: the name of the connector if records get the headers that say which rows they are.
        """
        self._topics, self._choices, self._version_field = topics, choices, version_field
        self._connector = connector
        self._streams: dict[str, Stream] = {}

    def announce(self, message: SchemaMessage) -> None:
        """Take a SCHEMA: it is that of the stream's records that follow. Raise DataError or ConfigError."""
        known = self._streams.get(message.stream)
        # The same one again leaves the Connect schema the same object, which converters' caches know.
        if known is None or known.message != message:
            topic = self._topics.of(message.stream)
            try:
                self._streams[message.stream] = _stream(message, topic, self._choices, self._version_field)
            except (DataError, RecursionError) as error:
                reason = "is nested too deep" if isinstance(error, RecursionError) else f"cannot be used: {error}"
                raise DataError(f"the SCHEMA of stream '{message.stream}' {reason}") from error

    def record(self, message: RecordMessage) -> SourceRecord:
        """Return the record, without source partition and offset. Raise DataError that names stream and field."""
        stream = self._streams.get(message.stream)
        if stream is None:
            raise DataError(f"a RECORD of stream '{message.stream}' came before its SCHEMA")
        try:
            value = struct_of(stream.schema, stream.columns, self._row(message))
            key = _key(stream, value)
            timestamp = _milliseconds(message.extracted)
        except DataError as error:
            raise DataError(f"a RECORD of stream '{message.stream}' does not fit its SCHEMA: {error}") from error
        if not message.record.keys() <= stream.columns.keys():
            _log_unknown(stream, message.record)
        headers = self._headers(message.stream, key, message.version)
        return SourceRecord(
            None, None, stream.topic, None, stream.key_schema, key, stream.schema, value, timestamp, headers
        )  # fmt: skip

    def activation(self, message: ActivateVersionMessage, topic: str) -> SourceRecord:
        """Return the record of an ACTIVATE_VERSION, without source partition and offset."""
        key = Struct.of_valid(_ACTIVATION_KEY, [message.stream])
        value = Struct.of_valid(_ACTIVATION, [message.stream, self._topics.of(message.stream), message.version])
        return SourceRecord(None, None, topic, None, _ACTIVATION_KEY, key, _ACTIVATION, value)

    def topic(self, stream: str) -> str:
        """Return the topic of a stream. Raise ConfigError if it has none."""
        return self._topics.of(stream)

    def has_key(self, stream: str) -> bool:
        """Return True if the last SCHEMA of a stream names key properties."""
        known = self._streams.get(stream)
        return known is not None and known.key_schema is not None

    def tombstone(self, stream: str, key: str) -> SourceRecord | None:
        """Return the tombstone of a row, without source partition and offset; ``key`` is that of its headers.

        Return None if the stream's SCHEMA has another key now.
        """
        known = self._streams[stream]
        if known.key_schema is None or (struct := key_struct(known.key_schema, key)) is None:
            return None
        headers = self._headers(stream, struct, None)
        return SourceRecord(None, None, known.topic, None, known.key_schema, struct, headers=headers)

    def _headers(self, stream: str, key: Struct | None, version: int | None) -> Headers | None:
        if self._connector is None or key is None:
            return None
        return row_headers(source_name(self._connector, stream), key, version)

    def _row(self, message: RecordMessage) -> Mapping[str, Any]:
        if self._version_field is None:
            return message.record
        return {**message.record, self._version_field: message.version}


def _stream(message: SchemaMessage, topic: str, choices: TypeChoices, version_field: str | None) -> Stream:
    properties = message.schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        raise DataError("it has no properties")
    if version_field is not None:
        if version_field in properties:
            raise DataError(f"it has the property {version_field} itself: choose another singer.version.field")
        properties = {**properties, version_field: {"type": ["null", "integer"]}}
    columns = {name: column(each, choices) for name, each in properties.items()}
    builder = SchemaBuilder.struct().name(message.stream)
    for name, each in columns.items():
        builder.field(name, each.schema)
    return Stream(message, topic, builder.build(), columns, _key_schema(message, columns))


def _key_schema(message: SchemaMessage, columns: Mapping[str, Column]) -> Schema | None:
    missing = [key for key in message.keys if key not in columns]
    if missing:
        raise DataError(f"it lacks its own key_properties {', '.join(missing)}")
    if not message.keys:
        return None
    builder = SchemaBuilder.struct().name(f"{message.stream}.key")
    for key in message.keys:
        builder.field(key, columns[key].schema.replace(optional=False))
    return builder.build()


def _key(stream: Stream, value: Struct) -> Struct | None:
    if stream.key_schema is None:
        return None
    parts = [value.get(key) for key in stream.message.keys]
    missing = [key for key, part in zip(stream.message.keys, parts, strict=True) if part is None]
    if missing:
        raise DataError(f"it has no value of the key property {', '.join(missing)}")
    return Struct.of_valid(stream.key_schema, parts)


def _milliseconds(extracted: Any) -> int | None:
    if not isinstance(extracted, str):
        return None
    try:
        parsed = datetime.datetime.fromisoformat(extracted)
    except ValueError:
        return None
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=datetime.UTC)
    return max(0, int(parsed.timestamp() * 1000))


def _log_unknown(stream: Stream, record: Mapping[str, Any]) -> None:
    new = record.keys() - stream.columns.keys() - stream.unknown
    if new:
        stream.unknown.update(new)
        names = ", ".join(sorted(map(repr, new)))
        log.warning("Stream %r has fields that its SCHEMA does not have; they are left out: %s", stream.topic, names)
