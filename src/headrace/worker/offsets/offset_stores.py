# SPDX-License-Identifier: Apache-2.0
"""The stores of connectors' source offsets, for connectors, tasks and users."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import ConfigError, RetriableError
from headrace.api.source import OffsetStorageReader
from headrace.config import client_configs
from headrace.config.client_configs import TRANSACTIONAL_ID
from headrace.config.source_connector_config import OFFSETS_TOPIC
from headrace.config.worker_config import WorkerConfig
from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.errors import ProducerFencedError
from headrace.model.cluster_config_state import Config
from headrace.model.deadline import Clock
from headrace.model.futures import all_of, map_future
from headrace.model.info import ConnectorOffset
from headrace.storage.json_bytes import loads
from headrace.storage.offset_backing_store import ConnectorOffsetBackingStore, OffsetBackingStore
from headrace.storage.offset_codec import encode_key, encode_offset, migration_record
from headrace.storage.offset_storage_reader import StoreOffsetStorageReader, await_offsets
from headrace.worker.offsets.global_offset_copies import CopyLag, GlobalOffsetCopies
from headrace.worker.offsets.own_offset_topics import OwnOffsetTopics

log = logging.getLogger(__name__)

_LAST_COPIES_S: Final = 2.0
"""Seconds that a stopping worker waits for copies of offsets under way."""
_STEP_TIMEOUT_S: Final = 60.0
"""Seconds for each step: to become the only writer, to have all delivered, to commit."""


@dataclass(frozen=True, slots=True)
class Migration:
    """``copied`` offsets are in the connector's own ``topic`` now; with ``before`` it held them, or knew of none."""

    topic: str
    copied: int
    before: bool = False


class OffsetStores:
    """The worker's store, and one more for each offsets topic that connectors have for themselves. Thread-safe.

    Methods block on the brokers: reads for ``offset.read.timeout.ms`` at most, openings somewhat longer. The store of a
    connector's own topic is opened, and the topic created, when it is first needed, and then kept until ``stop``.
    """

    def __init__(self, config: WorkerConfig, worker_store: OffsetBackingStore, clock: Clock = time.monotonic) -> None:
        self._config = config
        self._worker_store = worker_store
        self._own = OwnOffsetTopics(config)
        self._copies = GlobalOffsetCopies(worker_store, self._own.opened, clock)

    def reader(self, config: Config) -> OffsetStorageReader:
        """Return a reader of the offsets of the connector with that configuration."""
        return StoreOffsetStorageReader(str(config["name"]), self.store_of(config), self._config.offset_read_timeout)

    def offsets(self, config: Config) -> tuple[ConnectorOffset, ...]:
        """Return all stored offsets of the connector (KIP-875). Raise RetriableError if they are not read in time."""
        store, name = self.store_of(config), str(config["name"])
        what = f"The offsets of connector {name}"
        stored = await_offsets(store.offsets_of(name), store, self._config.offset_read_timeout, what)
        return tuple(ConnectorOffset(loads(partition), offset) for partition, offset in stored.items())

    def store_of(self, config: Config) -> OffsetBackingStore:
        """Return the connector's view: its own topic first, where it has one, then the worker's (KIP-618).

        Raise RetriableError while offsets that this worker's tasks have committed to another topic are not copied yet.
        """
        source = self._own.own_topic(config)
        self._copies.await_moved(str(config["name"]), source, self._config.offset_read_timeout)
        if source is None:
            return self._worker_store
        return ConnectorOffsetBackingStore(self._own.get_store(config, source), self._worker_store)

    def has_own(self, config: Config) -> bool:
        """Return true if the connector keeps its offsets elsewhere than the worker does."""
        return self._own.own_topic(config) is not None

    def own_topic_error(self, config: Config) -> ConfigError | None:
        """Return the permanent failure of the connector's own topic, if there is one. Never blocks."""
        source = self._own.own_topic(config)
        return self._own.error(config, source) if source is not None else None

    def copy_to_worker_store(self, config: Config, records: Mapping[bytes, bytes | None]) -> None:
        """Copy offsets of a connector's own topic to the worker's, should that setting be taken back. Never blocks."""
        source = self._own.own_topic(config)
        if source is not None:
            self._copies.put(str(config["name"]), records, source)

    def copy_lag(self, config: Config) -> CopyLag:
        """Return the lag of the worker's topic behind the connector's own."""
        return self._copies.lag(str(config["name"]))

    def copy_missing(self, config: Config, keys: Iterable[bytes]) -> None:
        """Copy the offsets that a worker which died did not copy. Never blocks.

        To be called by the only writer of those offsets, before it commits any.
        """
        source = self._own.own_topic(config)
        own = self._own.opened(source) if source is not None else None
        if own is None:
            return
        requested = list(keys)
        committed, copied = own.get(requested), self._worker_store.get(requested)

        def compare() -> None:
            ours, theirs = committed.result(), copied.result()
            missing = {key: ours[key] for key in requested if ours[key] is not None and ours[key] != theirs[key]}
            if missing:
                self.copy_to_worker_store(config, missing)

        map_future(all_of([committed, copied]), lambda _: compare())

    def log_origin(self, config: Config) -> None:
        """Log the topics that the offsets of a connector with a topic of its own come from. Never blocks."""
        source = self._own.own_topic(config)
        own = self._own.opened(source) if source is not None else None
        if source is None or own is None:
            return
        name = str(config["name"])
        first, second = own.offsets_of(name), self._worker_store.offsets_of(name)

        def log_topics() -> None:
            ours, theirs = first.result(), second.result()
            if ours or theirs:
                message = "Connector %s: topic '%s' holds %s; %d of %d source partitions come from the worker's topic"
                held = f"offsets of {len(ours)} source partitions" if ours else "nothing for it yet"
                log.info(message, name, source[0], held, len(theirs.keys() - ours.keys()), len({**theirs, **ours}))

        map_future(all_of([first, second]), lambda _: log_topics())

    def migrate(self, config: Config) -> Migration:
        """Copy a connector's offsets to its own topic if that holds none, as in KIP-618's older text.

        The connector's tasks must have ended, or be fenced. With exactly-once on all of it is one transaction. Blocks.
        Raise ConfigError if the connector has no such topic, RetriableError if it is not known whether all is written.
        """
        name, source = str(config["name"]), self._own.own_topic(config)
        if source is None:
            reason = "the connector keeps its offsets in the worker's topic, so there is nothing to copy them to"
            raise ConfigError.invalid(OFFSETS_TOPIC, config.get(OFFSETS_TOPIC), reason)
        own, timeout = self._own.get_store(config, source), self._config.offset_read_timeout
        sentinel, migrated = migration_record(name)
        what = f"The offsets of connector {name}"
        held = await_offsets(own.offsets_of(name), own, timeout, what)
        if held or await_offsets(own.get([sentinel]), own, timeout, what)[sentinel] is not None:
            return Migration(source[0], 0, before=True)
        common = self._worker_store
        found = await_offsets(common.offsets_of(name), common, timeout, what)
        records = {encode_key(name, loads(partition)): encode_offset(offset) for partition, offset in found.items()}
        write_offsets(
            client_configs.offset_alter_producer(self._config, config), source[0], records or {sentinel: migrated}
        )
        self._read_back(config, records or {sentinel: migrated})
        return Migration(source[0], len(records))

    def write_to_worker_store(self, records: Mapping[bytes, bytes | None]) -> None:
        """Write the records and block until they are written.

        Raise RetriableError after ``offset.flush.timeout.ms``; they may still be written later.
        """
        timeout = self._config.offset_flush_timeout
        try:
            self._worker_store.set(records).result(timeout)
        except TimeoutError as error:
            waiting = self._worker_store.waiting_for() or "the offsets store"
            late = f"they were not written within offset.flush.timeout.ms = {timeout * 1000:g}"
            raise RetriableError(f"{late}: waiting for {waiting}") from error

    def alter(self, config: Config, records: Mapping[bytes, bytes | None]) -> None:
        """Write offset records to every topic that the connector's offsets are in, and read them back (KIP-875).

        The connector's tasks must have ended, or be fenced. With exactly-once on, its primary topic gets all in one
        transaction. Raise RetriableError if it is not known whether they are written; they can be written again.
        """
        if not records:
            return
        own = self.has_own(config)
        self._copies.forget(str(config["name"]))
        if own:
            # Tombstones first, or a crash would bring the common topic's old offsets back (KAFKA-15018).
            self._write_common({key: value for key, value in records.items() if value is None})
        topic = self._own.primary_topic(config)
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
        store, timeout = self.store_of(config), self._config.offset_read_timeout
        what = f"The offsets of connector {config['name']}, which were written,"
        found = await_offsets(store.get(list(records)), store, timeout, what)
        if found != dict(records):
            raise RetriableError(f"Another process writes offsets of connector {config['name']} at the same time")

    def stop(self) -> None:
        """Close the stores that were opened here. Later calls for connectors with a topic of their own fail."""
        self._copies.stop(_LAST_COPIES_S)
        self._own.stop()


def write_offsets(props: Mapping[str, str], topic: str, records: Mapping[bytes, bytes | None]) -> None:
    """Write all in one transaction if ``props`` have a ``transactional.id``; else one after the other. Blocks.

    Raise RetriableError if they may or may not be written.
    """
    if TRANSACTIONAL_ID in props:
        _write_transaction(props, topic, records)
    else:
        _write_plainly(props, topic, records)


def _write_transaction(props: Mapping[str, str], topic: str, records: Mapping[bytes, bytes | None]) -> None:
    producer = TransactionalProducer(props)
    try:
        producer.init_transactions(_STEP_TIMEOUT_S, topic)
        producer.begin()
        for key, value in records.items():
            producer.records.send(topic, key, value)
        producer.commit(_STEP_TIMEOUT_S, len(records))
    except ProducerFencedError as error:
        # The connector's first task has this transactional.id too: it may run again, by another leader's will.
        raise RetriableError(f"Another worker writes with transactional.id {producer.transactional_id} now") from error
    finally:
        producer.close()


def _write_plainly(props: Mapping[str, str], topic: str, records: Mapping[bytes, bytes | None]) -> None:
    producer = RecordProducer(props)
    try:
        for key, value in records.items():
            producer.send(topic, key, value)
        delivered = producer.flush(_STEP_TIMEOUT_S)
        failure = producer.delivery_failure()
        if failure is not None:
            raise failure
        if not delivered:
            raise RetriableError(f"The offsets were not written to topic {topic} in {_STEP_TIMEOUT_S:g} s")
    finally:
        producer.close()
