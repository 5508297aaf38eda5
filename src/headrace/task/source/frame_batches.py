# SPDX-License-Identifier: Apache-2.0
"""Converts polled batches to source batches, where the chain has steps on frames."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from headrace.api.record import SourceRecord
from headrace.task.frames.frame_chain import FrameChain
from headrace.task.record_converter import Polled, RecordConverter
from headrace.task.source.source_batch import (
    OffsetsByKey,
    SourceBatch,
    SourceDeadLetters,
    offsets_of_records,
    offsets_of_table,
)
from headrace.task.source.source_task_calls import size_of
from headrace.task.topic_batch import TopicBatch

GATHERED = 50_000
"""Number of records of one transaction that are transformed together."""


class FrameBatches:
    """``Batches`` of a task whose chain has steps on frames. Task's thread only.

    Source partitions and offsets never enter a frame: they are those of what was polled, whatever becomes of it, and
    are written with it (invariants 1 and 8). It is not known which rows were made of which record, so that for
    ``commit_record`` all records count as dropped.
    """

    def __init__(
        self,
        connector: str,
        chain: FrameChain[Polled],
        converter: RecordConverter,
        dead_letters: SourceDeadLetters | None = None,
        *,
        remember: bool,
        gather: int = 1,
    ) -> None:
        """Polls are kept until there are ``gather`` records, or until ``take_rest``: frame jobs have a fixed cost."""
        self._connector = connector
        self._chain = chain
        self._converter = converter
        self._dead_letters = dead_letters
        self._remember = remember
        self._gather = gather
        self._kept: list[Polled] = []
        self._size = 0

    def convert(self, polled: Polled) -> SourceBatch:
        """Return what is to be sent now. Raises the errors of chain and converter, as ``take_rest`` does."""
        self._kept.append(polled)
        self._size += size_of(polled)
        rest = self.take_rest() if self._size >= self._gather else None
        return rest or SourceBatch((), {}, 0)

    def take_rest(self) -> SourceBatch | None:
        kept, self._kept, self._size = self._kept, [], 0
        if not kept:
            return None
        topic_batches: list[TopicBatch] = []
        offsets: OffsetsByKey = {}
        dropped: list[SourceRecord] = []
        for polled in _joined(kept):
            topic_batches += [each for batch in self._chain.apply(polled) for each in self._convert(batch)]
            for key, offset in self._offsets(polled).items():
                offsets.pop(key, None)
                offsets[key] = offset
            if self._remember and isinstance(polled, Sequence):
                dropped += polled
        dead_letters = self._dead_letters.take() if self._dead_letters is not None else None
        size = sum(len(each.values) for each in topic_batches)
        size += len(dead_letters.values) if dead_letters is not None else 0
        return SourceBatch(topic_batches, offsets, size, dropped, dead_letters)

    def close(self) -> None:
        self._chain.close()
        self._converter.close()

    def _offsets(self, polled: Polled) -> OffsetsByKey:
        if isinstance(polled, Sequence):
            return offsets_of_records(self._connector, polled)
        return offsets_of_table(self._connector, polled)

    def _convert(self, batch: Polled) -> Sequence[TopicBatch]:
        if not isinstance(batch, Sequence):
            converted = self._converter.convert_table(batch)
            if converted is not None:
                return converted
            from headrace.api.arrow_records import table_to_records

            batch = table_to_records(batch)
        topic_batches, _ = self._converter.convert_records(batch)
        for each in topic_batches:
            each.sources = None
        return topic_batches


def _joined(kept: Sequence[Polled]) -> list[Polled]:
    """Return as few batches as possible, in order: of neighbours of one kind, and of tables of one type."""
    joined: list[Polled] = []
    for _, group in groupby(kept, key=lambda polled: None if isinstance(polled, Sequence) else polled.schema):
        polls: list[Any] = list(group)
        if len(polls) == 1:
            joined += polls
        elif isinstance(polls[0], Sequence):
            joined.append([record for records in polls for record in records])
        else:
            import pyarrow as pa

            joined.append(pa.concat_tables(polls))
    return joined
