# SPDX-License-Identifier: Apache-2.0
"""How large a record is on its way to Kafka, and how large it may be."""

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
MOST_OVERHEAD: Final = 100
"""What a record without headers takes beside key and value, by either count, at the most."""
_CLIENTS_OVERHEAD: Final = 36
_MOST_OF_A_HEADER: Final = 10
"""Two lengths of five bytes each."""
_UTF_8: Final = 4
"""Bytes of a character, at the most."""
_BATCH_OVERHEAD: Final = 61

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """In bytes. ``topic`` is None where it is not known, and so is the broker's to tell."""

    client: int
    topic: int | None

    @property
    def least(self) -> int:
        return self.client if self.topic is None else min(self.client, self.topic)


class SizeLimits:
    """The limits of one task's producer. Task's thread only; may block on the brokers.

    ``ask`` tells a topic's ``max.message.bytes``, None if it cannot be known now. Without it, as where records are
    compressed, only the client's limit is known: it counts bytes before compression, the brokers after it.
    """

    def __init__(self, client: int, ask: Callable[[str], int | None] | None) -> None:
        self._client = client
        self._ask = ask
        self._known: dict[str, int | None] = {}

    def of(self, topic: str) -> Limits:
        """As they were when last asked for."""
        if self._known.get(topic) is None and self._ask is not None:
            self._known[topic] = self._ask(topic)
        return Limits(self._client, self._known.get(topic))

    def refusal(
        self, topic: str, key: bytes | None, value: bytes | None, headers: RawHeaders | None
    ) -> RecordTooLargeError | None:
        """Why the record cannot be written; None if it can. What the topic takes is asked anew before it is refused."""
        size = clients_size(key, value, headers)
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


def _too_large(topic: str, size: int, limit: str) -> RecordTooLargeError:
    return RecordTooLargeError(f"writing to topic {topic} is not possible: the record has {size} bytes, {limit}")


def clients_size(key: bytes | None, value: bytes | None, headers: RawHeaders | None) -> int:
    """What librdkafka compares with ``max.request.size``: the most that the record could take."""
    return _CLIENTS_OVERHEAD + len(key or b"") + len(value or b"") + _headers(headers)


def batch_size(key: bytes | None, value: bytes | None, headers: RawHeaders | None) -> int:
    """What brokers compare with ``max.message.bytes``: a batch, of format 2, of this record alone."""
    body = 3 + _field(key) + _field(value) + _varint(len(headers or ())) + _headers(headers)
    return _BATCH_OVERHEAD + _varint(body) + body


def most_of_headers(headers: RawHeaders | None) -> int:
    """Return what the headers of a record take at the most, by either count; without encoding their names."""
    return sum(_MOST_OF_A_HEADER + _UTF_8 * len(name) + len(text or b"") for name, text in headers or ())


def _headers(headers: RawHeaders | None) -> int:
    return sum(_field(name.encode()) + _field(text) for name, text in headers or ())


def _field(data: bytes | None) -> int:
    return 1 if data is None else _varint(len(data)) + len(data)


def _varint(number: int) -> int:
    """Bytes of a length as Kafka writes it, zigzag and seven bits a byte."""
    return max(1, -(-(number << 1).bit_length() // 7))


def topic_limits(admin: Mapping[str, str]) -> Callable[[str], int | None]:
    """Asks the brokers with the properties of the task's admin client, which lives as long as the task's process."""
    refused: set[str] = set()

    @cache
    def client() -> TopicAdmin:
        # Few tasks ask, and the admin client takes time to import.
        from headrace.kafka.admin.topic_admin import TopicAdmin

        return TopicAdmin(admin)

    def ask(topic: str) -> int | None:
        if topic in refused:
            return None
        try:
            limit = client().config(topic).get(MAX_MESSAGE_BYTES)
        except RetriableError:  # it does not exist yet, for one
            return None
        except ConnectError as error:
            refused.add(topic)
            message = "What topic %s takes is not known, so a record that is too large for it may fail the task: %s"
            _log.warning(message, topic, error)
            return None
        return int(limit) if limit else None

    return ask


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
