# SPDX-License-Identifier: Apache-2.0
"""What the runtime offers a source task, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from headrace.api.frames import Frames
from headrace.api.plugin_metrics import PluginMetrics
from headrace.api.source import OffsetStorageReader, SourceTaskContext, TransactionContext


class StoredOffsets(OffsetStorageReader):
    def __init__(self, stored: dict[str, Any] | None) -> None:
        self._stored = stored
        self.asked: list[Mapping[str, Any]] = []

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        self.asked.append(partition)
        return self._stored

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


class TaskContext(SourceTaskContext):
    def __init__(self, stored: dict[str, Any] | None) -> None:
        self._reader = StoredOffsets(stored)

    def configs(self) -> Mapping[str, str]:
        return {}

    @property
    def offset_storage_reader(self) -> StoredOffsets:
        return self._reader

    @property
    def transaction_context(self) -> TransactionContext | None:
        return None

    @property
    def frames(self) -> Frames:
        raise AssertionError("this task needs no frames")

    def plugin_metrics(self) -> PluginMetrics:
        raise AssertionError("this task has no metrics of its own")


@pytest.fixture
def context() -> Callable[[dict[str, Any] | None], TaskContext]:
    """Makes a context whose reader answers with the given offset, whatever it is asked for."""
    return TaskContext
