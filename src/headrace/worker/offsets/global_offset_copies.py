# SPDX-License-Identifier: Apache-2.0
"""Copies of offsets from connectors' own offsets topics to the worker's (KIP-618)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import RetriableError
from headrace.model.backoff import ExponentialBackoff
from headrace.model.deadline import Clock
from headrace.model.service_threads import ServiceThread
from headrace.storage.offset_backing_store import OffsetBackingStore

log = logging.getLogger(__name__)

_BACKOFF: Final = ExponentialBackoff(0.25, 30.0)
_POLL_S: Final = 0.5
"""Seconds between checks for the end, while the thread waits for a broker."""

Records = Mapping[bytes, bytes | None]
Source = tuple[str, str]
"""A connector's own offsets topic, and the bootstrap servers of its cluster."""


@dataclass(frozen=True, slots=True)
class CopyLag:
    """The offsets of one connector not yet copied: ``pending`` source partitions, the oldest for ``seconds``."""

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
    """A thread that copies committed offsets to the worker's topic. Thread-safe; ``put`` never blocks.

    The thread retries without limit; no failure reaches a task. Only the newest offset of a source partition waits, so
    the memory is bounded. A copy that failed is read again from its source before the retry: it may have been reset
    meanwhile.
    """

    def __init__(
        self, target: OffsetBackingStore, store_of: Callable[[Source], OffsetBackingStore | None], clock: Clock
    ) -> None:
        """Create it for the worker's store ``target``; ``store_of`` finds the open store of a topic, if any."""
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
        """Copy ``records``, which were just committed to ``source``."""
        now = self._clock()
        with self._changed:
            for key, value in records.items():
                before = self._waiting.get(key)
                self._waiting[key] = _Waiting(connector, value, source, now if before is None else before.since)
            if self._thread is None and not self._stopping:
                loss = "offsets are not copied to the worker's offsets topic"
                self._thread = ServiceThread("global-offset-copies", self._copy_until_stopped, loss)
                self._thread.start()
            self._changed.notify_all()

    def lag(self, connector: str) -> CopyLag:
        """Return the lag: at most this much is repeated if the connector's own offsets topic is taken away."""
        with self._changed:
            since = [each.since for each in self._waiting.values() if each.connector == connector]
        return CopyLag(len(since), self._clock() - min(since)) if since else CopyLag()

    def await_moved(self, connector: str, source: Source | None, timeout: float) -> None:
        """Wait until nothing that the connector committed elsewhere than to ``source`` is left to copy.

        Such offsets exist after the connector's offsets topic was changed. Raise RetriableError after ``timeout``
        seconds, for else positions would be lost.
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
        """Drop the connector's pending copies, because its offsets are about to be changed.

        When this returns none of them is sent to the worker's topic any more; those sent before precede whatever is
        written next.
        """
        with self._changed:
            self._waiting = {key: each for key, each in self._waiting.items() if each.connector != connector}
            self._changed.notify_all()

    def stop(self, timeout: float) -> None:
        """Copy the pending offsets for up to ``timeout`` seconds; the next start of a task copies what is missing."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, timeout)
            self._stopping = True
            self._changed.notify_all()

    # ---- on the thread

    def _copy_until_stopped(self) -> None:
        failures = 0
        while (batch := self._next_batch(_BACKOFF.after(failures))) is not None:
            try:
                self._write(batch, again=failures > 0)
            except Exception as error:
                if not failures:
                    log.warning("Offsets are not copied to the worker's offsets topic; it is tried again: %s", error)
                self._error = error
                failures += 1
            else:
                self._done(batch)
                self._error, failures = None, 0

    def _next_batch(self, pause: float) -> dict[bytes, _Waiting] | None:
        """Return all pending offsets, after a pause if the last attempt failed; None at the end."""
        with self._changed:
            if pause:
                self._changed.wait_for(lambda: self._stopping, pause)
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
                return writing.result(_POLL_S)
            except TimeoutError:
                # The store continues by itself while brokers are not available.
                continue

    def _send(self, batch: Mapping[bytes, _Waiting], records: Records) -> Future[None]:
        """Send the copies under the lock, so that a write after ``forget`` comes after every copy sent before it."""
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
                found |= store.get(keys).result(_BACKOFF.longest)
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
