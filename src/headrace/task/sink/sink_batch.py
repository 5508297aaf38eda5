# SPDX-License-Identifier: Apache-2.0
"""A sink task's batches: converted, transformed, and put until the task accepts them."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from headrace.api.record import SinkRecord
from headrace.api.sink import ColumnarSinkTask, SinkTask, TopicPartition
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.task.frames.frame_chain import FrameChain

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class SinkBatch:
    """Records, or a table with the messages that it was made of.

    ``transformed`` counts the parts of a chain with steps on frames that were applied to the records.
    """

    records: Sequence[SinkRecord] = ()
    table: pa.Table | None = None
    messages: ConsumedMessages | None = None
    transformed: int = 0

    @property
    def size(self) -> int:
        return len(self.records) if self.table is None else int(self.table.num_rows)


class RecordsOfMessages(Protocol):
    """The part of ``SinkRecordConverter``, which documents it, that batches use."""

    def records(self, messages: ConsumedMessages) -> Sequence[SinkRecord]: ...

    def table(self, messages: ConsumedMessages, columns: Set[str]) -> pa.Table | None: ...

    def close(self) -> None: ...


class PutBatches(Protocol):
    """The part of ``SinkBatches``, which documents it, that the loop uses."""

    def convert(self, messages: ConsumedMessages) -> SinkBatch: ...

    def without(self, batch: SinkBatch, partitions: Collection[TopicPartition]) -> SinkBatch: ...

    def transform(self, batch: SinkBatch) -> None: ...

    def put(self, batch: SinkBatch) -> None: ...

    def close(self) -> None: ...


class SinkBatches:
    """Converts messages to batches and puts them. Task's thread only."""

    def __init__(
        self, task: SinkTask, converter: RecordsOfMessages, frames: FrameChain[Sequence[SinkRecord]] | None = None
    ) -> None:
        """``frames`` is the chain if it has steps on frames; any other chain is the converter's."""
        self._task = task
        self._converter = converter
        self._frames = frames
        self._columnar = task if isinstance(task, ColumnarSinkTask) else None
        self._columns: Set[str] | None = None

    def convert(self, messages: ConsumedMessages) -> SinkBatch:
        """Return a batch. ToleranceExceededError for a record that fails, StoppedWhileRetryingError."""
        if not messages:
            return SinkBatch()
        if self._columnar is not None and self._frames is None:
            if self._columns is None:
                self._columns = frozenset(self._columnar.columns())
            table = self._converter.table(messages, self._columns)
            if table is not None:
                return SinkBatch((), table, messages)
        return SinkBatch(self._converter.records(messages))

    def without(self, batch: SinkBatch, partitions: Collection[TopicPartition]) -> SinkBatch:
        """Return the batch without the records of ``partitions``, which are no longer the task's."""
        if batch.messages is not None:
            consumed = {
                TopicPartition(*where) for where in zip(batch.messages.topics, batch.messages.partitions, strict=True)
            }
            return self.convert(batch.messages.within(consumed.difference(partitions)))
        removed = frozenset(partitions)
        rest = [r for r in batch.records if (r.original_topic, r.original_kafka_partition) not in removed]
        return replace(batch, records=rest)

    def transform(self, batch: SinkBatch) -> None:
        """Apply the parts of a chain with steps on frames that were not applied to the batch yet.

        FrameJobNotRunError: the batch keeps the results so far, as records skipped in them may have been reported
        already. Other errors are those of ``convert`` and of ``FrameRunner.run_job``.
        """
        while self._frames is not None and batch.transformed < len(self._frames):
            results = self._frames.apply_part(batch.transformed, [batch.records])
            batch.records = [record for records in results for record in records]
            batch.transformed += 1

    def put(self, batch: SinkBatch) -> None:
        """Call the task's ``put``, or ``put_table``. Raises whatever it raises."""
        if batch.table is not None:
            assert self._columnar is not None
            self._columnar.put_table(batch.table)
        else:
            # A copy: the batch may have to be put again.
            self._task.put(list(batch.records) if isinstance(batch.records, list) else batch.records)

    def close(self) -> None:
        if self._frames is not None:
            self._frames.close()
        self._converter.close()
