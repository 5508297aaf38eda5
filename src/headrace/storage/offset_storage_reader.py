# SPDX-License-Identifier: Apache-2.0
"""Committed source offsets for connectors and tasks. Java: ``OffsetStorageReaderImpl``."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from headrace.api.errors import ConnectError
from headrace.api.source import OffsetStorageReader
from headrace.kafka.errors import RetriableKafkaError
from headrace.storage import offset_codec
from headrace.storage.offset_backing_store import OffsetBackingStore

log = logging.getLogger(__name__)
_T = TypeVar("_T")
_FIRST_WORD: Final = 2.0


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


def await_offsets(reading: Future[_T], store: OffsetBackingStore, timeout: float, what: str) -> _T:
    """Return the answer of ``store``; log the reason of a wait of two seconds or more, ever more seldom. Blocks.

    ``what`` names the offsets in messages. Raise RetriableKafkaError, with the reason, after ``timeout`` seconds
    (invariant 3).
    """
    began, patience = time.monotonic(), _FIRST_WORD
    while True:
        left = began + timeout - time.monotonic()
        try:
            return reading.result(max(0.0, min(patience, left)))
        except TimeoutError:
            if reading.done():
                raise
        waiting = store.waiting_for() or "the offsets topic"
        if time.monotonic() >= began + timeout:
            raise RetriableKafkaError(f"{what} were not read in {timeout:g} s: waiting for {waiting}")
        log.warning("%s are waited for since %.0f s: %s", what, time.monotonic() - began, waiting)
        patience *= 2
