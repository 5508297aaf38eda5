# SPDX-License-Identifier: Apache-2.0
"""Offsets topics that connectors have for themselves, in the cluster that their producers write to (KIP-618)."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Final

from headrace.api.errors import ConfigError, ConnectError
from headrace.config import client_configs
from headrace.config.source_connector_config import OFFSETS_TOPIC, own_offsets_topic
from headrace.config.worker_config import InternalTopic, WorkerConfig
from headrace.kafka.log.topic_identity import TopicLostError
from headrace.model.cluster_config_state import Config
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore, unusable
from headrace.worker.offsets.global_offset_copies import Source

_BROKERS_DEFAULTS: Final = InternalTopic("", -1, -1, {})
"""The settings of a connector's own offsets topic where the worker has none to take them from."""


class OwnOffsetTopics:
    """One store for each such topic, opened when it is first needed and then kept. Thread-safe."""

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._stores: dict[Source, KafkaOffsetBackingStore] = {}
        self._opening: dict[Source, threading.Lock] = {}

    def own_topic(self, config: Config) -> Source | None:
        """Return the connector's own topic; None if it keeps its offsets in the worker's."""
        topic, common = self.primary_topic(config), self._config.offset_topic
        elsewhere = client_configs.targets_other_cluster(self._config, config)
        if topic is None or (common is not None and topic == common.name and not elsewhere):
            return None
        return topic, client_configs.producer_servers(self._config, config)

    def primary_topic(self, config: Config) -> str | None:
        """Return the topic that the connector's tasks write to, in the cluster that they write to."""
        common = self._config.offset_topic
        return own_offsets_topic(config) or (common.name if common is not None else None)

    def opened(self, source: Source) -> KafkaOffsetBackingStore | None:
        """Return the store of that topic, if it is open and alive."""
        with self._lock:
            store = self._stores.get(source)
        return store if store is not None and store.failure() is None else None

    def get_store(self, config: Config, source: Source) -> KafkaOffsetBackingStore:
        """Return the topic's store; open it if needed, or if the former one died.

        One thread opens a store, the others that need it wait. Raise ConfigError, with the remedy, if the topic cannot
        be created or read; RetriableError while brokers are not available.
        """
        with self._lock:
            opening = self._opening.setdefault(source, threading.Lock())
        with opening:
            store = self.opened(source)
            if store is None:
                self._refuse_lost(config, source)
                store = self._open(config, source[0])
                with self._lock:
                    self._stores[source] = store
            return store

    def error(self, config: Config, source: Source) -> ConfigError | None:
        """Return the permanent failure of that topic, if there is one."""
        with self._lock:
            store = self._stores.get(source)
        failure = store.failure() if store is not None else None
        return unusable(config, *source, failure) if isinstance(failure, ConnectError) else None

    def _refuse_lost(self, config: Config, source: Source) -> None:
        """Raise if the topic was deleted: it is not created again, for tasks that begin there would repeat records."""
        error = self.error(config, source)
        with self._lock:
            store = self._stores.get(source)
        if error is not None and store is not None and isinstance(store.failure(), TopicLostError):
            raise error

    def _open(self, config: Config, name: str) -> KafkaOffsetBackingStore:
        topic = self._config.offset_topic or _BROKERS_DEFAULTS
        made = compacted_topic(name, "offset.storage", topic.partitions, topic.replication_factor, topic.config)
        spec = replace(made, loss="")
        if own_offsets_topic(config) is not None:
            spec = replace(spec, named_by=f"{OFFSETS_TOPIC} of connector {config['name']}")
        clients = LogClients(
            client_configs.source_offsets_consumer(self._config, config),
            None,
            client_configs.source_offsets_admin(self._config, config),
        )
        store = KafkaOffsetBackingStore(spec, clients)
        try:
            store.start()
        except ConnectError as error:
            store.stop()
            servers = client_configs.producer_servers(self._config, config)
            raise (unusable(config, name, servers, error) or error) from error
        return store

    def stop(self) -> None:
        """Close all stores."""
        with self._lock:
            stores = list(self._stores.values())
            self._stores.clear()
        for store in stores:
            store.stop()
