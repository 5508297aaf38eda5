# SPDX-License-Identifier: Apache-2.0
"""One connector's view of source offsets: its own topic, where it has one, before the cluster's.

Java: ``ConnectorOffsetBackingStore``. KIP-618, "smooth migration".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from headrace.api.errors import ConnectError
from headrace.storage.offset_backing_store import OffsetBackingStore, all_of, then


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
        return then(all_of([_quiet(own), _quiet(common)]), lambda: {**common.result(), **own.result()})

    def get(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        """Return the newest values, the primary's where it has one."""
        own = self._primary.get(keys)
        if self._secondary is None:
            return own
        common = self._secondary.get(keys)

        def merged() -> dict[bytes, bytes | None]:
            first, second = own.result(), common.result()
            return {key: first[key] if first[key] is not None else second[key] for key in keys}

        return then(all_of([_quiet(own), _quiet(common)]), merged)

    def set(self, records: Mapping[bytes, bytes | None]) -> Future[None]:
        """Write records to the primary store.

        Tombstones go to the secondary store first and only then, with all else, to the primary: a crash between them
        must not bring the secondary's old offsets back (KAFKA-15018).
        """
        tombstones = {key: value for key, value in records.items() if value is None}
        if self._secondary is None or not tombstones:
            return self._primary.set(records)
        result: Future[None] = Future()
        result.set_running_or_notify_cancel()

        def written(common: Future[None]) -> None:
            error = common.exception()
            if error is not None:
                result.set_exception(error)
                return
            try:
                _forward(self._primary.set(records), result)
            except ConnectError as e:
                result.set_exception(e)

        self._secondary.set(tombstones).add_done_callback(written)
        return result


def _quiet(future: Future[Any]) -> Future[None]:
    return then(future, lambda: None)


def _forward(source: Future[None], target: Future[None]) -> None:
    def ended(done: Future[None]) -> None:
        error = done.exception()
        if error is None:
            target.set_result(None)
        else:
            target.set_exception(error)

    source.add_done_callback(ended)
