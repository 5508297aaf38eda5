# SPDX-License-Identifier: Apache-2.0
"""JsonConverter (Java: `org.apache.kafka.connect.json.JsonConverter`), equal to Java's byte for byte."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from headrace import KAFKA_VERSION
from headrace.api.arrow import decoded, schema_of
from headrace.api.config_def import ConfigDef, Importance, Type, Width
from headrace.api.converter import NULL, Converter, HeaderConverter, SchemaAndValue
from headrace.api.errors import DataError
from headrace.api.schema import DECIMAL, Schema
from headrace.api.validators import CaseInsensitiveValidString
from headrace.converters import json_parser, json_reader, json_writer
from headrace.converters.common import column_bytes, converter_config_def
from headrace.converters.json_schema import schema_from_json, schema_to_json

if TYPE_CHECKING:
    import pyarrow as pa

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

SCHEMAS_ENABLE_CONFIG: Final = "schemas.enable"
SCHEMAS_CACHE_SIZE_CONFIG: Final = "schemas.cache.size"
SCHEMA_CONTENT_CONFIG: Final = "schema.content"
DECIMAL_FORMAT_CONFIG: Final = "decimal.format"
REPLACE_NULL_CONFIG: Final = "replace.null.with.default"
_BEFORE_SCHEMA: Final = b'{"schema":'
_ESCAPE: Final = json_writer.ESCAPE
_dumps: Final = json_writer.dumps
_NO_HEAD: Final = b"no JSON starts like this"
_PAYLOAD: Final = b'"payload":'
_ENVELOPE_KEYS: Final = {"schema", "payload"}
_ENVELOPE_ERROR: Final = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)


def _config_def() -> ConfigDef:
    return (
        converter_config_def()
        .define(
            SCHEMAS_ENABLE_CONFIG, Type.BOOLEAN, True, importance=Importance.HIGH,
            doc="Write each value in an envelope with its schema.",
            group="Schemas", order_in_group=0, width=Width.MEDIUM, display_name="Enable Schemas",
        )
        .define(
            SCHEMAS_CACHE_SIZE_CONFIG, Type.INT, 1000, importance=Importance.HIGH,
            doc="The number of schemas in the cache.",
            group="Schemas", order_in_group=1, width=Width.MEDIUM, display_name="Schema Cache Size",
        )
        .define(
            SCHEMA_CONTENT_CONFIG, Type.STRING, None, importance=Importance.HIGH,
            doc="The schema of all values, as the envelope would hold it. Values are then read without an envelope.",
            group="Schemas", order_in_group=2, width=Width.MEDIUM, display_name="Schema Content",
        )
        .define(
            DECIMAL_FORMAT_CONFIG, Type.STRING, "BASE64", importance=Importance.LOW,
            validator=CaseInsensitiveValidString("BASE64", "NUMERIC"),
            doc="Write decimals as the base64 of their bytes or as numbers. Both are read.",
            group="Serialization", order_in_group=0, width=Width.MEDIUM, display_name="Decimal Format",
        )
        .define(
            REPLACE_NULL_CONFIG, Type.BOOLEAN, True, importance=Importance.LOW,
            doc="Write and read a field's default if its value is null.",
            group="Serialization", order_in_group=1, width=Width.MEDIUM, display_name="Replace null with default",
        )
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Writer:
    """The writer of one schema's values: the envelope up to the payload, and the payload's function."""

    head: bytes
    to_json: json_writer.ToJson

    @classmethod
    def of(cls, schema: Schema, options: json_writer.WriterOptions) -> _Writer:
        def default_to_json(inner: Schema) -> Any:
            return json_writer.json_function(inner, options)(inner.default)

        json = json_writer.java_json(schema_to_json(schema, default_to_json))
        return cls(_BEFORE_SCHEMA + json + b"," + _PAYLOAD, json_writer.json_function(schema, options))


_SCHEMALESS_WRITER: Final = _Writer(_BEFORE_SCHEMA + b"null," + _PAYLOAD, json_writer.schemaless_json)


@dataclass(frozen=True, slots=True)
class _Reader:
    """The reader of one schema's values. `exact`: a decimal's digits depend on the text of its number."""

    schema: Schema | None
    from_json: json_reader.FromJson
    exact: bool

    @classmethod
    def of(cls, schema: Schema | None, replace_null: bool) -> _Reader:
        if schema is None:
            return _SCHEMALESS_READER
        return cls(schema, json_reader.value_function(schema, replace_null), _has_decimal(schema))

    def read(self, text: bytes) -> SchemaAndValue:
        """Read a payload as leniently as Java does."""
        if not self.exact:
            try:
                return SchemaAndValue(self.schema, self.from_json(json_parser.parse_json(text)))
            except json_parser.LostDigitsError:
                pass
        return SchemaAndValue(self.schema, self.from_json(json_parser.parse_exactly(text)))

    def read_strictly(self, text: bytes) -> SchemaAndValue:
        """Read a payload. Raise ValueError if the text is not exactly one JSON value."""
        if not self.exact:
            try:
                return SchemaAndValue(self.schema, self.from_json(json_parser.parse_strictly(text)))
            except json_parser.LostDigitsError:
                pass
        return SchemaAndValue(self.schema, self.from_json(json_parser.parse_exactly_and_strictly(text)))


_SCHEMALESS_READER: Final = _Reader(None, json_reader.schemaless_value, False)


class _Cache(Generic[K, V]):
    """A dictionary of the newest `size` entries."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: dict[K, V] = {}
        self.get = self._entries.get

    def put(self, key: K, value: V) -> V:
        """Add an entry, unless `size` is 0, and return its value."""
        if self._size > 0:
            if len(self._entries) >= self._size:
                del self._entries[next(iter(self._entries))]
            self._entries[key] = value
        return value


def _has_decimal(schema: Schema) -> bool:
    inner = [field.schema for field in schema.fields] + [s for s in (schema.key_schema, schema.value_schema) if s]
    return schema.name == DECIMAL or any(map(_has_decimal, inner))


def _is_whole(head: bytes, tail: bytes) -> bool:
    """Return True if `head` is an envelope up to its payload and `tail` the rest: then `head` identifies the schema.

    The name `payload` could also occur inside the schema, or in an envelope that has the payload first.
    """
    before = head.removesuffix(_PAYLOAD).rpartition(b",")[0]
    try:
        envelope = json_parser.parse_strictly(before + b"}")
        json_parser.parse_strictly(tail[:-1])
    except ValueError:
        return False
    return bool(envelope.keys() == {"schema"})


def _has_default(schema: Schema | None) -> bool:
    if schema is None:
        return False
    inner = (schema.key_schema, schema.value_schema, *(field.schema for field in schema.fields))
    return schema.default is not None or any(map(_has_default, inner))


class JsonConverter(Converter, HeaderConverter):
    """A converter to JSON, by default in an envelope with the schema. Each schema is compiled to functions once."""

    def __init__(self) -> None:
        self.configure({})

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _config_def()

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        parsed = _config_def().parse({"converter.type": "key" if is_key else "value", **configs})
        self._enabled: bool = parsed[SCHEMAS_ENABLE_CONFIG]
        self._replace_null: bool = parsed[REPLACE_NULL_CONFIG]
        numeric = parsed[DECIMAL_FORMAT_CONFIG].upper() == "NUMERIC"
        self._options = json_writer.WriterOptions(numeric, self._replace_null)
        size: int = parsed[SCHEMAS_CACHE_SIZE_CONFIG]
        self._writers: _Cache[Schema, _Writer] = _Cache(size)
        self._readers: _Cache[bytes, _Reader] = _Cache(size)
        self._last_read: tuple[bytes, _Reader | None] = (_NO_HEAD, None)
        self._last_written: tuple[Schema | None, _Writer] = (None, _SCHEMALESS_WRITER)
        content: str = parsed[SCHEMA_CONTENT_CONFIG]
        reader = self._reader(json_parser.parse_exactly(content.encode())) if content else _SCHEMALESS_READER
        self._content_reader = None if reader.schema is None else reader

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None and value is None:
            return None
        last, writer = self._last_written
        if schema is not last:
            writer = self._writer(schema)
            self._last_written = (schema, writer)
        json = writer.to_json(value)
        # Inlined `java_json`: its calls would take a tenth of the time.
        try:
            text = _dumps(json)
        except TypeError as error:
            raise json_writer.unwritable(error) from error
        if not text.isascii() or _ESCAPE in text:
            text = json_writer.as_java(text)
        return writer.head + text + b"}" if self._enabled else text

    def to_connect_data(self, topic: str, value: bytes | None) -> SchemaAndValue:
        if value is None:
            return NULL
        if not self._enabled:
            return _SCHEMALESS_READER.read(value)
        if self._content_reader is not None:
            return self._content_reader.read(value)
        head, reader = self._last_read
        if not value.startswith(head):
            head, name, _ = value.partition(_PAYLOAD)
            head += name
            reader = self._readers.get(head)
        tail = value[len(head) :]
        if reader is not None and tail.endswith(b"}"):
            self._last_read = head, reader
            try:
                return reader.read_strictly(tail[:-1])
            except ValueError:
                pass  # the head is not followed by exactly one payload: parse the whole
        try:
            return self._read_envelope(json_parser.parse_json(value), head, tail)
        except json_parser.LostDigitsError:
            return self._read_envelope(json_parser.parse_exactly(value), head, tail)

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, key: str, value: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, value)

    def from_arrow(self, topic: str, column: pa.Array | pa.ChunkedArray) -> list[bytes | None] | None:
        """Return the JSON of a column that vector operations can write (see `json_columns`); None for others."""
        import pyarrow as pa

        column = decoded(column)
        schema = schema_of(column.type, "value")
        if schema is None:
            return None
        written: list[bytes | None] = []
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            rows = self._column(schema, chunk)
            if rows is None:
                return None
            written += rows
        return written

    def from_arrow_with_schema(self, topic: str, schema: Schema, column: pa.Array) -> list[bytes | None] | None:
        """Return the JSON of a column whose nulls have a schema as well; None for schemas with defaults of nulls."""
        written = None if _has_default(schema) else self._column(schema, column)
        if written is None or not column.null_count:
            return written
        null = self.from_connect_data(topic, schema, None)
        return [null if row is None else row for row in written]

    def _column(self, schema: Schema, column: pa.Array) -> list[bytes | None] | None:
        from headrace.converters.json_columns import written

        head, tail = (self._writer(schema).head.decode(), "}") if self._enabled else ("", "")
        rows = written(column, self._options, head, tail)
        return None if rows is None else column_bytes(rows)

    def _writer(self, schema: Schema | None) -> _Writer:
        if schema is None:
            return _SCHEMALESS_WRITER
        writer = self._writers.get(schema)
        if writer is None:
            writer = self._writers.put(schema, _Writer.of(schema, self._options))
        return writer

    def _reader(self, schema_json: Any) -> _Reader:
        def default(schema: Schema, value: Any) -> Any:
            return json_reader.value_function(schema, self._replace_null)(value)

        schema = schema_from_json(schema_json, default)
        return _Reader.of(schema, self._replace_null)

    def _read_envelope(self, envelope: Any, head: bytes, tail: bytes) -> SchemaAndValue:
        if not isinstance(envelope, dict) or envelope.keys() != _ENVELOPE_KEYS:
            raise DataError(_ENVELOPE_ERROR)
        reader = self._reader(envelope["schema"])
        if _is_whole(head, tail):
            self._readers.put(head, reader)
        return SchemaAndValue(reader.schema, reader.from_json(envelope["payload"]))
