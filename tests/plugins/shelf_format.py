# SPDX-License-Identifier: Apache-2.0
"""A format of Spark's written in Python: a directory of files with a number in each line.

It is there under two names: `shelf`, which the entry point in `on_frames-1.0.dist-info` has each session get, and that
of `pyspark_bookcase`, which Spark finds by the module's name.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceWriter,
    InputPartition,
    WriterCommitMessage,
)

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession
    from pyspark.sql.types import StructType


def register(session: SparkSession) -> None:
    session.dataSource.register(Shelf)


class Shelf(DataSource):
    @classmethod
    def name(cls) -> str:
        return "shelf"

    def schema(self) -> str:
        return "n BIGINT"

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(self.options["path"])

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return _Writer(self.options["path"])


class _Reader(DataSourceReader):
    def __init__(self, path: str) -> None:
        self._path = path

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(str(file)) for file in Path(self._path).glob("*.txt")]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        yield from ((int(line),) for line in Path(partition.value).read_text().splitlines())


class _Writer(DataSourceWriter):
    def __init__(self, path: str) -> None:
        self._path = path

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        text = "".join(f"{row['n']}\n" for row in iterator)
        Path(self._path).mkdir(exist_ok=True)
        (Path(self._path) / f"{uuid.uuid4()}.txt").write_text(text)
        return WriterCommitMessage()
