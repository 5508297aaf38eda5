# SPDX-License-Identifier: Apache-2.0
"""A record as Kafka has it, before any converter."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TimestampType(Enum):
    """The clock that a record's timestamp is from. The values are Kafka's names (Java: `TimestampType`)."""

    NONE = "NoTimestampType"
    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record's bytes and where it is. `timestamp` is in ms since the epoch.

    Partition and offset are None for a record that is not in Kafka yet.
    """

    topic: str
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    timestamp_type: TimestampType = TimestampType.NONE
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def size(self) -> int:
        """The bytes of key, value and headers."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers
