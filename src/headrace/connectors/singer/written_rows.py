# SPDX-License-Identifier: Apache-2.0
"""The rows of streams that are in their topics, with their versions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final

from headrace.connectors.singer.row_headers import Row

_PAGE: Final = 1000
_TABLE: Final = """
CREATE TABLE rows (source TEXT, key TEXT, version INTEGER, sent INTEGER, PRIMARY KEY (source, key)) WITHOUT ROWID
"""
_SENT: Final = "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, 1)"
_GONE: Final = "DELETE FROM rows WHERE source = ? AND key = ?"
# A record that is read from the topic is older than what the task has sent.
_FOUND: Final = """
INSERT INTO rows VALUES (?, ?, ?, 0) ON CONFLICT DO UPDATE SET version = excluded.version WHERE NOT sent
"""
_FOUND_GONE: Final = "DELETE FROM rows WHERE source = ? AND key = ? AND NOT sent"
_OTHERS: Final = """
SELECT key FROM rows WHERE source = ? AND version IS NOT ? AND key > ? ORDER BY key LIMIT ?
"""


class WrittenRows:
    """Rows by source and key, in a temporary file of SQLite, so that their number is not bounded by memory.

    They are what the task has sent since its start, and what it has read from the topics before that. For one thread;
    close it.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute(_TABLE)
        self._loaded: set[str] = set()

    def is_loaded(self, source: str) -> bool:
        """Return True once the rows of the topic were added."""
        return source in self._loaded

    def add_sent(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Add rows that were sent, each with its source, in their order."""
        self._apply(rows, _SENT, _GONE)

    def load(self, source: str, rows: Iterable[Row]) -> None:
        """Add the rows of a source's topic, in their order; the source is loaded then, unless ``rows`` raises."""
        self._apply(((source, row) for row in rows), _FOUND, _FOUND_GONE)
        self._loaded.add(source)

    def others(self, source: str, version: int) -> Iterator[str]:
        """Yield the keys of rows that have another version, or none. Rows may be added and removed meanwhile."""
        last = ""
        while page := self._database.execute(_OTHERS, (source, version, last, _PAGE)).fetchall():
            last = page[-1][0]
            for (key,) in page:
                yield key

    def forget(self) -> None:
        """Forget all rows: it is not known which ones were written. They have to be loaded again."""
        self._database.execute("DELETE FROM rows")
        self._loaded.clear()

    def close(self) -> None:
        """Close and remove the file."""
        self._database.close()

    def _apply(self, rows: Iterable[tuple[str, Row]], put: str, remove: str) -> None:
        """Put rows, and remove those that are gone. Those before an error stay: a further load replaces them."""
        # One transaction, as one for each row would take most of the time.
        self._database.execute("BEGIN")
        try:
            for source, row in rows:
                if row.gone:
                    self._database.execute(remove, (source, row.key))
                else:
                    self._database.execute(put, (source, row.key, row.version))
        finally:
            self._database.execute("COMMIT")
