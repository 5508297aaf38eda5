# SPDX-License-Identifier: Apache-2.0
"""Deletes or moves files that are read, once the offset that records it is committed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.api.frames import FrameJob
from headrace.api.source import SourceTaskContext
from headrace.connectors.common.spark_config import PATH
from headrace.connectors.spark_files.file_ledger import FileLedger, FoundFile
from headrace.connectors.spark_files.file_reader import MODULE
from headrace.connectors.spark_files.spark_file_config import ACTION, DELETE, DIRECTORY, KEEP, MOST


class CompletedFiles:
    """The files to clean. For the task's thread only.

    After a crash the next listing and the committed offsets identify them again.
    """

    def __init__(
        self, context: SourceTaskContext, parsed: Mapping[str, Any], partitions: Sequence[Mapping[str, Any]]
    ) -> None:
        self._context = context
        self._parsed = parsed
        self._partitions = partitions
        self._noted: list[FoundFile] = []

    def note(self, file: FoundFile) -> None:
        """Note that a file is read; clean when there are many of them. Raises the errors of `Frames`."""
        if self._parsed[ACTION] != KEEP:
            self._noted.append(file)
            # Well before a ledger forgets them.
            if len(self._noted) * 2 >= self._parsed[MOST]:
                self._clean(self._noted)

    def listed(self, files: Sequence[FoundFile]) -> None:
        """Clean those files whose completion is committed. Raises the errors of `Frames`."""
        if self._parsed[ACTION] != KEEP:
            self._clean(files)

    def _clean(self, files: Sequence[FoundFile]) -> None:
        # Offsets of the task's last polls may be committed or not: only those read from Kafka count.
        ledgers = [FileLedger.of(offset) for offset in self._context.offset_storage_reader.offsets(self._partitions)]
        done = [file for file in files if any(ledger.is_completed(file) for ledger in ledgers)]
        if done:
            targets = json.dumps({file.path: self._target(file) for file in done})
            description = f"{self._parsed[ACTION]} {len(done)} completed files"
            self._context.frames.run(FrameJob(f"{MODULE}:clean", {"files": targets}, description, changes=True))
        self._noted = [file for file in self._noted if file not in done]

    def _target(self, file: FoundFile) -> str:
        """Return the path to move a file to, with its subdirectories; empty if it is deleted."""
        if self._parsed[ACTION] == DELETE:
            return ""
        root = self._parsed[PATH].rstrip("/").rpartition("://")[2]
        _, found, below = file.path.partition(f"{root}/")
        name = below if found else file.path.rpartition("/")[2]
        return f"{self._parsed[DIRECTORY].rstrip('/')}/{name}"
