# SPDX-License-Identifier: Apache-2.0
"""Java's ``OffsetStorageReader``, for tasks and for connectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.java.data import java_value, python_value
from headrace.java.jvm import java_class
from headrace.java.task_calls import proxy

Read = Callable[[Sequence[dict[str, Any]]], Sequence[dict[str, Any] | None]]
"""Returns the committed offsets of source partitions, in their order; None for one without."""


def java_offset_reader(read: Read) -> Any:
    """Return Java's ``OffsetStorageReader``, which gets offsets by ``read``."""

    def offsets_of(partitions: list[Any]) -> list[Any]:
        return [java_value(None, offset) for offset in read([python_value(None, each) for each in partitions])]

    def offset(partition: Any) -> Any:
        (found,) = offsets_of([partition])
        return found

    def offsets(partitions: Any) -> Any:
        """Return a map with an entry for each partition, as Kafka Connect's; null for one without an offset."""
        asked = list(partitions)
        found = java_class("java.util.HashMap")()
        for partition, each in zip(asked, offsets_of(asked), strict=True):
            found.put(partition, each)
        return found

    return proxy("org.apache.kafka.connect.storage.OffsetStorageReader", offset=offset, offsets=offsets)
