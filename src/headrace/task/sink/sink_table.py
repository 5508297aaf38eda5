# SPDX-License-Identifier: Apache-2.0
"""Consumed messages as the Arrow table that ``ColumnarSinkTask.put_table`` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Final

import pyarrow as pa

from headrace.api import arrow
from headrace.api.converter import Converter
from headrace.kafka.data.consumed_messages import ConsumedMessages

_PLAIN: Final[Mapping[str, Callable[[ConsumedMessages], pa.Array]]] = {
    arrow.TOPIC: lambda messages: pa.array(messages.topics, pa.string()),
    arrow.PARTITION: lambda messages: pa.array(messages.partitions, pa.int32()),
    arrow.OFFSET: lambda messages: pa.array(messages.offsets, pa.int64()),
    arrow.TIMESTAMP: lambda messages: pa.array([t if kind else None for kind, t in messages.timestamps], pa.int64()),
}


def sink_table(messages: ConsumedMessages, columns: Set[str], key: Converter, value: Converter) -> pa.Table | None:
    """A table of ``columns``; None if a converter has no columnar path for these bytes, whatever the reason: row by row
    it shows which record it is."""
    if not messages.of_one_topic:
        return None
    made: dict[str, pa.Array] = {}
    try:
        if arrow.KEY in columns:
            made[arrow.KEY] = key.to_arrow(messages.topics[0], pa.array(messages.keys, pa.binary()))
        if arrow.VALUE in columns:
            made[arrow.VALUE] = value.to_arrow(messages.topics[0], pa.array(messages.values, pa.binary()))
    except Exception:
        return None
    if any(column is None for column in made.values()):
        return None
    made |= {name: make(messages) for name, make in _PLAIN.items() if name in columns}
    return pa.table(made)
