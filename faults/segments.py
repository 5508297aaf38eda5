# SPDX-License-Identifier: Apache-2.0
"""Reads the record batches of a partition from the broker's own files: epochs and markers are in no client's view."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from faults.history import Batch, Outcome

# base offset, length, leader epoch, magic, CRC, attributes, last offset delta, base timestamp, max timestamp,
# producer id, producer epoch, base sequence, count
_HEADER = struct.Struct(">qiibIhiqqqhii")
_LENGTH_COUNTS_FROM = 12
_TRANSACTIONAL, _CONTROL = 1 << 4, 1 << 5
# Of a marker's one record: length, attributes, timestamp delta and offset delta, a byte each, then a key of four bytes.
_KEY_LENGTH_AT, _KEY = 4, struct.Struct(">hh")
_FOUR = 8  # as a varint


def batches(directory: Path) -> Iterator[Batch]:
    """All batches of the partition whose files lie in `directory`, in order. A batch that is half written is left."""
    for file in sorted(directory.glob("*.log")):
        yield from batches_of(file.read_bytes())


def batches_of(data: bytes) -> Iterator[Batch]:
    """The batches of one segment."""
    at = 0
    while at + _HEADER.size <= len(data):
        (base, length, _, magic, _, attributes, delta, _, timestamp, id, epoch, _, _) = _HEADER.unpack_from(data, at)
        end = at + _LENGTH_COUNTS_FROM + length
        if magic != 2 or end > len(data):
            return
        outcome = _outcome(data, at + _HEADER.size) if attributes & _CONTROL else None
        yield Batch(base, base + delta, (id, epoch), bool(attributes & _TRANSACTIONAL), timestamp, outcome)
        at = end


def _outcome(data: bytes, at: int) -> Outcome:
    if data[at + _KEY_LENGTH_AT] != _FOUR:
        raise ValueError(f"no marker of a transaction at byte {at}")
    _version, kind = _KEY.unpack_from(data, at + _KEY_LENGTH_AT + 1)
    return Outcome(kind)
