# SPDX-License-Identifier: Apache-2.0
"""The committed records of a topic that a source task writes to, for the task itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final

from headrace.api.source import CommittedRecord
from headrace.kafka.data.range_reader import Range, RangeReader
from headrace.kafka.data.topic_reader import TopicReader, UnknownTopicError
from headrace.model.deadline import Deadline

_COMMITTED: Final = {"isolation.level": "read_committed"}
_AT_A_TIME: Final = 1000
_PATIENCE_S: Final = 60.0


def committed_records(props: Mapping[str, str], topic: str) -> Iterator[CommittedRecord]:
    """Yield the records up to the present end of each partition, in its order; none of a topic that does not exist.

    ``props`` are a consumer's. The end is the last stable offset. On the thread that takes the records. Raise
    RetriableKafkaError if nothing can be read for a minute, KafkaClientError for what lasts.
    """
    ranges = _ranges(props, topic)
    if not ranges:
        return
    with closing(RangeReader({**props, **_COMMITTED}, topic, ranges)) as reader:
        while messages := reader.read(_AT_A_TIME):
            for each in messages:
                yield CommittedRecord(each.key(), each.value(), tuple(each.headers() or ()))  # type: ignore[arg-type]


def _ranges(props: Mapping[str, str], topic: str) -> dict[int, Range]:
    with closing(TopicReader(props, topic)) as reader:
        deadline = Deadline.after(_PATIENCE_S)
        try:
            bounds = reader.bounds(reader.partitions(deadline), deadline)
        except UnknownTopicError:
            return {}
    return {partition: Range(*bound) for partition, bound in bounds.items()}
