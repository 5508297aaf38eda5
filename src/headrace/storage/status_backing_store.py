# SPDX-License-Identifier: Apache-2.0
"""Statuses of connectors, tasks and their topics in Kafka's status topic. Java: ``KafkaStatusBackingStore``."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future

from headrace.api.errors import RetriableError
from headrace.kafka.admin.topic_admin import TopicSpec
from headrace.kafka.log.kafka_based_log import LogRecord
from headrace.model.deadline import Clock
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, TaskStatus, TopicStatus
from headrace.storage import status_records as records
from headrace.storage.internal_topic import LogClients, await_end, open_log
from headrace.storage.status_log import StatusLog

log = logging.getLogger(__name__)


class KafkaStatusBackingStore:
    """Any thread may call it. Reads answer from the topic as last read, writes go out in the background.

    A write that Kafka does not take for now is repeated until it does, or until a newer status of the same connector or
    task has been written here, or another worker's has been read. ``start``, ``stop``, ``flush``, ``refresh`` block. If
    the topic is deleted it is created again, and this worker's latest statuses are written to it again.
    """

    def __init__(
        self,
        topic: TopicSpec,
        clients: LogClients,
        on_update: records.OnStatusUpdate = lambda keys: None,
        clock: Clock = time.monotonic,
    ) -> None:
        """Create the store; ``on_update`` gets the keys of each batch of records on the log's thread.

        It is not called for what is read during ``start``, and must not block.
        """
        self._log = open_log(topic, clients, self._on_records, self._write_again)
        self._statuses = StatusLog()
        self._revision = 0
        self._lock = threading.Lock()
        self._newest: dict[bytes, int] = {}
        """Key to the number of the last write under it, until that has ended: an older write is not repeated."""
        self._numbers = itertools.count()
        self._last: dict[bytes, bytes] = {}
        """Key to the value last written under it here, unless it was removed."""
        self._read_back: set[bytes] = set()
        """The keys whose last value has been read: a removal that is read after it is of that value."""
        self._on_update = on_update
        self._clock = clock
        self._refused: dict[bytes, tuple[float, str]] = {}
        """Key to the time from which, and the reason for which, Kafka refuses writes under it."""
        self._started = False
        self._stopped = threading.Event()

    def start(self) -> None:
        """Create the topic if need be and read it. Raise ConfigError if it is not compacted."""
        self._log.start()
        self._started = True

    def stop(self) -> None:
        self._stopped.set()
        self._log.stop()

    def failure(self) -> BaseException | None:
        """Return the error that ended the reading, if there is one."""
        return self._log.failure()

    def trouble(self, least: float) -> str | None:
        """Return the reason if no status could be written for ``least`` seconds: those read are outdated then."""
        with self._lock:
            since, why = min(self._refused.values(), default=(self._clock(), ""))
        lasting = self._clock() - since
        return f"No status could be written for {lasting:.0f} s: {why}" if why and lasting >= least else None

    def flush(self, timeout: float) -> None:
        """Wait for the writes under way. Raise RetriableError after ``timeout`` seconds."""
        self._log.flush(timeout)

    def refresh(self, timeout: float) -> None:
        """Read everything that is written now."""
        await_end(self._log, self._log.read_to_end(), timeout)

    # ---- writes

    def put(self, status: ConnectorStatus | TaskStatus) -> None:
        """Write a status, whatever other workers have written; DESTROYED removes it."""
        self._send(*records.encode(status), safely=None)

    def put_safe(self, status: ConnectorStatus | TaskStatus) -> None:
        """Write a status unless another worker of a newer generation has written one since."""
        if self._may_write(status):
            self._send(*records.encode(status), safely=status)

    def put_topic(self, status: TopicStatus) -> None:
        """Record that a connector uses a topic (KIP-558)."""
        self._send(*records.encode(status), safely=None)

    def delete(self, key: records.StatusKey) -> None:
        """Remove the status of a connector, of a task or of a topic that a connector uses, of whichever worker."""
        self._send(records.key_bytes(key), None, safely=None)

    # ---- reads

    def revision(self) -> int:
        """Return the number of records read."""
        return self._revision

    def connector(self, name: str) -> ConnectorStatus | None:
        with self._lock:
            return self._statuses.connectors.get(name)

    def task(self, id: ConnectorTaskId) -> TaskStatus | None:
        with self._lock:
            return self._statuses.tasks.get(id.connector, {}).get(id.task)

    def tasks(self, connector: str) -> tuple[TaskStatus, ...]:
        """Return the statuses of the connector's tasks, in order."""
        with self._lock:
            found = self._statuses.tasks.get(connector, {})
            return tuple(found[task] for task in sorted(found))

    def connectors(self) -> tuple[str, ...]:
        """Return the names of the connectors that have a status."""
        with self._lock:
            return tuple(self._statuses.connectors)

    def keys(self) -> tuple[records.StatusKey, ...]:
        """Return the keys of all statuses: connectors, tasks and topics, also of connectors without a status."""
        with self._lock:
            return self._statuses.keys()

    def contains(self, key: records.StatusKey) -> bool:
        """Return true if there is a status about ``key``."""
        with self._lock:
            return self._statuses.contains(key)

    def topics(self, connector: str) -> tuple[TopicStatus, ...]:
        """Return the topics that the connector uses, sorted."""
        with self._lock:
            found = self._statuses.topics.get(connector, {})
            return tuple(found[topic] for topic in sorted(found))

    # ---- how

    def _may_write(self, status: ConnectorStatus | TaskStatus) -> bool:
        if isinstance(status, ConnectorStatus):
            present: ConnectorStatus | TaskStatus | None = self.connector(status.connector)
        else:
            present = self.task(status.id)
        return present is None or present.worker_id == status.worker_id or present.generation <= status.generation

    def _send(self, key: bytes, value: bytes | None, *, safely: ConnectorStatus | TaskStatus | None) -> None:
        with self._lock:
            number = self._newest[key] = next(self._numbers)
            self._read_back.discard(key)
            if value is None:
                self._last.pop(key, None)
            else:
                self._last[key] = value

        def attempt() -> None:
            self._log.send(key, value).add_done_callback(ended)

        def ended(done: Future[None]) -> None:
            error = done.exception()
            if self._stopped.is_set() or (error is not None and self._newest.get(key) != number):
                return
            again = isinstance(error, RetriableError) and (safely is None or self._may_write(safely))
            self._note(key, str(error) if again else None)
            if error is not None and not isinstance(error, RetriableError):
                log.error("Status '%s' was not written: %s", key.decode(), error)
            if again:
                timer = threading.Timer(1.0, attempt)
                timer.daemon = True
                timer.start()
            else:
                self._end(key, number)

        attempt()

    def _end(self, key: bytes, number: int) -> None:
        with self._lock:
            if self._newest.get(key) == number:
                del self._newest[key]

    def _note(self, key: bytes, refusal: str | None) -> None:
        with self._lock:
            first = not self._refused
            if refusal is None:
                self._refused.pop(key, None)
                return
            self._refused[key] = (self._refused.get(key, (self._clock(), ""))[0], refusal)
        if first:
            log.warning("Status '%s' is not written yet, trying again: %s", key.decode(), refusal)

    def _write_again(self) -> None:
        """Write this worker's latest statuses again, on the log's thread; other workers repeat their own."""
        with self._lock:
            known = dict(records.encode(status) for status in self._statuses.all())
            ours = [(key, value) for key, value in self._last.items() if known.get(key) == value]
        for key, value in ours:
            self._send(key, value, safely=None)

    def _on_records(self, batch: Sequence[LogRecord]) -> None:
        now = int(time.time() * 1000)
        with self._lock:
            keys = [self._statuses.apply(each.key, each.value, self._written_ms(each, now)) for each in batch]
            for each in batch:
                self._compare(each.key, each.value)
            self._revision += len(batch)
        if self._started:
            self._on_update(tuple(key for key in keys if key is not None))

    def _compare(self, key: bytes | None, value: bytes | None) -> None:
        """Keep no value that another worker, as the leader, has removed."""
        if key is None or key not in self._last:
            return
        if value == self._last[key]:
            self._read_back.add(key)
        elif value is None and key in self._read_back:
            self._read_back.remove(key)
            del self._last[key]

    def _written_ms(self, record: LogRecord, now_ms: int) -> int | None:
        """Return the time of a record by this worker's clock; that of the worker that has written it may differ."""
        if record.timestamp_ms is None:
            return None
        return now_ms if self._started else min(record.timestamp_ms, now_ms)
