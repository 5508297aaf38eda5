# SPDX-License-Identifier: Apache-2.0
"""Which store a connector's source offsets are in, and how its connector, its tasks and its users read them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.source import OffsetStorageReader
from headrace.config import client_configs
from headrace.config.source_connector_config import OFFSETS_TOPIC
from headrace.config.worker_config import BOOTSTRAP_SERVERS, InternalTopic, WorkerConfig
from headrace.model.cluster_config_state import Config
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorOffset
from headrace.storage.connector_offset_backing_store import ConnectorOffsetBackingStore
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.json_bytes import loads
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore, OffsetBackingStore
from headrace.storage.offset_codec import encode_key, encode_offset
from headrace.storage.offset_storage_reader import StoreOffsetStorageReader
from headrace.worker.offset_writer import write_offsets
from headrace.worker.supervised_task import Offset, Partition

log = logging.getLogger(__name__)

_BROKERS_DEFAULTS = InternalTopic("", -1, -1, {})
"""How a connector's own offsets topic is made where the worker has none to take the settings from."""


class OffsetStores:
    """The worker's store, and one more for each offsets topic that connectors have for themselves. Thread-safe.

    Methods block on the brokers: reads for ``offset.read.timeout.ms`` at most, openings somewhat longer. The store of a
    connector's own topic is opened, and the topic made, when it is first needed, and then kept until ``stop``.
    """

    def __init__(self, config: WorkerConfig, worker_store: OffsetBackingStore) -> None:
        self._config = config
        self._worker_store = worker_store
        self._lock = threading.Lock()
        self._own: dict[tuple[str, str], KafkaOffsetBackingStore] = {}
        self._opening: dict[tuple[str, str], threading.Lock] = {}

    def reader(self, config: Config) -> OffsetStorageReader:
        """Reads the offsets of the connector with that configuration."""
        return StoreOffsetStorageReader(str(config["name"]), self.of(config), self._config.offset_read_timeout)

    def offsets(self, config: Config) -> tuple[ConnectorOffset, ...]:
        """Whatever offsets the connector has stored (KIP-875). RetriableError if they are not read in time."""
        store, timeout = self.of(config), self._config.offset_read_timeout
        try:
            stored = store.offsets_of(str(config["name"])).result(timeout)
        except TimeoutError as error:
            waiting = store.waiting_for() or "the offsets topic"
            raise RetriableError(
                f"The offsets of connector {config['name']} were not read in {timeout:g} s: waiting for {waiting}"
            ) from error
        return tuple(ConnectorOffset(loads(partition), offset) for partition, offset in stored.items())

    def of(self, config: Config) -> OffsetBackingStore:
        """The connector's view: its own topic first, where it has one, then the worker's (KIP-618)."""
        if not self.has_own(config):
            return self._worker_store
        return ConnectorOffsetBackingStore(self._own_store(config), self._worker_store)

    def has_own(self, config: Config) -> bool:
        """Whether the connector keeps its offsets elsewhere than the worker does."""
        topic, common = self._topic(config), self._config.offset_topic
        if topic is None:
            return False
        return common is None or topic != common.name or self._bootstrap(config) != self._config.bootstrap_servers

    def copy_to_worker_store(self, connector: str, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Keeps the worker's topic up with a connector's own, as well as it goes, should that setting be taken back."""
        records = {encode_key(connector, partition): encode_offset(offset) for partition, offset in offsets}
        self._worker_store.set(records).add_done_callback(lambda done: _warn_if_failed(done, connector))

    def write_to_worker_store(self, records: Mapping[bytes, bytes | None]) -> None:
        """Blocks until they are written. RetriableError after ``offset.flush.timeout.ms``: they may be, later."""
        timeout = self._config.offset_flush_timeout
        try:
            self._worker_store.set(records).result(timeout)
        except TimeoutError as error:
            waiting = self._worker_store.waiting_for() or "the offsets store"
            late = f"they were not written within offset.flush.timeout.ms = {timeout * 1000:g}"
            raise RetriableError(f"{late}: waiting for {waiting}") from error

    def alter(self, config: Config, records: Mapping[bytes, bytes | None]) -> None:
        """Writes offset records to every topic that the connector's offsets are in, and reads them back (KIP-875).

        The connector's tasks must have ended, or be fenced. With exactly-once on, its primary topic gets all in one
        transaction. RetriableError if it is not known whether they are written; they can be written again.
        """
        if not records:
            return
        own = self.has_own(config)
        if own:
            # Tombstones first, or a crash would bring the common topic's old offsets back (KAFKA-15018).
            self._write_common({key: value for key, value in records.items() if value is None})
        topic = self._topic(config)
        if topic is not None and (own or self._config.exactly_once_source_enabled):
            write_offsets(client_configs.offset_alter_producer(self._config, config), topic, records)
        else:
            self.write_to_worker_store(records)
        if own:
            self._write_common({key: value for key, value in records.items() if value is not None})
        self._read_back(config, records)

    def _write_common(self, records: Mapping[bytes, bytes | None]) -> None:
        if records:
            self.write_to_worker_store(records)

    def _read_back(self, config: Config, records: Mapping[bytes, bytes | None]) -> None:
        store, timeout = self.of(config), self._config.offset_read_timeout
        try:
            found = store.get(list(records)).result(timeout)
        except TimeoutError as error:
            waiting = store.waiting_for() or "the offsets topic"
            message = f"The offsets of connector {config['name']} were written but not read back in {timeout:g} s"
            raise RetriableError(f"{message}: waiting for {waiting}") from error
        if found != dict(records):
            raise RetriableError(f"Somebody else writes offsets of connector {config['name']} at the same time")

    def stop(self) -> None:
        """Closes the stores that were opened here. Later calls for connectors with a topic of their own fail."""
        with self._lock:
            stores = list(self._own.values())
            self._own.clear()
        for store in stores:
            store.stop()

    def _own_store(self, config: Config) -> KafkaOffsetBackingStore:
        """One thread opens a store, the others that need it wait; one that died is opened anew."""
        key = (str(self._topic(config)), self._bootstrap(config))
        with self._lock:
            opening = self._opening.setdefault(key, threading.Lock())
        with opening:
            with self._lock:
                store = self._own.get(key)
            if store is None or store.failure() is not None:
                store = self._open(config)
                with self._lock:
                    self._own[key] = store
            return store

    def _open(self, config: Config) -> KafkaOffsetBackingStore:
        topic = self._config.offset_topic or _BROKERS_DEFAULTS
        spec = compacted_topic(
            str(self._topic(config)), "offset.storage", topic.partitions, topic.replication_factor, topic.config
        )
        clients = LogClients(
            client_configs.source_offsets_consumer(self._config, config),
            None,
            client_configs.source_offsets_admin(self._config, config),
        )
        store = KafkaOffsetBackingStore(spec, clients)
        store.start()
        return store

    def _topic(self, config: Config) -> str | None:
        """The topic that the connector's tasks write to, in the cluster that they write to."""
        common = self._config.offset_topic
        return config.get(OFFSETS_TOPIC) or (common.name if common is not None else None)

    def _bootstrap(self, config: Config) -> str:
        return client_configs.source_offsets_consumer(self._config, config)[BOOTSTRAP_SERVERS]


class SourceTaskOffsets:
    """``TaskOffsets`` of one task."""

    def __init__(self, stores: OffsetStores, id: ConnectorTaskId, config: Config) -> None:
        self._stores = stores
        self._id = id
        self._config = config

    def prepare(self) -> None:
        self._stores.of(self._config)

    def read(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        return list(self._stores.reader(self._config).offsets(partitions))

    def write(self, records: Mapping[bytes, bytes | None]) -> None:
        self._stores.write_to_worker_store(records)

    def committed(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        try:
            if self._stores.has_own(self._config):
                self._stores.copy_to_worker_store(self._id.connector, offsets)
        except ConnectError as error:
            log.warning("Offsets of task %s are not copied to the worker's offsets topic: %s", self._id, error)


def _warn_if_failed(done: Future[None], connector: str) -> None:
    error = done.exception()
    if error is not None:
        log.warning("Offsets of connector %s were not copied to the worker's offsets topic: %s", connector, error)
