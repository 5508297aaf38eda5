# SPDX-License-Identifier: Apache-2.0
"""From what a task polled to what a producer sends: transformations, conversion, offsets. The same for both loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from headrace.api.record import SourceRecord
from headrace.storage.offset_codec import encode_key, encode_offset
from headrace.task.errors.dead_letters import DeadLetter
from headrace.task.record_converter import Polled, RecordConverter
from headrace.task.topic_batch import TopicBatch
from headrace.task.transformation_chain import TransformationChain

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """One source partition's offset, as given and as the offsets topic holds it (``value`` None deletes it)."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any] | None
    key: bytes
    value: bytes | None


OffsetsByKey = dict[bytes, SourceOffset]


def offsets_of_records(connector: str, records: Iterable[SourceRecord]) -> OffsetsByKey:
    """Last offsets of a batch of records, in the order in which the partitions were last seen.

    Tasks mostly hand over one and the same partition object, so only the last record of each object is looked at.
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
            _put(result, connector, record.source_partition, record.source_offset)
    return result


def offsets_of_table(connector: str, table: pa.Table) -> OffsetsByKey:
    """Last offsets of a polled Arrow table (``headrace.api.arrow`` documents the columns)."""
    from headrace.api.arrow import last_offsets

    result: OffsetsByKey = {}
    for partition, offset in last_offsets(table):
        _put(result, connector, partition, offset)
    return result


def _put(result: OffsetsByKey, connector: str, partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> None:
    key = encode_key(connector, partition)
    result.pop(key, None)
    result[key] = SourceOffset(partition, offset, key, encode_offset(offset))


def joined(first: TopicBatch | None, second: TopicBatch | None) -> TopicBatch | None:
    """What two calls of ``take`` have given."""
    if first is None or second is None:
        return first or second
    return TopicBatch(
        first.topic,
        values=[*first.values, *second.values],
        keys=[*(first.keys or ()), *(second.keys or ())],
        timestamps=[*(first.timestamps or ()), *(second.timestamps or ())],
        headers=[*(first.headers or ()), *(second.headers or ())],
    )


class SourceDeadLetters:
    """Task's thread only. Collects what is set aside until the batch is made, so that it is written with it."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._letters: list[DeadLetter] = []

    def add(self, letter: DeadLetter) -> None:
        self._letters.append(letter)

    def take(self) -> TopicBatch | None:
        """All since the last call, None if there are none."""
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


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Records ready to be sent, and the offsets that become visible with them (invariant 1).

    ``size`` counts all that is to be sent. ``dropped`` are the polled records that a transformation dropped or that
    were skipped; their offsets count all the same. ``dead_letters`` is what is sent in place of the latter.
    """

    topics: Sequence[TopicBatch]
    offsets: OffsetsByKey
    size: int
    dropped: Sequence[SourceRecord] = ()
    dead_letters: TopicBatch | None = None

    @property
    def all_topics(self) -> Sequence[TopicBatch]:
        """All that is to be sent."""
        return self.topics if self.dead_letters is None else (*self.topics, self.dead_letters)

    @property
    def written(self) -> int:
        """Records that go where they were meant to."""
        return self.size if self.dead_letters is None else self.size - len(self.dead_letters.values)


class Batches(Protocol):
    """Transforms and converts what a task polled; what fails is handled as ``errors.*`` say."""

    def make(self, polled: Polled) -> SourceBatch:
        """What is to be sent now; what was polled may also be kept for a larger batch, and its offsets with it."""

    def rest(self) -> SourceBatch | None:
        """What was kept, asked for before a transaction ends; None if nothing was."""

    def close(self) -> None: ...


class SteppedBatches:
    """``Batches`` of others, each of which goes through ``step`` before it is handed out, and so joins a transaction.

    Task's thread only.
    """

    def __init__(self, batches: Batches, step: Callable[[SourceBatch], SourceBatch]) -> None:
        self._batches = batches
        self._step = step

    def make(self, polled: Polled) -> SourceBatch:
        return self._step(self._batches.make(polled))

    def rest(self) -> SourceBatch | None:
        rest = self._batches.rest()
        return None if rest is None else self._step(rest)

    def close(self) -> None:
        self._batches.close()


class SourceBatches:
    """Makes batches. Task's thread only. ``remember`` keeps the polled record of each row, for ``commit_record``.

    Records that fail are tried again, set aside in ``dead_letters`` (None: nowhere) or fail the task, as chain and
    converter were told to handle errors: ToleranceExceededError, StoppedWhileRetryingError.
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
        self._connector = connector
        self._chain = chain
        self._converter = converter
        self._dead_letters = dead_letters
        self._remember = remember

    def make(self, polled: Polled) -> SourceBatch:
        """Transform and convert what a task polled."""
        return self.of_records(polled) if isinstance(polled, Sequence) else self.of_table(polled)

    def of_records(self, polled: Sequence[SourceRecord]) -> SourceBatch:
        return self._batch(polled, offsets_of_records(self._connector, polled), self._remember)

    def _batch(self, polled: Sequence[SourceRecord], offsets: OffsetsByKey, remember: bool) -> SourceBatch:
        records, sources, dropped = self._transformed(polled) if self._chain else (polled, polled, [])
        topics, skipped = self._converter.convert_records(records, sources)
        dead_letters = self._dead_letters.take() if self._dead_letters is not None else None
        size = len(records) - len(skipped) + (len(dead_letters.values) if dead_letters is not None else 0)
        if not remember:
            _forget_sources(topics)
        return SourceBatch(topics, offsets, size, [*dropped, *skipped], dead_letters)

    def of_table(self, polled: pa.Table) -> SourceBatch:
        """Column by column; as records only where a transformation or a converter needs them."""
        topics = None if self._chain else self._converter.convert_table(polled)
        if topics is not None:
            return SourceBatch(topics, offsets_of_table(self._connector, polled), polled.num_rows)
        from headrace.api.arrow_records import table_to_records

        records = table_to_records(polled)
        batch = self._batch(records, offsets_of_table(self._connector, polled), remember=False)
        return replace(batch, dropped=())  # of a table no single record is told to the task

    def rest(self) -> None:
        """Every batch goes out as it comes in."""

    def close(self) -> None:
        self._chain.close()
        self._converter.close()

    def _transformed(
        self, polled: Sequence[SourceRecord]
    ) -> tuple[Sequence[SourceRecord], Sequence[SourceRecord], list[SourceRecord]]:
        """What is left of the records, the polled records behind it, and those of which nothing is left."""
        all_records = self._chain.apply_all(polled, polled)
        records = [record for record in all_records if record is not None]
        if len(records) == len(polled):
            return records, polled, []
        pairs = list(zip(all_records, polled, strict=True))
        sources = [source for record, source in pairs if record is not None]
        return records, sources, [source for record, source in pairs if record is None]


def _forget_sources(topics: Sequence[TopicBatch]) -> None:
    for topic in topics:
        topic.sources = None
