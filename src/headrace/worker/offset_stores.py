# SPDX-License-Identifier: Apache-2.0
"""Which store a connector's source offsets are in, and how its connector, its tasks and its users read them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.source import OffsetStorageReader
from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.config.source_connector_config import OFFSETS_TOPIC
from headrace.config.worker_config import BOOTSTRAP_SERVERS
from headrace.model.cluster_config_state import Config
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorOffset
from headrace.storage.connector_offset_backing_store import ConnectorOffsetBackingStore
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.json_bytes import loads
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore, OffsetBackingStore
from headrace.storage.offset_codec import encode_key, encode_offset
from headrace.storage.offset_storage_reader import StoreOffsetStorageReader
from headrace.worker.supervised_task import Offset, Partition

log = logging.getLogger(__name__)


class OffsetStores:
    """The worker's store, and one more for each offsets topic that connectors have for themselves. Thread-safe.

    Methods block on the brokers: reads for ``offset.read.timeout.ms`` at most, openings somewhat longer. The store of a
    connector's own topic is opened, and the topic made, when it is first needed, and then kept until ``stop``.
    """

    def __init__(self, config: DistributedConfig, worker_store: OffsetBackingStore) -> None:
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
        topic = config.get(OFFSETS_TOPIC)
        own_cluster = self._bootstrap(config) != self._config.bootstrap_servers
        return topic is not None and (topic != self._config.offset_topic.name or own_cluster)

    def copy_to_worker_store(self, connector: str, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Keeps the worker's topic up with a connector's own, as well as it goes, should that setting be taken back."""
        records = {encode_key(connector, partition): encode_offset(offset) for partition, offset in offsets}
        self._worker_store.set(records).add_done_callback(lambda done: _warn_if_failed(done, connector))

    def stop(self) -> None:
        """Closes the stores that were opened here. Later calls for connectors with a topic of their own fail."""
        with self._lock:
            stores = list(self._own.values())
            self._own.clear()
        for store in stores:
            store.stop()

    def _own_store(self, config: Config) -> KafkaOffsetBackingStore:
        """One thread opens a store, the others that need it wait; one that died is opened anew."""
        key = (str(config[OFFSETS_TOPIC]), self._bootstrap(config))
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
        topic = self._config.offset_topic
        spec = compacted_topic(
            str(config[OFFSETS_TOPIC]), "offset.storage", topic.partitions, topic.replication_factor, topic.config
        )
        clients = LogClients(
            client_configs.source_offsets_consumer(self._config, config),
            None,
            client_configs.source_offsets_admin(self._config, config),
        )
        store = KafkaOffsetBackingStore(spec, clients)
        store.start()
        return store

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
