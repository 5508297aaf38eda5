# SPDX-License-Identifier: Apache-2.0
"""Reads one file from some row on, by frame jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Final

import pyarrow as pa

from headrace.api.errors import ConnectError
from headrace.api.frames import FrameJob, Frames
from headrace.connectors.common.incremental_rows import IncrementalRows
from headrace.connectors.common.spark_reader import FORMAT, SCHEMA
from headrace.connectors.spark_files.file_columns import IGNORE, evolved
from headrace.connectors.spark_files.file_ledger import FoundFile
from headrace.connectors.spark_files.spark_file_config import ONE_COLUMN
from headrace.connectors.spark_files.spark_file_frames import ROW

MODULE: Final = "headrace.connectors.spark_files.spark_file_frames"


class FileReader:
    """A reader of one file, for the task's thread only.

    Raises the errors of `Frames`; after one, only `close` may be called.
    """

    def __init__(
        self, frames: Frames, reader: Mapping[str, str], evolution: str, file: FoundFile, row: int, schema: str | None
    ) -> None:
        """`reader` are the settings of `spark_reader.reader`; `schema` are the known columns, if any.

        Reads the file's columns if they matter.
        """
        self._rows = IncrementalRows(())
        self._next = row
        self._ended = False
        settings = {**reader, "path": file.path}
        self.schema = _schema(frames, settings, evolution, file, schema)
        """The columns known now; None if they are not kept."""
        wanted = {} if self.schema is None else {"columns": self.schema}
        job = FrameJob(f"{MODULE}:rows", {**settings, **wanted, "row": str(row)}, f"{file.path} from row {row}")
        self._stream: AbstractContextManager[Iterator[pa.RecordBatch]] = frames.stream(job)
        self._batches = self._stream.__enter__()

    @property
    def row(self) -> int:
        """Number of rows taken, those before the first one included."""
        return self._next - self._rows.waiting

    @property
    def finished(self) -> bool:
        """True if all rows are taken."""
        return self._ended and not self._rows.waiting

    def take(self, most: int, stopped: Callable[[], bool]) -> pa.Table | None:
        """Return the next rows, without their numbers; None if there are none left, or if `stopped`.

        `finished` is true as soon as the last rows are returned.
        """
        while not stopped():
            taken = self._rows.take(most, complete=self._ended)
            if taken is not None or self._ended:
                return taken
            self._read()
        return None

    def close(self) -> None:
        self._stream.__exit__(None, None, None)

    def _read(self) -> None:
        batch = next(self._batches, None)
        if batch is None:
            self._ended = True
        elif batch.num_rows:
            place = batch.schema.get_field_index(ROW)
            first, last = (batch.column(place)[index].as_py() for index in (0, batch.num_rows - 1))
            if (first, last) != (self._next, self._next + batch.num_rows - 1):
                # Spark has split the file.
                raise ConnectError(
                    f"Rows {first} to {last} came where row {self._next} was to come: they have no place"
                )
            self._next += batch.num_rows
            self._rows.add(_without(batch, place))


def _schema(
    frames: Frames, settings: Mapping[str, str], evolution: str, file: FoundFile, known: str | None
) -> str | None:
    if SCHEMA in settings or settings[FORMAT].lower() in ONE_COLUMN:
        return None
    if known is not None and evolution == IGNORE:
        return known
    job = FrameJob(f"{MODULE}:columns", settings, f"columns of {file.path}")
    found = json.loads(frames.run(job).column("columns")[0].as_py())
    return evolved(known, found, evolution, file.path)


def _without(batch: pa.RecordBatch, place: int) -> pa.RecordBatch:
    others = [index for index in range(batch.num_columns) if index != place]
    return pa.RecordBatch.from_arrays(
        [batch.column(index) for index in others], schema=pa.schema([batch.schema.field(index) for index in others])
    )
