# SPDX-License-Identifier: Apache-2.0
"""Writes batches and their source offsets in transactions. The order of its steps is the exactly-once guarantee."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from headrace.api.errors import ConnectError
from headrace.api.source import WrittenRecords
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.task.source.source_batch import SHOWN_OFFSETS, OffsetsByKey, SourceOffset
from headrace.task.topic_batch import DeliveredRecords, TopicBatch, send_batch

log = logging.getLogger(__name__)


class TransactionWriter(Protocol):
    """The part of ``TransactionalWriter``, which documents it, that the exactly-once loop uses."""

    @property
    def pending(self) -> bool: ...

    @property
    def size(self) -> int: ...

    def init(self) -> None: ...

    def write(self, batches: Sequence[TopicBatch], count: int) -> None: ...

    def add_offsets(self, offsets: OffsetsByKey) -> None: ...

    def commit(self) -> tuple[tuple[SourceOffset, ...], list[WrittenRecords]]: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


class TransactionalWriter:
    """One attempt's writer; one thread at a time. ``timeout`` (seconds) bounds each exchange with the broker."""

    def __init__(self, producer: TransactionalProducer, offsets_topic: str, timeout: float, *, remember: bool) -> None:
        """``remember`` has ``commit`` return the polled records."""
        self._producer = producer
        self._offsets_topic = offsets_topic
        self._timeout = timeout
        self._remember = remember
        self._offsets: OffsetsByKey = {}
        self._delivered = DeliveredRecords()
        self._size = 0

    def init(self) -> None:
        """Fence every older attempt (invariant 2); once per attempt (invariant 4)."""
        self._producer.init_transactions(self._timeout, self._offsets_topic)

    @property
    def pending(self) -> bool:
        """True if a commit would make anything visible."""
        return self._producer.in_transaction or bool(self._offsets)

    @property
    def size(self) -> int:
        """Number of records in the open transaction, without offset records."""
        return self._size

    def write(self, batches: Sequence[TopicBatch], count: int) -> None:
        """Send records in the open transaction, which begins with the first of them. They have to be ``count``.

        ``commit`` checks the count. ConnectError for a record to the offsets topic itself.
        """
        if any(batch.topic == self._offsets_topic for batch in batches):
            # The next poll may ask for offsets, which would wait for the end of this very transaction.
            raise ConnectError(
                f"a record is to be written to topic {self._offsets_topic}, which the task's own offsets are in: with "
                "exactly-once that could wait for itself. Write it to another topic, or give the connector "
                "another offsets.storage.topic"
            )
        self._begin_if_needed()
        self._size += count
        for batch in batches:
            send_batch(self._producer.records, batch, None, self._delivered if self._remember else None)

    def add_offsets(self, offsets: OffsetsByKey) -> None:
        """Add offsets to the next commit; a partition's later offset replaces its earlier one."""
        for key, offset in offsets.items():
            self._offsets.pop(key, None)
            self._offsets[key] = offset

    def commit(self) -> tuple[tuple[SourceOffset, ...], list[WrittenRecords]]:
        """Make records and offsets visible together, and return them."""
        # 1. Offsets alone need a transaction too: those of dropped records, or after an abort.
        self._begin_if_needed()
        # 2. Offset records go last (invariant 1).
        offsets = tuple(self._offsets.values())
        for offset in offsets:
            self._producer.records.send(self._offsets_topic, offset.key, offset.value)
        # 3. One commit for both, if all of both have arrived. From here on only its success says that they are visible
        #    (invariant 5).
        self._producer.commit(self._timeout, self._size + len(offsets))
        if log.isEnabledFor(logging.DEBUG):
            first = [(each.partition, each.offset) for each in offsets[:SHOWN_OFFSETS]]
            log.debug("Committed %d records and %d source offsets, the first: %s", self._size, len(offsets), first)
        self._offsets, self._size = {}, 0
        return offsets, self._delivered.take()

    def abort(self) -> None:
        """Drop the open transaction's records. Their offsets stay and go with the next commit (KIP-618)."""
        if self._producer.in_transaction:
            self._producer.abort(self._timeout)
        self._delivered.take()
        self._size = 0

    def close(self) -> None:
        self._producer.close()

    def _begin_if_needed(self) -> None:
        if not self._producer.in_transaction:
            self._producer.begin()
