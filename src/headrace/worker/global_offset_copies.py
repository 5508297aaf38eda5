# SPDX-License-Identifier: Apache-2.0
"""Keeps the worker's offsets topic up with what connectors commit to offsets topics of their own (KIP-618)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import RetriableError
from headrace.model.deadline import Clock
from headrace.model.service_threads import ServiceThread
from headrace.storage.offset_backing_store import OffsetBackingStore

log = logging.getLogger(__name__)

_FIRST_BACKOFF: Final = 0.25
_LONGEST_BACKOFF: Final = 30.0
_LOOK: Final = 0.5
"""How often the thread that waits for a broker looks whether it is to end."""

Records = Mapping[bytes, bytes | None]
Source = tuple[str, str]
"""An offsets topic of connectors' own, and the bootstrap servers of the cluster that it is in."""


@dataclass(frozen=True, slots=True)
class CopyLag:
    """What of one connector is not copied yet: ``pending`` source partitions, the oldest since ``seconds``."""

    pending: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Waiting:
    """A source partition's newest offset, as it was committed to ``source``."""

    connector: str
    value: bytes | None
    source: Source
    since: float


class GlobalOffsetCopies:
    """Thread-safe; ``put`` never blocks. One thread writes, and tries again for ever: no task ever hears of a failure.

    Of a source partition only the newest offset waits, so that what waits is bounded. A copy that failed is read anew
    where it was committed before it is tried again: it may have been reset meanwhile.
    """

    def __init__(
        self, target: OffsetBackingStore, store_of: Callable[[Source], OffsetBackingStore | None], clock: Clock
    ) -> None:
        """``store_of`` finds the open store of a topic, if there is one."""
        self._target = target
        self._store_of = store_of
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: dict[bytes, _Waiting] = {}
        self._stopping = False
        self._error: BaseException | None = None
        self._taken_at = 0.0
        self._thread: threading.Thread | None = None

    def put(self, connector: str, records: Records, source: Source) -> None:
        """Have these copied that were just committed to ``source``."""
        now = self._clock()
        with self._changed:
            for key, value in records.items():
                before = self._waiting.get(key)
                self._waiting[key] = _Waiting(connector, value, source, now if before is None else before.since)
            if self._thread is None and not self._stopping:
                loss = "offsets are not copied to the worker's offsets topic"
                self._thread = ServiceThread("global-offset-copies", self._run, loss)
                self._thread.start()
            self._changed.notify_all()

    def lag(self, connector: str) -> CopyLag:
        """Whoever takes a connector's own offsets topic away repeats this much at most."""
        with self._changed:
            since = [each.since for each in self._waiting.values() if each.connector == connector]
        return CopyLag(len(since), self._clock() - min(since)) if since else CopyLag()

    def await_moved(self, connector: str, source: Source | None, timeout: float) -> None:
        """Wait for copies of what the connector committed anywhere else than to ``source``: it has been moved.

        RetriableError after ``timeout`` seconds, for else positions would be lost.
        """

        def moved() -> bool:
            return any(each.connector == connector and each.source != source for each in self._waiting.values())

        with self._changed:
            if not self._changed.wait_for(lambda: not moved(), timeout):
                raise RetriableError(
                    f"Connector {connector} has another offsets topic than before, and the offsets in that one are not "
                    f"copied to the worker's yet: {self._error or self._target.waiting_for() or 'no answer'}"
                )

    def forget(self, connector: str) -> None:
        """What waits to be copied is not to be any more: somebody changes the connector's offsets.

        When this returns nothing of it is sent to the worker's topic any more; what was sent is ahead of what comes.
        """
        with self._changed:
            self._waiting = {key: each for key, each in self._waiting.items() if each.connector != connector}
            self._changed.notify_all()

    def stop(self, timeout: float) -> None:
        """Let what waits be copied for ``timeout`` seconds; the next start of a task copies what is missing."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, timeout)
            self._stopping = True
            self._changed.notify_all()

    # ---- on the thread

    def _run(self) -> None:
        backoff = 0.0
        while (batch := self._next(backoff)) is not None:
            try:
                self._write(batch, again=backoff > 0)
            except Exception as error:
                if not backoff:
                    log.warning("Offsets are not copied to the worker's offsets topic; it is tried again: %s", error)
                self._error = error
                backoff = min(max(2 * backoff, _FIRST_BACKOFF), _LONGEST_BACKOFF)
            else:
                self._done(batch)
                self._error, backoff = None, 0.0

    def _next(self, backoff: float) -> dict[bytes, _Waiting] | None:
        """All that waits, after a pause if the last attempt failed; None at the end."""
        with self._changed:
            if backoff:
                self._changed.wait_for(lambda: self._stopping, backoff)
            self._changed.wait_for(lambda: bool(self._waiting) or self._stopping)
            self._taken_at = self._clock()
            return None if self._stopping else dict(self._waiting)

    def _write(self, batch: Mapping[bytes, _Waiting], again: bool) -> None:
        records = {key: each.value for key, each in batch.items()}
        if again:
            records |= self._committed_now(batch)
        writing = self._send(batch, records)
        while not self._stopping:
            try:
                return writing.result(_LOOK)
            except TimeoutError:
                # The store goes on by itself while brokers are away.
                continue

    def _send(self, batch: Mapping[bytes, _Waiting], records: Records) -> Future[None]:
        """Under the lock, so that whoever has had a copy forgotten is written after it if it was sent before."""
        with self._changed:
            return self._target.set(
                {key: records[key] for key, each in batch.items() if self._waiting.get(key) is each}
            )

    def _committed_now(self, batch: Mapping[bytes, _Waiting]) -> dict[bytes, bytes | None]:
        found: dict[bytes, bytes | None] = {}
        for source in {each.source for each in batch.values()}:
            store = self._store_of(source)
            if store is not None:
                keys = [key for key, each in batch.items() if each.source == source]
                found |= store.get(keys).result(_LONGEST_BACKOFF)
        return found

    def _done(self, batch: Mapping[bytes, _Waiting]) -> None:
        with self._changed:
            for key, copied in batch.items():
                now = self._waiting.get(key)
                if now is copied:
                    del self._waiting[key]
                elif now is not None:
                    now.since = self._taken_at
            self._changed.notify_all()
