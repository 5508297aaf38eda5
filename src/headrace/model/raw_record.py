# SPDX-License-Identifier: Apache-2.0
"""A record as Kafka has it, before any converter."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.api.record import TimestampType


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record's bytes and where it is. `timestamp` is in ms since the epoch.

    Partition and offset are None for a record that is not in Kafka yet.
    """

    topic: str
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    timestamp_type: TimestampType = TimestampType.NO_TIMESTAMP_TYPE
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def size(self) -> int:
        """The bytes of key, value and headers."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers
