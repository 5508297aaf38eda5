# SPDX-License-Identifier: Apache-2.0
"""Source offsets in an offsets topic. Java: ``KafkaOffsetBackingStore``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from headrace.kafka.admin.topic_admin import TopicSpec
from headrace.kafka.log.kafka_based_log import LogRecord
from headrace.model.futures import all_of, map_future
from headrace.storage import offset_codec
from headrace.storage.internal_topic import LogClients, open_log

_T = TypeVar("_T")


class OffsetBackingStore(Protocol):
    """A store of offset records by key. No call blocks; futures fail with ConnectError."""

    def offsets_of(self, connector: str) -> Future[dict[bytes, dict[str, Any]]]: ...

    def get(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]: ...

    def set(self, records: Mapping[bytes, bytes | None]) -> Future[None]: ...

    def waiting_for(self) -> str | None: ...


class OffsetTable:
    """The offsets topic's newest values. Pure. Used by one thread at a time."""

    def __init__(self) -> None:
        self.values: dict[bytes | None, bytes] = {}
        self._partitions: dict[str, dict[bytes, bytes]] = {}

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        """Take in one record."""
        if value is None:
            if self.values.pop(key, None) is None:
                return
        else:
            known = key in self.values
            self.values[key] = value
            if known:
                return
        decoded = offset_codec.decode_key(key)
        if decoded is None or key is None:
            return
        connector, partition = decoded
        canonical = offset_codec.encode_partition(partition)
        keys = self._partitions.setdefault(connector, {})
        if value is None:
            if keys.get(canonical) == key:
                del keys[canonical]
        elif canonical not in keys or key == offset_codec.encode_key(connector, partition):
            # A key with other spacing names the same partition; the one as Java and we write it counts.
            keys[canonical] = key

    def partitions_of(self, connector: str) -> tuple[bytes, ...]:
        """Return the connector's source partitions as JSON."""
        return tuple(self._partitions.get(connector, ()))

    def offsets_of(self, connector: str) -> dict[bytes, dict[str, Any]]:
        """Return the connector's offsets by its partitions' JSON. Raise DataError for an unreadable one."""
        found: dict[bytes, dict[str, Any]] = {}
        for partition, key in self._partitions.get(connector, {}).items():
            offset = offset_codec.decode_offset(self.values.get(key))
            if offset is not None:
                found[partition] = offset
        return found


class KafkaOffsetBackingStore:
    """Implements ``OffsetBackingStore`` over one topic, the cluster's or a connector's own.

    ``start`` and ``stop`` block. Reads answer after a read to the end of the topic (invariant 3): with open
    transactions in it and a read_committed consumer that is when those have ended. Futures end on the log's threads.
    """

    def __init__(self, topic: TopicSpec, clients: LogClients) -> None:
        self._log = open_log(topic, clients, self._on_records)
        self._table = OffsetTable()
        self._lock = threading.Lock()

    @property
    def topic(self) -> str:
        return self._log.topic

    @property
    def topic_id(self) -> str:
        """The topic's id, once it was read; empty with brokers that know of none."""
        return self._log.topic_id

    def start(self) -> None:
        """Create the topic if need be and read it. Raise ConfigError if it is not compacted."""
        self._log.start()

    def stop(self) -> None:
        self._log.stop()

    def failure(self) -> BaseException | None:
        """Return the error that ended the reading, if there is one."""
        return self._log.failure()

    def waiting_for(self) -> str | None:
        """Return the reason for which reads wait, in words."""
        return self._log.waiting_for()

    def offsets_of(self, connector: str) -> Future[dict[bytes, dict[str, Any]]]:
        """Return all offsets of a connector, by the JSON of the source partition."""
        return self._read(lambda: self._table.offsets_of(connector))

    def get(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        """Return the newest values of ``keys`` (``offset_codec.encode_key``), None where there is none."""
        return self._read(lambda: {key: self._table.values.get(key) for key in keys})

    def set(self, records: Mapping[bytes, bytes | None]) -> Future[None]:
        """Write records; the future ends when all are written, with the first error if one is not."""
        return all_of([self._log.send(key, value) for key, value in records.items()])

    def _read(self, look: Callable[[], _T]) -> Future[_T]:
        def locked() -> _T:
            with self._lock:
                return look()

        return map_future(self._log.read_to_end(), lambda _: locked())

    def _on_records(self, batch: Sequence[LogRecord]) -> None:
        with self._lock:
            for record in batch:
                self._table.apply(record.key, record.value)
