# SPDX-License-Identifier: Apache-2.0
"""Records that are too large are found before they are sent, and handled as ``errors.*`` say.

Once a broker has refused a record, its transaction has to be aborted, and librdkafka's producer has lost count of its
records: nobody could tell the others of the transaction from it. Java: ``AbstractWorkerSourceTask.producerSendFailed``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headrace.api.record import SourceRecord
from headrace.kafka.errors import RecordTooLargeError
from headrace.task.errors.processing_context import Operation
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.record_converter import TopicBatch
from headrace.task.source.record_sizes import MOST_OVERHEAD, SizeLimits, most_of_headers
from headrace.task.source.source_batch import SourceBatch
from headrace.task.source.source_dead_letters import SourceDeadLetters, joined


class ProducibleRecords:
    """A step of batches that leaves out the records which are too large. For tasks that tolerate errors.

    Task's thread only.
    """

    def __init__(
        self,
        limits: SizeLimits,
        errors: RetryWithTolerance[SourceRecord],
        dead_letters: SourceDeadLetters | None,
        operation: Operation,
    ) -> None:
        self._limits = limits
        self._errors = errors
        self._dead_letters = dead_letters
        self._operation = operation

    def step(self, batch: SourceBatch) -> SourceBatch:
        """Return the batch without them, and with what is set aside in their place."""
        refused = [self._refused(topic) for topic in batch.topics]
        if not any(refused):
            return batch
        dropped = list(batch.dropped)
        for topic, errors in zip(batch.topics, refused, strict=True):
            for row, error in errors.items():
                self._errors.reported(self._operation, topic.origin(row), error)
            if topic.sources is not None:
                dropped += [topic.sources[row] for row in errors]
        topics = [topic.without(errors.keys()) for topic, errors in zip(batch.topics, refused, strict=True)]
        more = self._dead_letters.take() if self._dead_letters is not None else None
        size = batch.size - sum(map(len, refused)) + (len(more.values) if more is not None else 0)
        return replace(
            batch,
            topics=[topic for topic in topics if topic.values],
            size=size,
            dropped=dropped,
            dead_letters=joined(batch.dead_letters, more),
        )

    def _refused(self, batch: TopicBatch) -> Mapping[int, RecordTooLargeError]:
        """The rows that are too large, with the reason."""
        if not self._may_be_too_large(batch):
            return {}
        errors = {}
        for row, value in enumerate(batch.values):
            key = batch.keys[row] if batch.keys else None
            error = self._limits.refusal(batch.topic, key, value, batch.headers[row] if batch.headers else None)
            if error is not None:
                errors[row] = error
        return errors

    def _may_be_too_large(self, batch: TopicBatch) -> bool:
        """Most batches need no look at each record."""
        longest = (
            _longest(batch.values)
            + _longest(batch.keys or ())
            + max(map(most_of_headers, batch.headers or ()), default=0)
        )
        return longest + MOST_OVERHEAD > self._limits.of(batch.topic).least


def _longest(column: Sequence[bytes | None]) -> int:
    return max(map(len, filter(None, column)), default=0)
