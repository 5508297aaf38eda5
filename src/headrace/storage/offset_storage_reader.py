# SPDX-License-Identifier: Apache-2.0
"""Committed source offsets for connectors and tasks. Java: ``OffsetStorageReaderImpl``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.api.errors import ConnectError
from headrace.api.source import OffsetStorageReader
from headrace.storage import offset_codec
from headrace.storage.offset_backing_store import OffsetBackingStore
from headrace.storage.offset_waiting import await_offsets


class StoreOffsetStorageReader(OffsetStorageReader):
    """Reads one connector's offsets from a store; any thread, blocks up to ``timeout`` seconds a call."""

    def __init__(self, connector: str, store: OffsetBackingStore, timeout: float = 60.0) -> None:
        self._connector = connector
        self._store = store
        self._timeout = timeout

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        keys = [offset_codec.encode_key(self._connector, partition) for partition in partitions]
        what = f"The offsets of connector '{self._connector}'"
        values = await_offsets(self._store.get(keys), self._store, self._timeout, what)
        return [self._decode(key, values[key]) for key in keys]

    def _decode(self, key: bytes, value: bytes | None) -> dict[str, Any] | None:
        try:
            return offset_codec.decode_offset(value)
        except ConnectError as e:
            raise ConnectError(f"The offset stored under {key.decode(errors='replace')} cannot be read: {e}") from e
