# SPDX-License-Identifier: Apache-2.0
"""The files that a task of a SparkFileSource has to read: those of its splits, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.api.errors import ConnectError
from headrace.connectors.spark_files.file_ledger import FileLedger, FoundFile


@dataclass(frozen=True, slots=True)
class NextFile:
    """A file to be read from row number `row` on."""

    split: int
    file: FoundFile
    row: int


class FileSplits:
    """The ledgers of some splits, and their files that are found but not read. Pure; for one thread."""

    def __init__(
        self, directory: str, count: int, ledgers: Mapping[int, FileLedger], window_ms: int, most: int
    ) -> None:
        """`count` is that of all splits; `ledgers` are those of this task, by number."""
        self._directory = directory
        self._count = count
        self._ledgers = dict(ledgers)
        self._window_ms = window_ms
        self._most = most
        self._found: Sequence[NextFile] = ()

    def partition(self, split: int) -> dict[str, Any]:
        return source_partition(self._directory, split, self._count)

    def found(self, files: Iterable[FoundFile], settled_ms: int) -> None:
        """Take over a listing; files modified after `settled_ms` are left for a later one.

        Raise ConnectError if a file was removed that is read in part.
        """
        listed: dict[int, list[FoundFile]] = {split: [] for split in self._ledgers}
        for file in files:
            split = file.split(self._count)
            if split in listed:
                listed[split].append(file)
        self._found = [each for split, files in listed.items() for each in self._to_read(split, files, settled_ms)]

    def next(self) -> NextFile | None:
        """Return the file to read next; None if all found files are read."""
        return self._found[0] if self._found else None

    def lag(self) -> dict[str, int]:
        """Return the numbers of files that are found and not read to their end, by a text that names the split."""
        names = {
            split: " ".join(source_partition(self._directory, split, self._count).values()) for split in self._ledgers
        }
        counts = Counter(each.split for each in self._found)
        return {name: counts[split] for split, name in names.items()}

    def skip(self, file: NextFile) -> None:
        """Skip a file until the next listing."""
        self._found = [each for each in self._found if each.file != file.file]

    def schema(self, split: int) -> str | None:
        return self._ledgers[split].schema

    def read(self, file: NextFile, row: int, *, finished: bool, schema: str | None) -> dict[str, Any]:
        """Note that a file's first `row` rows are read, or all of it; return the offset that records it."""
        ledger = self._ledgers[file.split]
        if finished:
            ledger = ledger.completed(file.file, self._window_ms, self._most)
            self.skip(file)
        else:
            ledger = ledger.reading(file.file, row)
            self._found = [replace(each, row=row) if each.file == file.file else each for each in self._found]
        self._ledgers[file.split] = replace(ledger, schema=schema)
        return self._ledgers[file.split].offset()

    def _to_read(self, split: int, files: Sequence[FoundFile], settled_ms: int) -> list[NextFile]:
        ledger = self._ledgers[split]
        pending = [NextFile(split, file, 0) for file in ledger.pending(files) if file.modified <= settled_ms]
        if ledger.begun is None:
            return pending
        begun = next((file for file in files if file.path == ledger.begun.file.path), None)
        if begun is None:
            raise ConnectError(
                f"File {ledger.begun.file.path} is gone, after its first {ledger.begun.row} rows were read: put it "
                f"back, or write an offset without it"
            )
        return [NextFile(split, begun, ledger.begun.row), *pending]


def source_partition(directory: str, split: int, count: int) -> dict[str, Any]:
    return {"path": directory} | ({"split": f"{split}/{count}"} if count > 1 else {})
