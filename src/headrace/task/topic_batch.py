# SPDX-License-Identifier: Apache-2.0
"""Converted source records as columns, and the cheapest call that sends them without losing anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from headrace.api.record import SourceRecord
from headrace.api.source import RecordMetadata
from headrace.kafka.data.record_producer import DeliveryCallback, RecordProducer, RefusalCallback

RawHeaders = list[tuple[str, bytes | None]]
WrittenRecord = tuple[SourceRecord, RecordMetadata | None]
"""A polled record and its place in Kafka; None if it was dropped."""
OnRecordWritten = Callable[[SourceRecord, RecordMetadata], None]


@dataclass(slots=True)
class TopicBatch:
    """Converted records of one topic, in order, as columns. An absent column (None) holds nothing for any record.

    ``sources`` are the polled records of the rows, kept only for tasks that override ``commit_record``. ``origins``
    are the records that a failure of a row is reported for, where they are known: the same, but those of a table are
    made only when they are read.
    """

    topic: str
    values: list[bytes | None] = field(default_factory=list)
    keys: list[bytes | None] | None = None
    partitions: list[int | None] | None = None
    timestamps: list[int | None] | None = None
    headers: list[RawHeaders | None] | None = None
    sources: Sequence[SourceRecord] | None = None
    origins: Sequence[SourceRecord] | None = None

    @property
    def plain(self) -> bool:
        """True if there are only keys and values, so that the whole batch can be sent with one call."""
        return self.partitions is None and self.timestamps is None and self.headers is None

    @property
    def byte_size(self) -> int:
        """The bytes of all keys and values."""
        return sum(map(len, filter(None, self.values))) + sum(map(len, filter(None, self.keys or ())))

    def only(self, row: int) -> TopicBatch:
        """Return a batch of that row alone."""
        return self._select([row])

    def without(self, rows: Set[int]) -> TopicBatch:
        """Return the batch without those rows."""
        return self._select([row for row in range(len(self.values)) if row not in rows]) if rows else self

    def origin(self, row: int) -> SourceRecord:
        """Return the record that a failure of that row is reported for; the row itself if its origin is unknown."""
        if self.origins is not None:
            return self.origins[row]
        return SourceRecord(None, None, self.topic, key=self.keys[row] if self.keys else None, value=self.values[row])

    def _select(self, rows: Sequence[int]) -> TopicBatch:
        columns = {name: getattr(self, name) for name in ("keys", "partitions", "timestamps", "headers", "sources")}
        selected = {name: column and [column[row] for row in rows] for name, column in columns.items()}
        origins = None if self.origins is None else _Selection(self.origins, rows)
        return TopicBatch(self.topic, [self.values[row] for row in rows], **selected, origins=origins)


class _Selection(Sequence[SourceRecord]):
    """Some of many records, each read from the others only when it is asked for."""

    def __init__(self, records: Sequence[SourceRecord], rows: Sequence[int]) -> None:
        self._records = records
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._records[self._rows[index]]


def send_batch(
    producer: RecordProducer,
    batch: TopicBatch,
    on_delivered: DeliveryCallback | None = None,
    on_record_written: OnRecordWritten | None = None,
    on_refused: RefusalCallback | None = None,
) -> None:
    """Send all rows in order; the producer's ``serve`` and ``flush`` run the callbacks.

    ``on_delivered`` is called for each row, ``on_record_written`` also with its polled record. ``on_refused``
    is called for each record that brokers refuse for good; without it that is a failed delivery.
    """
    if batch.plain and (on_record_written is None or batch.sources is None):
        producer.send_all(batch.topic, batch.keys, batch.values, on_delivered, on_refused)
        return
    for row, value in enumerate(batch.values):
        callback = on_delivered
        if on_record_written is not None and batch.sources is not None:
            callback = _with_record(batch.sources[row], on_record_written, on_delivered)
        producer.send(
            batch.topic,
            batch.keys[row] if batch.keys else None,
            value,
            batch.partitions[row] if batch.partitions else None,
            batch.timestamps[row] if batch.timestamps else None,
            batch.headers[row] if batch.headers else None,
            callback,
            on_refused,
        )


def _with_record(
    record: SourceRecord, on_written: OnRecordWritten, on_delivered: DeliveryCallback | None
) -> DeliveryCallback:
    def callback(topic: str, partition: int, offset: int, timestamp: int | None) -> None:
        on_written(record, RecordMetadata(topic, partition, offset, timestamp))
        if on_delivered is not None:
            on_delivered(topic, partition, offset, timestamp)

    return callback
