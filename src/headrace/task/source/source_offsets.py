# SPDX-License-Identifier: Apache-2.0
"""The source offsets of a batch: for each source partition the last one, keyed by the bytes of the offsets topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.api.record import SourceRecord
from headrace.storage.offset_codec import encode_key, encode_offset

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """One source partition's offset, as given and as the offsets topic holds it (``value`` None deletes it)."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any] | None
    key: bytes
    value: bytes | None


OffsetsByKey = dict[bytes, SourceOffset]


def offsets_of_records(connector: str, records: Iterable[SourceRecord]) -> OffsetsByKey:
    """Last offsets of a batch of records, in the order in which the partitions were last seen.

    Tasks mostly hand over one and the same partition object, so only the last record of each object is looked at.
    """
    last: dict[int, SourceRecord] = {}
    previous: SourceRecord | None = None
    for record in records:
        if previous is not None and previous.source_partition is not record.source_partition:
            last.pop(id(previous.source_partition), None)
            last[id(previous.source_partition)] = previous
        previous = record
    if previous is not None:
        last.pop(id(previous.source_partition), None)
        last[id(previous.source_partition)] = previous
    result: OffsetsByKey = {}
    for record in last.values():
        if record.source_partition is not None:
            _put(result, connector, record.source_partition, record.source_offset)
    return result


def offsets_of_table(connector: str, table: pa.Table) -> OffsetsByKey:
    """Last offsets of a polled Arrow table (``headrace.api.arrow`` documents the columns)."""
    from headrace.api.arrow import last_offsets

    result: OffsetsByKey = {}
    for partition, offset in last_offsets(table):
        _put(result, connector, partition, offset)
    return result


def _put(result: OffsetsByKey, connector: str, partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> None:
    key = encode_key(connector, partition)
    result.pop(key, None)
    result[key] = SourceOffset(partition, offset, key, encode_offset(offset))
