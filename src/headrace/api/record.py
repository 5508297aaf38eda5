# SPDX-License-Identifier: Apache-2.0
"""Records on their way through a task: `SourceRecord` into Kafka, `SinkRecord` out of it.

The data path creates millions of records, so a constructor checks and copies nothing, and `headers` are created on
first use. Records compare by value and are not hashable (their maps and structs are not); use identity to track a
particular record. Treat a record as immutable and derive others from it with `new_record` or `replace`; only its
headers may be changed in place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Self

from headrace.api.headers import Headers
from headrace.api.schema import Schema


class TimestampType(Enum):
    """The origin of a Kafka record's timestamp; the values are Kafka's."""

    NO_TIMESTAMP_TYPE = "NoTimestampType"
    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


class _Unchanged(Enum):
    UNCHANGED = "unchanged"


UNCHANGED: Final = _Unchanged.UNCHANGED
_new: Final = object.__new__


class ConnectRecord(ABC):
    """Base of source and sink records (Java: `ConnectRecord`). Transformations and predicates work on this class.

    `timestamp` is in ms since the epoch. A `key` or `value` with a schema of None is schemaless data; a record with a
    `value` of None is a tombstone.
    """

    __slots__ = ("_headers", "kafka_partition", "key", "key_schema", "timestamp", "topic", "value", "value_schema")

    topic: str
    kafka_partition: int | None
    key_schema: Schema | None
    key: Any
    value_schema: Schema | None
    value: Any
    timestamp: int | None
    _headers: Headers | None

    @property
    def headers(self) -> Headers:
        """The record's headers, created empty on first use. Where speed counts, check `has_headers` first."""
        headers = self._headers
        if headers is None:
            headers = self._headers = Headers()
        return headers

    @property
    def has_headers(self) -> bool:
        """Return True if there is at least one header, without creating any."""
        return bool(self._headers)

    def new_record(
        self,
        topic: str,
        kafka_partition: int | None,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        timestamp: int | None,
        headers: Headers | None = None,
    ) -> Self:
        """Return a record of the same class and origin with these contents.

        `headers` None copies this record's headers; pass an empty `Headers()` for a record without headers.
        """
        copy = self._copy()
        copy.topic = topic
        copy.kafka_partition = kafka_partition
        copy.key_schema = key_schema
        copy.key = key
        copy.value_schema = value_schema
        copy.value = value
        copy.timestamp = timestamp
        copy._headers = headers if headers is not None else self._copied_headers()
        return copy

    def replace(
        self,
        *,
        topic: str | _Unchanged = UNCHANGED,
        kafka_partition: int | _Unchanged | None = UNCHANGED,
        key_schema: Schema | _Unchanged | None = UNCHANGED,
        key: Any = UNCHANGED,
        value_schema: Schema | _Unchanged | None = UNCHANGED,
        value: Any = UNCHANGED,
        timestamp: int | _Unchanged | None = UNCHANGED,
        headers: Headers | None = None,
    ) -> Self:
        """Return a record of the same class and origin that differs only in the given arguments.

        `record.replace(topic="invoices", timestamp=None)`
        """
        return self.new_record(
            self.topic if topic is UNCHANGED else topic,
            self.kafka_partition if kafka_partition is UNCHANGED else kafka_partition,
            self.key_schema if key_schema is UNCHANGED else key_schema,
            self.key if key is UNCHANGED else key,
            self.value_schema if value_schema is UNCHANGED else value_schema,
            self.value if value is UNCHANGED else value,
            self.timestamp if timestamp is UNCHANGED else timestamp,
            headers,
        )

    def with_topic(self, topic: str) -> Self:
        """Return a record that differs only in its topic; faster than `replace`."""
        copy = self._copy()
        copy.topic = topic
        headers = self._headers
        copy._headers = headers.duplicate() if headers else None
        return copy

    def with_key(self, schema: Schema | None, key: Any) -> Self:
        """Return a record that differs only in its key; faster than `replace`."""
        copy = self._copy()
        copy.key_schema, copy.key = schema, key
        headers = self._headers
        copy._headers = headers.duplicate() if headers else None
        return copy

    def with_value(self, schema: Schema | None, value: Any) -> Self:
        """Return a record that differs only in its value; faster than `replace`."""
        copy = self._copy()
        copy.value_schema, copy.value = schema, value
        headers = self._headers
        copy._headers = headers.duplicate() if headers else None
        return copy

    def with_headers(self, headers: Headers) -> Self:
        """Return a record that differs only in its headers, which it takes over; faster than `replace`."""
        copy = self._copy()
        copy._headers = headers
        return copy

    @abstractmethod
    def _copy(self) -> Self:
        """Return a copy without headers; the caller sets `_headers`. A subclass adds the fields that it has itself."""

    def _copied_headers(self) -> Headers | None:
        return self._headers.duplicate() if self._headers else None

    def _identity(self) -> tuple[Any, ...]:
        """Return all fields that records are compared by, the cheapest ones first."""
        return (
            self.topic,
            self.kafka_partition,
            self.timestamp,
            self.key,
            self.value,
            self.key_schema,
            self.value_schema,
            self._headers or None,
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._identity() == other._identity()

    __hash__ = None  # type: ignore[assignment]


class SourceRecord(ConnectRecord):
    """A record on its way into Kafka.

    `source_partition` names the origin of the record (a file, a table, a shard) and `source_offset` the position to
    continue at after it: `OffsetStorageReader.offset(source_partition)` returns the committed offset of a partition::

        SourceRecord({"file": "/var/log/app"}, {"position": 1042}, "logs", value_schema=Schema.STRING, value=line)

    Both are flat maps of strings to None, booleans, numbers and strings, JSON-serialisable, and compared by value; many
    records may share one partition map. With a `source_partition` of None no offset is stored; a `source_offset` of
    None removes the committed offset of its partition.
    """

    __slots__ = ("source_offset", "source_partition")

    def __init__(
        self,
        source_partition: Mapping[str, Any] | None,
        source_offset: Mapping[str, Any] | None,
        topic: str,
        kafka_partition: int | None = None,
        key_schema: Schema | None = None,
        key: Any = None,
        value_schema: Schema | None = None,
        value: Any = None,
        timestamp: int | None = None,
        headers: Headers | None = None,
    ) -> None:
        self.source_partition = source_partition
        self.source_offset = source_offset
        self.topic = topic
        self.kafka_partition = kafka_partition
        self.key_schema = key_schema
        self.key = key
        self.value_schema = value_schema
        self.value = value
        self.timestamp = timestamp
        self._headers = headers

    def _copy(self) -> Self:
        copy = _new(type(self))
        copy.source_partition = self.source_partition
        copy.source_offset = self.source_offset
        copy.topic = self.topic
        copy.kafka_partition = self.kafka_partition
        copy.key_schema = self.key_schema
        copy.key = self.key
        copy.value_schema = self.value_schema
        copy.value = self.value
        copy.timestamp = self.timestamp
        return copy

    def _identity(self) -> tuple[Any, ...]:
        return (self.source_partition, self.source_offset, *ConnectRecord._identity(self))

    def __repr__(self) -> str:
        return (
            f"SourceRecord(source_partition={self.source_partition!r}, source_offset={self.source_offset!r}, "
            f"topic={self.topic!r}, kafka_partition={self.kafka_partition!r}, key={self.key!r}, value={self.value!r}, "
            f"timestamp={self.timestamp!r}, headers={self._headers!r})"
        )


class SinkRecord(ConnectRecord):
    """A record out of Kafka on its way to a sink task.

    `original_topic`, `original_kafka_partition` and `original_kafka_offset` are the record's coordinates as consumed,
    before transformations changed `topic` and `kafka_partition`; offsets that a task reports to the runtime must refer
    to these (KIP-793).
    """

    __slots__ = (
        "kafka_offset",
        "original_kafka_offset",
        "original_kafka_partition",
        "original_topic",
        "timestamp_type",
    )

    def __init__(
        self,
        topic: str,
        kafka_partition: int | None,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        kafka_offset: int,
        timestamp: int | None = None,
        timestamp_type: TimestampType = TimestampType.NO_TIMESTAMP_TYPE,
        headers: Headers | None = None,
        original_topic: str | None = None,
        original_kafka_partition: int | None = None,
        original_kafka_offset: int | None = None,
    ) -> None:
        self.topic = topic
        self.kafka_partition = kafka_partition
        self.key_schema = key_schema
        self.key = key
        self.value_schema = value_schema
        self.value = value
        self.kafka_offset = kafka_offset
        self.timestamp = timestamp
        self.timestamp_type = timestamp_type
        self._headers = headers
        self.original_topic = topic if original_topic is None else original_topic
        self.original_kafka_partition = (
            kafka_partition if original_kafka_partition is None else original_kafka_partition
        )
        self.original_kafka_offset = kafka_offset if original_kafka_offset is None else original_kafka_offset

    def _copy(self) -> Self:
        copy = _new(type(self))
        copy.topic = self.topic
        copy.kafka_partition = self.kafka_partition
        copy.key_schema = self.key_schema
        copy.key = self.key
        copy.value_schema = self.value_schema
        copy.value = self.value
        copy.timestamp = self.timestamp
        copy.kafka_offset = self.kafka_offset
        copy.timestamp_type = self.timestamp_type
        copy.original_topic = self.original_topic
        copy.original_kafka_partition = self.original_kafka_partition
        copy.original_kafka_offset = self.original_kafka_offset
        return copy

    def _identity(self) -> tuple[Any, ...]:
        return (
            self.kafka_offset,
            self.timestamp_type,
            self.original_topic,
            self.original_kafka_partition,
            self.original_kafka_offset,
            *ConnectRecord._identity(self),
        )

    def __repr__(self) -> str:
        return (
            f"SinkRecord(topic={self.topic!r}, kafka_partition={self.kafka_partition!r}, "
            f"kafka_offset={self.kafka_offset!r}, key={self.key!r}, value={self.value!r}, "
            f"timestamp={self.timestamp!r}, timestamp_type={self.timestamp_type.name}, headers={self._headers!r})"
        )
