# SPDX-License-Identifier: Apache-2.0
"""FileStreamSink: records as the lines of a text file, or of the standard output."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace import KAFKA_VERSION
from headrace.api import arrow
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.connector import Task
from headrace.api.datasets import Dataset, file_dataset
from headrace.api.java_string import java_string
from headrace.api.record import SinkRecord
from headrace.api.sink import ColumnarSinkTask, DryRun, OffsetAndMetadata, SinkConnector, TopicPartition
from headrace.api.validators import WritablePath
from headrace.connectors.file_stream.output_file import Buffer, OutputFile

log = logging.getLogger(__name__)

FILE_CONFIG: Final = "file"

CONFIG_DEF: Final = ConfigDef().define(
    FILE_CONFIG,
    Type.STRING,
    None,
    importance=Importance.HIGH,
    validator=WritablePath(),
    doc="Destination filename. If not specified, the standard output of the task's process is used.",
)

_NULL: Final = b"null"


class FileStreamSinkConnector(SinkConnector):
    """As many tasks as allowed; all append to the same file (Java: `FileStreamSinkConnector`)."""

    def version(self) -> str:
        return KAFKA_VERSION

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        return FileStreamSinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._props] * max_tasks

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def datasets(self, topics: Collection[str]) -> Sequence[Dataset]:
        """Return the file; the standard output is none."""
        file = self._props.get(FILE_CONFIG)
        return [file_dataset(file)] if file else []

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Accept any offsets: the file holds none."""
        return True

    def dry_run(self, connector_config: Mapping[str, str], records: Sequence[SinkRecord]) -> DryRun:
        """Return the lines."""
        return DryRun([_line(record).decode("utf-8", "replace") for record in records])


class FileStreamSinkTask(ColumnarSinkTask):
    """Appends each record's value and a line end: text and bytes unchanged, other values as Java prints them.

    A batch is written with one call, so that lines of several tasks do not mix. Offsets are committed only when the
    lines are on disk. (Java's may still be in the page cache, and lines that it cannot write are dropped silently.)
    """

    def version(self) -> str:
        return KAFKA_VERSION

    def __init__(self) -> None:
        self._output: OutputFile | None = None
        self._unsynced = False

    def start(self, props: Mapping[str, str]) -> None:
        self._output = OutputFile(CONFIG_DEF.parse(props)[FILE_CONFIG] or None)

    def put(self, records: Collection[SinkRecord]) -> None:
        if records:
            self._append(b"\n".join([*map(_line, records), b""]))

    def columns(self) -> Collection[str]:
        return (arrow.VALUE,)

    def put_table(self, table: pa.Table) -> None:
        values = table.column(arrow.VALUE)
        self._append(_lines(values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)))

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        if self._unsynced and self._output is not None:
            self._output.sync()
            self._unsynced = False

    def stop(self) -> None:
        if self._output is not None:
            self._output.close()

    def _append(self, lines: Buffer) -> None:
        assert self._output is not None
        self._unsynced = True
        self._output.append(lines)


def _line(record: SinkRecord) -> bytes:
    value = record.value
    if value.__class__ is bytes:
        return bytes(value)
    return java_string(record.value_schema, value).encode("utf-8", "replace")


def _lines(values: pa.Array) -> Buffer:
    """Return the values with a line end after each, in Arrow's memory."""
    ended = pc.binary_join_element_wise(pc.fill_null(values.cast(pa.binary()), _NULL), b"", b"\n")
    offsets = memoryview(ended.buffers()[1]).cast("i")
    return memoryview(ended.buffers()[2])[offsets[ended.offset] : offsets[ended.offset + len(ended)]]
