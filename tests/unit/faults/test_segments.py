# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import struct

import pytest

from faults.history import Batch, Outcome
from faults.segments import batches_of

TRANSACTIONAL, MARKER = 0x10, 0x30


def batch(first: int, count: int, attributes: int, body: bytes = b"records") -> bytes:
    """As Kafka's documentation of the record batch has it; the checksum is not used here."""
    rest = struct.pack(">ibIhiqqqhii", 0, 2, 0, attributes, count - 1, 1000, 2000, 7, 3, 0, count) + body
    return struct.pack(">qi", first, len(rest)) + rest


def marker(first: int, kind: int) -> bytes:
    """One record: its length, attributes and deltas a byte each, a key of 4 bytes (8 as a varint), a value of 6."""
    record = b"\x00\x00\x00\x08" + struct.pack(">hh", 0, kind) + b"\x0c" + bytes(6) + b"\x00"
    return batch(first, 1, MARKER, bytes([2 * len(record)]) + record)


def test_batches_and_markers() -> None:
    data = batch(0, 5, TRANSACTIONAL) + marker(5, 1) + batch(6, 1, 0) + marker(7, 0)
    assert list(batches_of(data)) == [
        Batch(0, 4, (7, 3), True, 2000),
        Batch(5, 5, (7, 3), True, 2000, Outcome.COMMIT),
        Batch(6, 6, (7, 3), False, 2000),
        Batch(7, 7, (7, 3), True, 2000, Outcome.ABORT),
    ]


def test_what_is_half_written_is_left() -> None:
    whole = batch(0, 5, TRANSACTIONAL)
    assert list(batches_of(whole + batch(5, 1, TRANSACTIONAL)[:-1])) == list(batches_of(whole))
    assert list(batches_of(whole[:20])) == []
    assert list(batches_of(bytes(200))) == []


def test_a_marker_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no marker"):
        list(batches_of(batch(0, 1, MARKER, bytes(20))))
