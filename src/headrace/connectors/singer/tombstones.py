# SPDX-License-Identifier: Apache-2.0
"""Tombstones for the rows of a table that an ACTIVATE_VERSION makes void."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Final

from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.api.source import CommittedRecord
from headrace.connectors.singer.messages import ActivateVersionMessage, RecordMessage
from headrace.connectors.singer.row_headers import Row, committed_row, row_of, source_name
from headrace.connectors.singer.streams import Streams
from headrace.connectors.singer.written_rows import WrittenRows

log = logging.getLogger(__name__)

Pending = Callable[[], Iterable[SourceRecord]]
"""Returns the records, in order, that the task has made and not returned from ``poll`` yet."""
MOST: Final = 10_000
"""Tombstones that are made at a time: those of a large table come with several polls."""


class StoppedError(ConnectError):
    """The task is to stop while it reads a topic."""


class Tombstones:
    """Makes the tombstones of one task, by its knowledge of what it has written. For the task's thread; close it.

    The first ACTIVATE_VERSION of a stream has the stream's topic read; later ones know what was sent since. One that
    comes before the rows of its version has its effect at the end of the run: until then all rows would be gone.
    """

    def __init__(
        self,
        connector: str,
        streams: Streams,
        read_topic: Callable[[str], Iterable[CommittedRecord]],
        stopping: Callable[[], bool],
    ) -> None:
        """``read_topic`` is the context's. ``stopping`` returns True once the task is to stop."""
        self._connector, self._streams = connector, streams
        self._read_topic, self._stopping = read_topic, stopping
        self._rows = WrittenRows()
        self._keyless: set[str] = set()
        self.begin_run()

    def begin_run(self) -> None:
        """Forget what the former run has activated, and not had an effect yet."""
        self._seen: set[tuple[str, int | None]] = set()
        self._early: dict[str, int] = {}
        self._due: Iterator[SourceRecord] | None = None

    def note(self, message: RecordMessage) -> None:
        """Take a RECORD of this run."""
        self._seen.add((message.stream, message.version))

    def activate(self, message: ActivateVersionMessage, pending: Pending) -> None:
        """Take an ACTIVATE_VERSION: its tombstones are due, or will be at the end of the run."""
        self._early.pop(message.stream, None)
        if (message.stream, message.version) in self._seen:
            self._due = self._gone(message.stream, message.version, pending)
        else:
            self._early[message.stream] = message.version

    def end_run(self, pending: Pending) -> bool:
        """Take the end of a run that has not failed. Return True if there are tombstones that are due now."""
        early, self._early = self._early, {}
        if early:
            self._due = chain.from_iterable(self._gone(*each, pending) for each in early.items())
        return bool(early)

    @property
    def due(self) -> bool:
        """True if there may be tombstones to ``take``, which come before all else that the tap has written."""
        return self._due is not None

    def take(self) -> list[SourceRecord]:
        """Return the next tombstones, without source partition and offset. Raise StoppedError or ConnectError."""
        assert self._due is not None
        found = list(islice(self._due, MOST))
        if len(found) < MOST:
            self._due = None
        return found

    def sent(self, records: Iterable[SourceRecord]) -> None:
        """Take the records that ``poll`` returns."""
        self._rows.add_sent(filter(None, map(row_of, records)))

    def forget(self) -> None:
        """Take an abort: what was sent since the last commit is not written. The topics are read again."""
        self._rows.forget()

    def close(self) -> None:
        """Release the file with the rows."""
        self._rows.close()

    def _gone(self, stream: str, version: int, pending: Pending) -> Iterator[SourceRecord]:
        if not self._streams.has_key(stream):
            self._log_keyless(stream)
            return
        source = source_name(self._connector, stream)
        if not self._rows.is_loaded(source):
            self._rows.load(source, self._stored(stream, source))
        latest = {row.key: row for of, row in filter(None, map(row_of, pending())) if of == source}
        gone = (key for key, row in latest.items() if not row.gone and row.version != version)
        others = (key for key in self._rows.others(source, version) if key not in latest)
        kept = 0
        for key in chain(gone, others):
            if (tombstone := self._streams.tombstone(stream, key)) is not None:
                yield tombstone
            else:
                kept += 1
        if kept:
            advice = "the SCHEMA of the stream has another key now"
            log.warning("%d rows of stream '%s' are gone and get no tombstones: %s", kept, stream, advice)

    def _stored(self, stream: str, source: str) -> Iterator[Row]:
        topic, own, others = self._streams.topic(stream), 0, 0
        for stored in self._read_topic(topic):
            if self._stopping():
                raise StoppedError
            row = committed_row(stored, source)
            if row is not None:
                own += 1
                yield row
            elif stored.value is not None:
                others += 1
        message = "Topic %s has %d records with headers of stream '%s', and %d others, whose rows get no tombstones"
        log.info(message, topic, own, stream, others)

    def _log_keyless(self, stream: str) -> None:
        if stream not in self._keyless:
            self._keyless.add(stream)
            log.warning("Stream '%s' has no key_properties: rows that are gone get no tombstones", stream)
