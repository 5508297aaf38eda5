# SPDX-License-Identifier: Apache-2.0
"""Source offsets in offsets topics. Java: ``KafkaOffsetBackingStore``, ``ConnectorOffsetBackingStore``.

A connector's own topic, where it has one, is read before the cluster's (KIP-618, "smooth migration").
``unusable`` is the error for one that cannot be used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, Protocol, TypeVar

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.config.source_connector_config import OFFSETS_TOPIC, own_offsets_topic
from headrace.kafka.admin.topic_admin import TopicSpec
from headrace.kafka.errors import AuthorizationError
from headrace.kafka.log.kafka_based_log import LogRecord
from headrace.kafka.log.topic_identity import TopicLostError
from headrace.model.cluster_config_state import Config
from headrace.model.futures import all_of, chain_future, map_future
from headrace.storage import offset_codec
from headrace.storage.internal_topic import LogClients, open_log

_T = TypeVar("_T")
_OTHER_CLUSTER: Final = "producer.override.bootstrap.servers"


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


class ConnectorOffsetBackingStore:
    """One connector's view of two stores: the ``primary`` one, and the ``secondary`` it falls back to, if any."""

    def __init__(self, primary: OffsetBackingStore, secondary: OffsetBackingStore | None = None) -> None:
        self._primary = primary
        self._secondary = secondary

    def waiting_for(self) -> str | None:
        """Return the reason for which reads wait, in words."""
        return self._primary.waiting_for() or (self._secondary.waiting_for() if self._secondary else None)

    def offsets_of(self, connector: str) -> Future[dict[bytes, dict[str, Any]]]:
        """Return all offsets of a connector, by the JSON of the source partition; the primary's override."""
        own = self._primary.offsets_of(connector)
        if self._secondary is None:
            return own
        common = self._secondary.offsets_of(connector)
        return map_future(all_of([own, common]), lambda _: {**common.result(), **own.result()})

    def get(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        """Return the newest values, the primary's where it has one."""
        own = self._primary.get(keys)
        if self._secondary is None:
            return own
        common = self._secondary.get(keys)

        def merged() -> dict[bytes, bytes | None]:
            first, second = own.result(), common.result()
            return {key: first[key] if first[key] is not None else second[key] for key in keys}

        return map_future(all_of([own, common]), lambda _: merged())

    def set(self, records: Mapping[bytes, bytes | None]) -> Future[None]:
        """Write records to the primary store.

        Tombstones go to the secondary store first and only then, with all else, to the primary: a crash between them
        must not bring the secondary's old offsets back (KAFKA-15018).
        """
        tombstones = {key: value for key, value in records.items() if value is None}
        if self._secondary is None or not tombstones:
            return self._primary.set(records)
        return chain_future(self._secondary.set(tombstones), lambda _: self._primary.set(records))


def unusable(connector: Config, topic: str, servers: str, error: ConnectError) -> ConfigError | None:
    """Return the error for a topic that cannot be created, read or written to; None if ``error`` may pass by itself.

    ``connector`` is the configuration, ``servers`` are those of the cluster that the connector produces to.
    """
    if isinstance(error, RetriableError):
        return None
    return ConfigError(
        f"Connector {connector['name']} keeps its offsets in topic '{topic}' of the cluster at {servers} "
        f"({_why(connector, topic)}), which it cannot use: {str(error).rstrip('.')}. {_advice(error)} Then restart it",
        OFFSETS_TOPIC,
        topic,
    )


def _why(connector: Config, topic: str) -> str:
    if own_offsets_topic(connector) is not None:
        return f"{OFFSETS_TOPIC}={topic}"
    if _OTHER_CLUSTER in connector:
        return f"for {_OTHER_CLUSTER}={connector[_OTHER_CLUSTER]} are not the worker's"
    return "the worker's offset.storage.topic"


def _advice(error: ConnectError) -> str:
    if isinstance(error, AuthorizationError):
        return (
            "Let its admin principal (admin.override.*) Describe the topic, and Create it unless it is there already, "
            "compacted; let its consumer's (consumer.override.*) Read it, and its producer's (producer.override.*) "
            "Write it."
        )
    if isinstance(error, TopicLostError):
        return "Restart the workers: they create it and continue from the copies of its offsets in the worker's topic."
    return f"Make the topic beforehand, compacted, or name another one in {OFFSETS_TOPIC}."
