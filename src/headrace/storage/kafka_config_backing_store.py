# SPDX-License-Identifier: Apache-2.0
"""The configuration in Kafka's config topic. Java: ``KafkaConfigBackingStore``."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from headrace.api.errors import ConfigError, ConnectError, DataError
from headrace.kafka.admin.topic_admin import TopicSpec
from headrace.kafka.data.record_producer import UNKNOWN_OFFSET
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.errors import ProducerFencedError, connect_error, fatal_error, is_too_large
from headrace.kafka.log.kafka_based_log import LogRecord
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.storage import config_records as records
from headrace.storage.config_backing_store import FencedLeaderError, OnConfigUpdate
from headrace.storage.config_log import ConfigLog, ConfigUpdate
from headrace.storage.config_write_encoder import describe_write, encode_write
from headrace.storage.config_writes import ConfigWrite, ConnectorRemoval
from headrace.storage.internal_topic import LogClients, await_end, open_log

log = logging.getLogger(__name__)
_TIMEOUT = 30.0  # Java: READ_WRITE_TOTAL_TIMEOUT_MS


@dataclass(eq=False, slots=True)
class _Group:
    """The records of one write, and where they end in the topic, once they are committed."""

    what: str
    records: Sequence[records.Record]
    end: Future[int | None] = field(default_factory=Future)

    def refuse(self, error: ConnectError, cause: Exception | None = None) -> None:
        """Have the write raise ``error``."""
        if cause is not error:
            error.__cause__ = cause
        self.end.set_exception(error)


class KafkaConfigBackingStore:
    """Implements ``ConfigBackingStore``.

    Every write is in one transaction of the producer ``leader_producer`` describes, whether sources are exactly-once or
    not, and the topic is read read_committed: a record group is seen as a whole or not at all (invariant 7). Writes
    that come while a transaction is under way share the next one. A producer is closed after any error, since the
    outcome of its transaction is not known (invariant 5).
    ``on_update`` is called on the log's thread, once per batch of records, after ``snapshot`` holds the change; not for
    what is read during ``start``. It must not block, nor call this store's blocking methods.
    """

    def __init__(
        self,
        topic: TopicSpec,
        clients: LogClients,
        leader_producer: Mapping[str, str],
        on_update: OnConfigUpdate,
    ) -> None:
        self._topic = topic
        committed = replace(clients, consumer={**clients.consumer, "isolation.level": "read_committed"}, producer=None)
        self._log = open_log(replace(topic, partitions=1), committed, self._on_records)
        self._leader_producer = leader_producer
        self._on_update = on_update
        self._fold = ConfigLog()
        self._snapshot = self._fold.state
        self._started = False
        self._waiting: deque[_Group] = deque()
        self._alone = 0
        """Transactions that are to hold one write only, since one that was shared had too large a record."""
        self._writing = threading.Lock()
        self._producer: TransactionalProducer | None = None

    def start(self) -> None:
        """Create the topic if need be and read it. Raise ConfigError if the topic cannot be what it has to be."""
        self._fold = ConfigLog()  # A start that took too long has read a part, and is made again.
        self._log.start()
        if len(self._log.partitions) != 1:
            self._log.stop()
            name = f"{self._topic.prefix or 'config.storage'}.topic"
            found = f"it has {len(self._log.partitions)} partitions and must have one, or records lose their order"
            raise ConfigError.invalid(name, self._topic.name, found)
        self._started = True

    def stop(self) -> None:
        self.release_write_privileges()
        self._log.stop()

    def failure(self) -> BaseException | None:
        """Return the error that ended the reading, if there is one; the worker can do nothing but end."""
        return self._log.failure()

    def snapshot(self) -> ClusterConfigState:
        return self._snapshot

    def refresh(self, timeout: float) -> ClusterConfigState:
        await_end(self._log, self._log.read_to_end(), timeout)
        return self._snapshot

    def waiting_for(self) -> str | None:
        """Return the reason for which a read to the end waits, in words."""
        return self._log.waiting_for()

    # ---- write privileges

    def claim_write_privileges(self, timeout: float = _TIMEOUT) -> None:
        with self._writing:
            if self._producer is not None:
                return
            producer = TransactionalProducer(self._leader_producer, every_delivery=True)
            try:
                producer.init_transactions(timeout, self._topic.name)
            except ConnectError:
                producer.close()
                raise
            self._producer = producer

    def release_write_privileges(self) -> None:
        with self._writing:
            self._drop_producer()

    # ---- writes

    def write(self, write: ConfigWrite) -> None:
        if isinstance(write, ConnectorRemoval):
            self.refresh(_TIMEOUT)  # it removes every record there is
        encoded = encode_write(write, self._snapshot, self._fold.live_keys)
        if not encoded:
            return
        group = _Group(describe_write(write), encoded)
        self._waiting.append(group)
        with self._writing:
            if not group.end.done():  # or the writer before has written it
                self._write_groups(self._next_groups(group))
        end = group.end.result()
        read = self._log.read_to_end() if end is None else self._log.read_up_to({0: end})
        await_end(self._log, read, _TIMEOUT)

    def _next_groups(self, group: _Group) -> Sequence[_Group]:
        """Return the groups of the next transaction: all that wait, ``group`` among them, or it alone."""
        if self._alone:
            self._alone -= 1
            self._waiting.remove(group)
            return [group]
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def _write_groups(self, groups: Sequence[_Group]) -> None:
        """Write groups in one transaction, and set the end of each, or its error."""
        producer = self._producer
        if producer is None:
            for group in groups:
                group.refuse(
                    FencedLeaderError(f"Cannot write {group.what}: this worker may not write the config topic")
                )
            return
        try:
            # Brokers may create a deleted topic again on a write: an empty cluster would begin in it.
            self._log.check_topic()
            end = self._write_transaction(producer, [record for group in groups for record in group.records])
        except Exception as e:
            self._refuse_all(producer, groups, e)
        else:
            for group in groups:
                group.end.set_result(end)
        finally:
            for group in groups:  # nobody is to wait for a write that has been given up
                group.end.cancel()

    def _refuse_all(self, producer: TransactionalProducer, groups: Sequence[_Group], cause: Exception) -> None:
        """Fail the writes of a transaction that was not, or may not be, committed; drop the producer (invariant 5).

        The next claim ends the transaction. Of writes that shared it one may have been too large, and nobody knows
        which: each is to be tried again, alone.
        """
        fatal = fatal_error(producer.records.client)
        self._drop_producer()
        again = is_too_large(cause) and len(groups) > 1
        if again:
            self._alone = len(groups)
        for group in groups:
            error = connect_error(fatal or cause, f"writing {group.what} as {producer.transactional_id}")
            if isinstance(error, ProducerFencedError):
                error = FencedLeaderError(f"Another worker has become the leader: {error}")
            elif again:
                error = FencedLeaderError(f"Another write was too large: {group.what} has to be written again, alone")
            elif is_too_large(cause):
                error = ConfigError(
                    f"Cannot write {group.what}: it is larger than topic '{self._topic.name}' takes "
                    "(max.request.size of the worker, max.message.bytes of the topic)"
                )
            group.refuse(error, cause)

    def _write_transaction(self, producer: TransactionalProducer, group: Sequence[records.Record]) -> int | None:
        """Write records; return the offset behind the last one, None if the brokers do not report it."""
        offsets: list[int] = []

        def delivered(topic: str, partition: int, offset: int, timestamp: int | None) -> None:
            offsets.append(offset)

        producer.begin()
        for key, value in group:
            producer.records.send(self._topic.name, key, value, 0, on_delivered=delivered)
        producer.commit(_TIMEOUT, len(group))
        return None if UNKNOWN_OFFSET in offsets else max(offsets) + 1

    def _drop_producer(self) -> None:
        if self._producer is not None:
            self._producer.close()
            self._producer = None

    # ---- reading, on the log's thread

    def _on_records(self, batch: Sequence[LogRecord]) -> None:
        updates: list[ConfigUpdate] = []
        debug = log.isEnabledFor(logging.DEBUG)
        for record in batch:
            if debug:  # the key alone: values hold secrets
                log.debug("Config topic, offset %d: %s", record.offset, (record.key or b"").decode(errors="replace"))
            try:
                updates.extend(self._fold.apply(record.key, record.value, record.offset))
            except DataError as e:
                # Java's worker dies of such a record for good; only a stranger can have written it.
                log.error("Offset %d of topic '%s' is skipped: %s", record.offset, self._topic.name, e)
        self._snapshot = self._fold.state
        # Not every record is an update of its own, but each moves the snapshot (a task count record: invariant 6).
        if self._started:
            self._on_update(self._snapshot, tuple(updates))
