# SPDX-License-Identifier: Apache-2.0
"""Records that wait for the STATE that covers them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord

STATE: Final = "state"
"""The name in a source offset of the text of a STATE."""
TAP: Final = "tap"
STREAMS: Final = "streams"
ALL_STREAMS: Final = "*"


def source_partition(tap: str, streams: str) -> dict[str, str]:
    """Return the source partition of a tap's run: that of all streams (``*``), or of one."""
    return {TAP: tap, STREAMS: streams}


@dataclass(frozen=True, slots=True)
class HoldLimits:
    """The most that waits for a STATE; ``strict``: more is an error, else it is released with the former STATE."""

    records: int
    size: int
    strict: bool


@dataclass(frozen=True, slots=True)
class Released:
    """Records to send, in order. After each of ``ends``, which are among them, a STATE was received."""

    records: Sequence[SourceRecord]
    ends: Sequence[SourceRecord]


class HeldRecords:
    """The records since the last STATE of one source partition.

    The offset of a record is the last STATE before it; that of the last record before a STATE is that STATE. So what is
    committed never covers a record that is not sent, and covers all that are sent if records are released by STATEs
    alone. `uncovered` is True while records were released before their STATE.
    """

    def __init__(self, partition: Mapping[str, str], state: str | None, limits: HoldLimits) -> None:
        self._partition, self._limits = partition, limits
        self.state = state
        """The last STATE, of this run or a former one."""
        self.uncovered = False
        self._held: list[SourceRecord] = []
        self._size = 0
        self._records: list[SourceRecord] = []
        self._ends: list[SourceRecord] = []

    @property
    def waiting(self) -> int:
        """The number of records that wait for a STATE. Tombstones need none: a later run makes them again."""
        return sum(record.value is not None for record in self._held)

    def pending(self) -> Sequence[SourceRecord]:
        """Return the records, in order, that ``take`` has not returned yet."""
        return [*self._records, *self._held]

    def add(self, record: SourceRecord, size: int) -> None:
        """Hold a record, of so many bytes. Raise ConnectError if that is too much and the limits are strict."""
        self._held.append(self._at(record, self.state))
        self._size += size
        full = len(self._held) > self._limits.records or self._size > self._limits.size
        if not full or len(self._held) == 1:
            return
        if self._limits.strict:
            raise ConnectError(
                f"the tap has written {len(self._held)} records, of {self._size} bytes, without a STATE: increase "
                "singer.held.records and singer.held.bytes, or set transaction.boundary=connector; with "
                "singer.exactly.once=false they are sent, and read again after a crash"
            )
        # The last one stays, to carry the STATE.
        self._release(self._held[:-1])
        self._held, self._size, self.uncovered = self._held[-1:], size, True

    def cover(self, state: str) -> None:
        """Take a STATE, which covers all records before it: they are released."""
        self.state = state
        if self._held:
            self._at(self._held[-1], state)
            self._end()

    def release_all(self) -> None:
        """Release the rest with the former STATE: no STATE follows."""
        if self._held:
            self._end()

    def drop(self) -> None:
        """Forget the rest: it is read again from the last STATE."""
        self._held, self._size, self.uncovered = [], 0, False

    def take(self) -> Released:
        """Return what was released since the last call."""
        released = Released(self._records, self._ends)
        self._records, self._ends = [], []
        return released

    def _end(self) -> None:
        self._ends.append(self._held[-1])
        self._release(self._held)
        self.drop()

    def _release(self, records: Sequence[SourceRecord]) -> None:
        self._records.extend(records)

    def _at(self, record: SourceRecord, state: str | None) -> SourceRecord:
        offset: dict[str, Any] | None = None if state is None else {STATE: state}
        # Without a STATE there is no offset to store, and none to remove.
        record.source_partition, record.source_offset = (None if offset is None else self._partition), offset
        return record
