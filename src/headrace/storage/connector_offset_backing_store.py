# SPDX-License-Identifier: Apache-2.0
"""One connector's view of source offsets: its own topic, where it has one, before the cluster's.

Java: ``ConnectorOffsetBackingStore``. KIP-618, "smooth migration".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from headrace.model.futures import all_of, chain_future, map_future
from headrace.storage.offset_backing_store import OffsetBackingStore


class ConnectorOffsetBackingStore:
    """Implements ``OffsetBackingStore`` over the ``primary`` store and the ``secondary`` it falls back to, if any."""

    def __init__(self, primary: OffsetBackingStore, secondary: OffsetBackingStore | None = None) -> None:
        self._primary = primary
        self._secondary = secondary

    def waiting_for(self) -> str | None:
        """Return the reason for which reads wait, in words."""
        return self._primary.waiting_for() or (self._secondary.waiting_for() if self._secondary else None)

    def offsets_of(self, connector: str) -> Future[dict[bytes, dict[str, Any]]]:
        """Return all offsets of a connector, by the JSON of the source partition; the primary's override."""
        own = self._primary.offsets_of(connector)
        if self._secondary is None:
            return own
        common = self._secondary.offsets_of(connector)
        return map_future(all_of([own, common]), lambda _: {**common.result(), **own.result()})

    def get(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        """Return the newest values, the primary's where it has one."""
        own = self._primary.get(keys)
        if self._secondary is None:
            return own
        common = self._secondary.get(keys)

        def merged() -> dict[bytes, bytes | None]:
            first, second = own.result(), common.result()
            return {key: first[key] if first[key] is not None else second[key] for key in keys}

        return map_future(all_of([own, common]), lambda _: merged())

    def set(self, records: Mapping[bytes, bytes | None]) -> Future[None]:
        """Write records to the primary store.

        Tombstones go to the secondary store first and only then, with all else, to the primary: a crash between them
        must not bring the secondary's old offsets back (KAFKA-15018).
        """
        tombstones = {key: value for key, value in records.items() if value is None}
        if self._secondary is None or not tombstones:
            return self._primary.set(records)
        return chain_future(self._secondary.set(tombstones), lambda _: self._primary.set(records))
