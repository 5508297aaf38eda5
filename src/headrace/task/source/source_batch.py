# SPDX-License-Identifier: Apache-2.0
"""Converts polled batches to source batches, ready to be sent: transformations, converters, offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from headrace.api.record import SourceRecord
from headrace.storage.offset_codec import encode_key, encode_offset
from headrace.task.column_record import ColumnRecord, column_record
from headrace.task.errors.reporters import DeadLetter
from headrace.task.record_converter import Polled, RecordConverter, TableRecords
from headrace.task.topic_batch import TopicBatch
from headrace.task.transformation_chain import TransformationChain

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN_OFFSETS: Final = 10
"""Offsets in a line of the log."""


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """One source partition's offset, as given and as the offsets topic holds it (``value`` None deletes it)."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any] | None
    key: bytes
    value: bytes | None


OffsetsByKey = dict[bytes, SourceOffset]
"""The last offset of each source partition, by the key bytes of the offsets topic."""


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Records ready to be sent, and the offsets that become visible with them (invariant 1).

    ``size`` counts all records to be sent. ``dropped`` are the polled records that a transformation dropped or that
    were skipped; their offsets count all the same. ``dead_letters`` are sent in place of the latter.
    """

    topic_batches: Sequence[TopicBatch]
    offsets: OffsetsByKey
    size: int
    dropped: Sequence[SourceRecord] = ()
    dead_letters: TopicBatch | None = None

    @property
    def all_topic_batches(self) -> Sequence[TopicBatch]:
        """All that is to be sent, dead letters included."""
        return self.topic_batches if self.dead_letters is None else (*self.topic_batches, self.dead_letters)

    @property
    def written(self) -> int:
        """Number of records without dead letters."""
        return self.size if self.dead_letters is None else self.size - len(self.dead_letters.values)

    def mean_size(self) -> float | None:
        """Return the mean of the bytes of a record's key and value, without dead letters; None without records."""
        return sum(batch.byte_size for batch in self.topic_batches) / self.written if self.written else None


class SourceDeadLetters:
    """Collects dead letters until their batch is made, so that they are written with it. Task's thread only."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._letters: list[DeadLetter] = []

    def add(self, letter: DeadLetter) -> None:
        self._letters.append(letter)

    def take(self) -> TopicBatch | None:
        """Return all since the last call, None if there are none."""
        if not self._letters:
            return None
        letters, self._letters = self._letters, []
        return TopicBatch(
            self.topic,
            values=[letter.value for letter in letters],
            keys=[letter.key for letter in letters],
            timestamps=[letter.timestamp for letter in letters],
            headers=[list(letter.headers) for letter in letters],
        )


def joined(first: TopicBatch | None, second: TopicBatch | None) -> TopicBatch | None:
    """Return the dead letters of two calls of ``SourceDeadLetters.take`` as one batch."""
    if first is None or second is None:
        return first or second
    return TopicBatch(
        first.topic,
        values=[*first.values, *second.values],
        keys=[*(first.keys or ()), *(second.keys or ())],
        timestamps=[*(first.timestamps or ()), *(second.timestamps or ())],
        headers=[*(first.headers or ()), *(second.headers or ())],
    )


class Batches(Protocol):
    """Transforms and converts what a task polled; records that fail are handled as ``errors.*`` say."""

    def convert(self, polled: Polled) -> SourceBatch:
        """Return what is to be sent now; the rest, with its offsets, may be kept for a larger batch."""

    def take_rest(self) -> SourceBatch | None:
        """Return what was kept, None if nothing was. Called before a transaction ends."""

    def close(self) -> None: ...


class SteppedBatches:
    """The batches of another ``Batches``, each after a further ``step``. Task's thread only.

    A step works on the batch before it joins a transaction.
    """

    def __init__(self, batches: Batches, step: Callable[[SourceBatch], SourceBatch]) -> None:
        self._batches = batches
        self._step = step

    def convert(self, polled: Polled) -> SourceBatch:
        return self._step(self._batches.convert(polled))

    def take_rest(self) -> SourceBatch | None:
        rest = self._batches.take_rest()
        return None if rest is None else self._step(rest)

    def close(self) -> None:
        self._batches.close()


class SourceBatches:
    """``Batches`` of a task whose chain works record by record. Task's thread only.

    Records that fail are retried, sent to ``dead_letters`` (None: nowhere) or fail the task, as the error
    handling of chain and converter says: ToleranceExceededError, StoppedWhileRetryingError.
    """

    def __init__(
        self,
        connector: str,
        chain: TransformationChain[SourceRecord, SourceRecord],
        converter: RecordConverter,
        dead_letters: SourceDeadLetters | None = None,
        *,
        remember: bool,
    ) -> None:
        """``remember`` keeps the polled record of each row, for ``commit_record``."""
        self._connector = connector
        self._chain = chain
        self._converter = converter
        self._dead_letters = dead_letters
        self._remember = remember

    def convert(self, polled: Polled) -> SourceBatch:
        return self._of_records(polled) if isinstance(polled, Sequence) else self._of_table(polled)

    def take_rest(self) -> None:
        """Return None: every batch is sent as it is polled."""

    def close(self) -> None:
        self._chain.close()
        self._converter.close()

    def _of_records(self, polled: Sequence[SourceRecord]) -> SourceBatch:
        batch = self._batch(polled, polled, offsets_of_records(self._connector, polled))
        return batch if self._remember else _without_sources(batch)

    def _of_table(self, polled: pa.Table) -> SourceBatch:
        """Convert column by column; as records only from where a transformation or a converter needs them."""
        columns = column_record(polled) if self._chain else None
        if columns is not None:
            return self._of_columns(columns)
        topic_batches = None if self._chain else self._converter.convert_table(polled)
        if topic_batches is not None:
            return SourceBatch(topic_batches, offsets_of_table(self._connector, polled), polled.num_rows)
        from headrace.api.arrow_records import table_to_records

        records = table_to_records(polled)
        return self._of_rows(records, records, offsets_of_table(self._connector, polled))

    def _of_columns(self, polled: ColumnRecord) -> SourceBatch:
        offsets = offsets_of_table(self._connector, polled.table)
        record, stages = self._chain.apply_columnwise(polled.record, polled.rows)
        if record is None:
            return SourceBatch((), offsets, 0)
        columns = polled.with_record(record)
        topic_batch = self._converter.convert_columns(columns) if stages == len(self._chain.stages) else None
        if topic_batch is not None:
            return SourceBatch([topic_batch], offsets, columns.rows)
        return self._of_rows(columns.records(), TableRecords(polled.table), offsets, stages)

    def _of_rows(
        self, records: Sequence[SourceRecord], polled: Sequence[SourceRecord], offsets: OffsetsByKey, stages: int = 0
    ) -> SourceBatch:
        """Return the batch of a table's rows, for which ``commit_record`` is not called."""
        return replace(_without_sources(self._batch(records, polled, offsets, stages)), dropped=())

    def _batch(
        self, records: Sequence[SourceRecord], polled: Sequence[SourceRecord], offsets: OffsetsByKey, stages: int = 0
    ) -> SourceBatch:
        """Return the batch of records that have passed the first ``stages`` of the chain."""
        records, sources, dropped = self._transformed(records, polled, stages)
        topic_batches, skipped = self._converter.convert_records(records, sources)
        dead_letters = self._dead_letters.take() if self._dead_letters is not None else None
        size = len(records) - len(skipped) + (len(dead_letters.values) if dead_letters is not None else 0)
        return SourceBatch(topic_batches, offsets, size, [*dropped, *skipped], dead_letters)

    def _transformed(
        self, records: Sequence[SourceRecord], polled: Sequence[SourceRecord], stages: int
    ) -> tuple[Sequence[SourceRecord], Sequence[SourceRecord], list[SourceRecord]]:
        """Return the transformed records, the polled record behind each, and the polled records that were dropped."""
        if stages == len(self._chain.stages):
            return records, polled, []
        all_records = self._chain.apply_all(records, polled, stages)
        transformed = [record for record in all_records if record is not None]
        if len(transformed) == len(polled):
            return transformed, polled, []
        pairs = list(zip(all_records, polled, strict=True))
        sources = [source for record, source in pairs if record is not None]
        return transformed, sources, [source for record, source in pairs if record is None]


def _without_sources(batch: SourceBatch) -> SourceBatch:
    for each in batch.topic_batches:
        each.sources = None
    return batch


def offsets_of_records(connector: str, records: Iterable[SourceRecord]) -> OffsetsByKey:
    """Return the last offsets of a batch of records, in the order in which the partitions were last seen.

    Tasks mostly use one and the same partition object, so only the last record of each object is looked at.
    """
    last: dict[int, SourceRecord] = {}
    previous: SourceRecord | None = None
    for record in records:
        if previous is not None and previous.source_partition is not record.source_partition:
            last.pop(id(previous.source_partition), None)
            last[id(previous.source_partition)] = previous
        previous = record
    if previous is not None:
        last.pop(id(previous.source_partition), None)
        last[id(previous.source_partition)] = previous
    result: OffsetsByKey = {}
    for record in last.values():
        if record.source_partition is not None:
            put_offset(result, connector, record.source_partition, record.source_offset)
    return result


def offsets_of_table(connector: str, table: pa.Table) -> OffsetsByKey:
    """Return the last offsets of a polled Arrow table (``headrace.api.arrow`` documents the columns)."""
    from headrace.api.arrow import last_offsets

    result: OffsetsByKey = {}
    for partition, offset in last_offsets(table):
        put_offset(result, connector, partition, offset)
    return result


def put_offset(
    result: OffsetsByKey, connector: str, partition: Mapping[str, Any], offset: Mapping[str, Any] | None
) -> None:
    """Add a source partition's offset, in place of an earlier one, behind all others."""
    key = encode_key(connector, partition)
    result.pop(key, None)
    result[key] = SourceOffset(partition, offset, key, encode_offset(offset))
