# SPDX-License-Identifier: Apache-2.0
"""From what a task polled to what a producer sends: transformations, conversion, offsets. The same for both loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.api.record import SourceRecord
from headrace.task.record_converter import RecordConverter, TopicBatch
from headrace.task.source.poller import Polled
from headrace.task.source.source_offsets import OffsetsByKey, offsets_of_records, offsets_of_table
from headrace.task.transformation_chain import TransformationChain

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Records ready to be sent, and the offsets that become visible with them (invariant 1).

    ``dropped`` are the polled records that a transformation dropped; their offsets count all the same.
    """

    topics: Sequence[TopicBatch]
    offsets: OffsetsByKey
    size: int
    dropped: Sequence[SourceRecord] = ()


class SourceBatches:
    """Makes batches. Task's thread only. ``remember`` keeps the polled record of each row, for ``commit_record``."""

    def __init__(
        self, connector: str, chain: TransformationChain, converter: RecordConverter, *, remember: bool
    ) -> None:
        self._connector = connector
        self._chain = chain
        self._converter = converter
        self._remember = remember

    def make(self, polled: Polled) -> SourceBatch:
        """Transform and convert what a task polled; DataError for a record that cannot be."""
        return self.of_records(polled) if isinstance(polled, Sequence) else self.of_table(polled)

    def of_records(self, polled: Sequence[SourceRecord]) -> SourceBatch:
        offsets = offsets_of_records(self._connector, polled)
        if not self._chain:
            topics = self._converter.convert_records(polled, polled if self._remember else None)
            return SourceBatch(topics, offsets, len(polled))
        records, sources, dropped = [], [], []
        for record in polled:
            transformed = self._chain.apply(record)
            if transformed is None:
                dropped.append(record)
            else:
                records.append(transformed)
                sources.append(record)
        topics = self._converter.convert_records(records, sources if self._remember else None)
        return SourceBatch(topics, offsets, len(records), dropped)

    def of_table(self, polled: pa.Table) -> SourceBatch:
        """Column by column; as records only where a transformation or a converter needs them."""
        topics = None if self._chain else self._converter.convert_table(polled)
        if topics is not None:
            return SourceBatch(topics, offsets_of_table(self._connector, polled), polled.num_rows)
        from headrace.api.arrow import table_to_records

        batch = self.of_records(table_to_records(polled))
        for topic in batch.topics:
            topic.sources = None
        return SourceBatch(batch.topics, batch.offsets, batch.size)

    def close(self) -> None:
        self._chain.close()
        self._converter.close()
