# SPDX-License-Identifier: Apache-2.0
"""The operation and the record of a failure. Java: ``ProcessingContext``, ``Stage``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord, TimestampType


class Stage(Enum):
    """The stage of a task's data path that an operation belongs to, by Java's names."""

    TASK_POLL = "TASK_POLL"
    TASK_PUT = "TASK_PUT"
    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    KAFKA_CONSUME = "KAFKA_CONSUME"


@dataclass(frozen=True, slots=True)
class ConsumedRecord:
    """A sink's record as it was consumed from Kafka."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp: int | None = None
    timestamp_type: TimestampType = TimestampType.NO_TIMESTAMP_TYPE


Original: TypeAlias = SourceRecord | ConsumedRecord
"""A record before anything was done to it: as polled, or as consumed."""
O = TypeVar("O", bound=Original)  # noqa: E741


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on records; created once per task. ``alias`` is a transformation's."""

    stage: Stage
    executing_class: str
    alias: str | None = None

    def __str__(self) -> str:
        alias = "" if self.alias is None else f" {self.alias}"
        return f"{self.stage.value}{alias} ({self.executing_class})"


@dataclass(frozen=True, slots=True)
class ProcessingContext(Generic[O]):
    """A final failure, after ``attempt`` attempts. ``tolerated``: the record is skipped and the task continues."""

    original: O
    operation: Operation
    attempt: int
    error: Exception
    tolerated: bool


def where(original: Original) -> str:
    """Return the record's position in words, for messages."""
    if isinstance(original, ConsumedRecord):
        return f"the record of topic {original.topic}, partition {original.partition}, offset {original.offset}"
    return (
        f"the record of topic {original.topic} with source partition {original.source_partition} "
        f"and offset {original.source_offset}"
    )


def reason(error: BaseException) -> str:
    """Return an error in one line."""
    return (isinstance(error, ConnectError) and error_text(error)) or error_line(error)
