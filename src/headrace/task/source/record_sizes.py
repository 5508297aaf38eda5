# SPDX-License-Identifier: Apache-2.0
"""Sizes of records, and the step that removes those too large for producer or topic before they are sent.

Once a broker has refused a record, its transaction has to be aborted, and librdkafka's producer has lost count of its
records: nothing shows which of the transaction it was. Java: ``AbstractWorkerSourceTask.producerSendFailed``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from headrace.api.errors import ConnectError, RetriableError
from headrace.api.record import SourceRecord
from headrace.kafka.errors import RecordTooLargeError
from headrace.task.errors.processing_context import Operation
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.source.source_batch import SourceBatch, SourceDeadLetters, joined
from headrace.task.topic_batch import TopicBatch

if TYPE_CHECKING:
    from headrace.kafka.admin.topic_admin import TopicAdmin

RawHeaders = Sequence[tuple[str, bytes | None]]
MAX_MESSAGE_BYTES: Final = "max.message.bytes"
MAX_REQUEST_SIZE: Final = "max.request.size"
MAX_OVERHEAD: Final = 100
"""Upper bound of a record's size without key, value and headers, by either count."""
_CLIENT_OVERHEAD: Final = 36
_MAX_HEADER_OVERHEAD: Final = 10
"""Two lengths of five bytes each."""
_MAX_UTF_8: Final = 4
"""Upper bound of a character's bytes."""
_BATCH_OVERHEAD: Final = 61

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits in bytes. ``topic`` is None where it is unknown, and only the broker can check it."""

    client: int
    topic: int | None

    @property
    def least(self) -> int:
        return self.client if self.topic is None else min(self.client, self.topic)


class SizeLimits:
    """The limits of one task's producer. Task's thread only; may block on the brokers."""

    def __init__(self, client: int, topic_limit: Callable[[str], int | None] | None) -> None:
        """``topic_limit`` returns a topic's ``max.message.bytes``, None if it cannot be found out now.

        Without it, as where records are compressed, only the client's limit is known: it counts bytes before
        compression, the brokers after it.
        """
        self._client = client
        self._topic_limit = topic_limit
        self._known: dict[str, int | None] = {}

    def of(self, topic: str) -> Limits:
        """Return the limits of a topic, as they were when last looked up."""
        if self._known.get(topic) is None and self._topic_limit is not None:
            self._known[topic] = self._topic_limit(topic)
        return Limits(self._client, self._known.get(topic))

    def check(
        self, topic: str, key: bytes | None, value: bytes | None, headers: RawHeaders | None
    ) -> RecordTooLargeError | None:
        """Return why the record cannot be written, None if it can. The topic's limit is looked up again before that."""
        size = client_size(key, value, headers)
        if size > self._client:
            return _too_large(topic, size, f"the producer's {MAX_REQUEST_SIZE}={self._client}")
        size, limit = batch_size(key, value, headers), self.of(topic).topic
        if limit is None or size <= limit:
            return None
        del self._known[topic]
        limit = self.of(topic).topic
        if limit is None or size <= limit:
            return None
        return _too_large(topic, size, f"the topic's {MAX_MESSAGE_BYTES}={limit}")


class OversizedRecords:
    """Removes the records of a batch that are too large, and handles each as ``errors.*`` say.

    For tasks that tolerate errors. Task's thread only.
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

    def remove(self, batch: SourceBatch) -> SourceBatch:
        """Return the batch without them, with the dead letters that take their place. A step of batches."""
        oversized = [self._oversized_rows(each) for each in batch.topic_batches]
        if not any(oversized):
            return batch
        dropped = list(batch.dropped)
        for each, errors in zip(batch.topic_batches, oversized, strict=True):
            for row, error in errors.items():
                self._errors.report(self._operation, each.origin(row), error)
            if each.sources is not None:
                dropped += [each.sources[row] for row in errors]
        rest = [each.without(errors.keys()) for each, errors in zip(batch.topic_batches, oversized, strict=True)]
        more = self._dead_letters.take() if self._dead_letters is not None else None
        size = batch.size - sum(map(len, oversized)) + (len(more.values) if more is not None else 0)
        return replace(
            batch,
            topic_batches=[each for each in rest if each.values],
            size=size,
            dropped=dropped,
            dead_letters=joined(batch.dead_letters, more),
        )

    def _oversized_rows(self, batch: TopicBatch) -> Mapping[int, RecordTooLargeError]:
        """Return the rows that are too large, with the reason."""
        if not self._may_be_too_large(batch):
            return {}
        errors = {}
        for row, value in enumerate(batch.values):
            key = batch.keys[row] if batch.keys else None
            error = self._limits.check(batch.topic, key, value, batch.headers[row] if batch.headers else None)
            if error is not None:
                errors[row] = error
        return errors

    def _may_be_too_large(self, batch: TopicBatch) -> bool:
        # Spares most batches a check of each record.
        longest = (
            _longest(batch.values)
            + _longest(batch.keys or ())
            + max(map(max_headers_size, batch.headers or ()), default=0)
        )
        return longest + MAX_OVERHEAD > self._limits.of(batch.topic).least


def topic_limits(admin: Mapping[str, str]) -> Callable[[str], int | None]:
    """Return the ``topic_limit`` of ``SizeLimits`` that asks the brokers; ``admin`` are properties of an admin client.

    The client lives as long as the task's process.
    """
    refused: set[str] = set()

    @cache
    def client() -> TopicAdmin:
        # Few tasks ask, and the admin client takes time to import.
        from headrace.kafka.admin.topic_admin import TopicAdmin

        return TopicAdmin(admin)

    def topic_limit(topic: str) -> int | None:
        if topic in refused:
            return None
        try:
            limit = client().config(topic).get(MAX_MESSAGE_BYTES)
        except RetriableError:  # it does not exist yet, for one
            return None
        except ConnectError as error:
            refused.add(topic)
            message = "What topic %s takes is not known, so a record that is too large for it may fail the task: %s"
            log.warning(message, topic, error)
            return None
        return int(limit) if limit else None

    return topic_limit


def client_size(key: bytes | None, value: bytes | None, headers: RawHeaders | None) -> int:
    """Return what librdkafka compares with ``max.request.size``: an upper bound of the record's size."""
    return _CLIENT_OVERHEAD + len(key or b"") + len(value or b"") + _headers_size(headers)


def batch_size(key: bytes | None, value: bytes | None, headers: RawHeaders | None) -> int:
    """Return what brokers compare with ``max.message.bytes``: a batch, of format 2, of this record alone."""
    body = 3 + _field_size(key) + _field_size(value) + _varint_size(len(headers or ())) + _headers_size(headers)
    return _BATCH_OVERHEAD + _varint_size(body) + body


def max_headers_size(headers: RawHeaders | None) -> int:
    """Return an upper bound of the headers' size by either count, without encoding their names."""
    return sum(_MAX_HEADER_OVERHEAD + _MAX_UTF_8 * len(name) + len(text or b"") for name, text in headers or ())


def _too_large(topic: str, size: int, limit: str) -> RecordTooLargeError:
    return RecordTooLargeError(f"writing to topic {topic} is not possible: the record has {size} bytes, {limit}")


def _headers_size(headers: RawHeaders | None) -> int:
    return sum(_field_size(name.encode()) + _field_size(text) for name, text in headers or ())


def _field_size(data: bytes | None) -> int:
    return 1 if data is None else _varint_size(len(data)) + len(data)


def _varint_size(number: int) -> int:
    """Return the bytes of a length as Kafka writes it, zigzag and seven bits a byte."""
    return max(1, -(-(number << 1).bit_length() // 7))


def _longest(column: Sequence[bytes | None]) -> int:
    return max(map(len, filter(None, column)), default=0)
