# SPDX-License-Identifier: Apache-2.0
"""What a source task is handed in its process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.api.frames import Frames
from headrace.api.source import OffsetStorageReader, SourceTaskContext, TransactionContext
from headrace.task.worker_link import WorkerLink


class LinkedOffsetStorageReader(OffsetStorageReader):
    """Asks the worker, whose log of the offsets topics is read to the end first (invariant 3)."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        found = self._link.read_offsets(list(partitions))
        return [None if offset is None else dict(offset) for offset in found]


class WorkerSourceTaskContext(SourceTaskContext):
    """``transaction_context`` is None unless the task defines its own boundaries."""

    def __init__(
        self,
        configs: Mapping[str, str],
        reader: OffsetStorageReader,
        transactions: TransactionContext | None,
        frames: Frames,
    ) -> None:
        self._configs = configs
        self._reader = reader
        self._transactions = transactions
        self._frames = frames

    def configs(self) -> Mapping[str, str]:
        return self._configs

    @property
    def offset_storage_reader(self) -> OffsetStorageReader:
        return self._reader

    @property
    def transaction_context(self) -> TransactionContext | None:
        return self._transactions

    @property
    def frames(self) -> Frames:
        return self._frames
