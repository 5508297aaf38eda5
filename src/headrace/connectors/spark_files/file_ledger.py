# SPDX-License-Identifier: Apache-2.0
"""The ledger of a split: its files that are read, and the position in the current one, as a source offset. Pure.

A file is identified by its path, time of modification and size: one that changes is another file. Files are read in the
order of modification, then of their paths. Completed files are recorded one by one only within a window before the
latest of them, in which older ones may still appear. Files not newer than a forgotten one are skipped.

::

    {"watermark": 1767225600000, "done": "{\"19b7…\": [\"kJ2…\"]}",
     "file": "…/b.csv", "modified": 1767225700000, "size": 51200, "row": 700}
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from headrace.api.errors import ConnectError

_WATERMARK: Final = "watermark"
_DONE: Final = "done"
_FILE: Final = "file"
_MODIFIED: Final = "modified"
_SIZE: Final = "size"
_ROW: Final = "row"
_SCHEMA: Final = "schema"
_TYPES: Final[Mapping[str, type]] = {
    _WATERMARK: int,
    _DONE: str,
    _FILE: str,
    _MODIFIED: int,
    _SIZE: int,
    _ROW: int,
    _SCHEMA: str,
}


@dataclass(frozen=True, slots=True, order=True)
class FoundFile:
    """A file as it was listed; `modified` in ms since the epoch. Files sort in the order in which they are read."""

    modified: int
    path: str
    size: int

    @property
    def name(self) -> str:
        """A short name, unique for this file."""
        digest = hashlib.sha256(f"{self.modified} {self.size} {self.path}".encode()).digest()
        return base64.urlsafe_b64encode(digest[:9]).decode()

    def split(self, count: int) -> int:
        """Return its split: a function of its path alone, so that it never changes."""
        return int.from_bytes(hashlib.sha256(self.path.encode()).digest()[:8]) % count


@dataclass(frozen=True, slots=True)
class Begun:
    """The current file: its first `row` rows are read."""

    file: FoundFile
    row: int


@dataclass(frozen=True, slots=True)
class FileLedger:
    """The ledger of one split. All files modified until `watermark` are completed.

    `done` are the names of completed files that were modified later, by time. `schema` holds the columns that the
    source has found, if it keeps them.
    """

    watermark: int | None = None
    done: Mapping[int, Sequence[str]] = field(default_factory=dict)
    begun: Begun | None = None
    schema: str | None = None

    def pending(self, found: Iterable[FoundFile]) -> list[FoundFile]:
        """Return those of the files that are still to be read, in order, without the current one."""
        begun = None if self.begun is None else self.begun.file.path
        return sorted(file for file in found if file.path != begun and not self._is_over(file))

    def is_completed(self, file: FoundFile) -> bool:
        """Return True if the file is recorded as completed."""
        return file.name in self.done.get(file.modified, ())

    def reading(self, file: FoundFile, row: int) -> FileLedger:
        """Return the ledger with ``file`` as the current one, read up to ``row``."""
        return replace(self, begun=Begun(file, row))

    def completed(self, file: FoundFile, window_ms: int, most: int) -> FileLedger:
        """Return the ledger with one more file; it keeps names for `window_ms` before the latest, of about `most`."""
        done = {**self.done, file.modified: [*self.done.get(file.modified, ()), file.name]}
        watermark, latest = self.watermark, max(done)
        # All names of the latest time stay: more files of that time may still have to be read.
        while (oldest := min(done)) < latest and (oldest < latest - window_ms or _count(done) > most):
            del done[oldest]
            watermark = oldest
        return replace(self, watermark=watermark, done=done, begun=None)

    def offset(self) -> dict[str, Any]:
        """Return the ledger as a source offset."""
        offset: dict[str, Any] = {}
        if self.watermark is not None:
            offset[_WATERMARK] = self.watermark
        offset[_DONE] = json.dumps({f"{moment:x}": list(names) for moment, names in self.done.items()})
        if self.begun is not None:
            file = self.begun.file
            offset |= {_FILE: file.path, _MODIFIED: file.modified, _SIZE: file.size, _ROW: self.begun.row}
        if self.schema is not None:
            offset[_SCHEMA] = self.schema
        return offset

    @staticmethod
    def of(offset: Mapping[str, Any] | None) -> FileLedger:
        """Return the ledger of a source offset. Raise ConnectError for an offset that is no ledger."""
        if offset is None:
            return FileLedger()
        given = {name: value for name, value in offset.items() if value is not None}
        for name, value in given.items():
            if name not in _TYPES or type(value) is not _TYPES[name]:
                known = ", ".join(f"{name} ({type.__name__})" for name, type in _TYPES.items())
                raise ConnectError(f"Offset field '{name}' with {value!r} is not known; known are {known}")
        return FileLedger(given.get(_WATERMARK), _done(given.get(_DONE, "{}")), _begun(given), given.get(_SCHEMA))

    def _is_over(self, file: FoundFile) -> bool:
        return (self.watermark is not None and file.modified <= self.watermark) or self.is_completed(file)


def _count(done: Mapping[int, Sequence[str]]) -> int:
    return sum(map(len, done.values()))


def _done(text: str) -> dict[int, list[str]]:
    try:
        return {int(moment, 16): [str(name) for name in names] for moment, names in json.loads(text).items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise ConnectError(f"Offset field '{_DONE}' is not what it was written as: {text!r}") from error


def _begun(given: Mapping[str, Any]) -> Begun | None:
    if _FILE not in given:
        return None
    if given.get(_ROW, 0) < 0:
        raise ConnectError(f"Offset field '{_ROW}' should not be negative: {given[_ROW]}")
    return Begun(FoundFile(given.get(_MODIFIED, 0), given[_FILE], given.get(_SIZE, 0)), given.get(_ROW, 0))
