# SPDX-License-Identifier: Apache-2.0
"""Converted source records as columns, and the cheapest call that sends them without losing anything."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from headrace.api.record import SourceRecord
from headrace.api.source import WrittenRecords
from headrace.kafka.data.record_producer import DeliveryCallback, RecordProducer, RefusalCallback, RowCallback

RawHeaders = list[tuple[str, bytes | None]]


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
        origins = None if self.origins is None else SelectedRecords(self.origins, rows)
        return TopicBatch(self.topic, [self.values[row] for row in rows], **selected, origins=origins)


class SelectedRecords(Sequence[SourceRecord]):
    """Some of many records, each read from the others only when it is asked for."""

    def __init__(self, records: Sequence[SourceRecord], rows: Sequence[int]) -> None:
        self._records = records
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._records[self._rows[index]]


class DeliveredRecords:
    """Collects the polled records that Kafka has, with their places. One thread at a time, as the producer's."""

    def __init__(self) -> None:
        self._delivered: list[tuple[TopicBatch, list[tuple[int, int, int, int | None]]]] = []

    def callback(self, batch: TopicBatch) -> RowCallback:
        """Return the callback for the rows of a batch, whose ``sources`` are known."""
        places: list[tuple[int, int, int, int | None]] = []

        def on_delivered(row: int, partition: int, offset: int, timestamp: int | None) -> None:
            if not places:
                self._delivered.append((batch, places))
            places.append((row, partition, offset, timestamp))

        return on_delivered

    def take(self) -> list[WrittenRecords]:
        """Return the records delivered since the last call."""
        taken, self._delivered = self._delivered, []
        written = [WrittenRecords(batch.topic, batch.sources or (), tuple(places)) for batch, places in taken]
        for _, places in taken:
            places.clear()
        return written


def send_batch(
    producer: RecordProducer,
    batch: TopicBatch,
    on_delivered: DeliveryCallback | None = None,
    delivered: DeliveredRecords | None = None,
    on_refused: RefusalCallback | None = None,
) -> None:
    """Send all rows in order; the producer's ``serve`` and ``flush`` run the callbacks.

    ``on_delivered`` is called for each row, which ``delivered`` collects if its polled record is known. ``on_refused``
    is called for each record that brokers refuse for good; without it that is a failed delivery.
    """
    remembered = delivered.callback(batch) if delivered is not None and batch.sources is not None else None
    producer.send_all(batch, on_delivered, on_refused, remembered)
