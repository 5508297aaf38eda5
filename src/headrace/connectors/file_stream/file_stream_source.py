# SPDX-License-Identifier: Apache-2.0
"""FileStreamSource: the lines of a text file, of a named pipe, or of the standard input, as records."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa

from headrace import KAFKA_VERSION
from headrace.api import arrow
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.connector import Task
from headrace.api.datasets import Dataset, file_dataset
from headrace.api.errors import ConnectError
from headrace.api.lag import Lag, LagUnit
from headrace.api.source import ExactlyOnceSupport, SourceConnector, SourceTask
from headrace.api.validators import Nullable, Range, TopicName
from headrace.connectors.file_stream.followed_file import AdaptiveWait, FileEvent, FollowedFile
from headrace.connectors.file_stream.line_splitter import Lines, LineSplitter

log = logging.getLogger(__name__)

FILE_CONFIG: Final = "file"
TOPIC_CONFIG: Final = "topic"
TASK_BATCH_SIZE_CONFIG: Final = "batch.size"
FILENAME_FIELD: Final = "filename"
POSITION_FIELD: Final = "position"

CONFIG_DEF: Final = (
    ConfigDef()
    .define(
        FILE_CONFIG,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        doc="Source filename. If not specified, or '-', the standard input of the task's process is read.",
    )
    .define(
        TOPIC_CONFIG,
        Type.STRING,
        importance=Importance.HIGH,
        validator=TopicName(),
        doc="The topic to publish data to.",
    )
    .define(
        TASK_BATCH_SIZE_CONFIG,
        Type.INT,
        2000,
        importance=Importance.LOW,
        validator=Nullable(Range.at_least(1)),
        doc="The maximum number of lines that the task takes from the file at one time.",
    )
)

_PARTITION_TYPE: Final = pa.struct([(FILENAME_FIELD, pa.string())])
_CHUNK: Final = 1 << 18
_POLL_SECONDS: Final = 0.01


class FileStreamSourceConnector(SourceConnector):
    """One task that follows one file as it grows (Java: `FileStreamSourceConnector`)."""

    def version(self) -> str:
        return KAFKA_VERSION

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        return FileStreamSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        # Only one input stream makes sense.
        return [self._props]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def datasets(self, topics: Collection[str]) -> Sequence[Dataset]:
        """Return the file; the standard input is none."""
        file = _file_of(self._props)
        return [file_dataset(str(file))] if file is not None else []

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Return SUPPORTED for a file, which can be read again; the standard input and a named pipe cannot."""
        file = _file_of(props)
        passing = file is None or _is_pipe(file)
        return ExactlyOnceSupport.UNSUPPORTED if passing else ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        """Refuse offsets that no task can continue from. A reset (None) is allowed for any partition."""
        if _file_of(connector_config) is None:
            raise ConnectError(
                f"Offsets cannot be modified if the '{FILE_CONFIG}' configuration is unspecified: "
                "the standard input has no offsets."
            )
        for partition, offset in offsets:
            if offset is not None:
                _position_of(offset)
                if FILENAME_FIELD not in (partition or {}):
                    raise ConnectError(f"Partition objects should contain the key '{FILENAME_FIELD}', got {partition}")
        return True


class FileStreamSourceTask(SourceTask):
    """Polls lines as Arrow tables, with the position after each line as its source offset.

    Positions count bytes. (Java's count characters; they are the same for ASCII, and for other text Java's go wrong.)
    Of a named pipe they count all bytes that were read of it, and nothing is skipped at the start. Record timestamps
    are left to the producer. `headrace.connectors.file_stream.followed_file` documents
    truncated and replaced files.
    """

    def version(self) -> str:
        return KAFKA_VERSION

    def __init__(self) -> None:
        self._waiter = AdaptiveWait()
        self._quiet = False
        self._missing_reported = False
        self._ended: FileEvent | None = None

    def start(self, props: Mapping[str, str]) -> None:
        config = CONFIG_DEF.parse(props)
        self._connector = props.get("name", "")
        self._topic: str = config[TOPIC_CONFIG]
        self._batch_size: int = config[TASK_BATCH_SIZE_CONFIG]
        self._file = _file_of(props)
        self._lines = LineSplitter(self._committed_position())
        self._input: _Input = _StandardInput() if self._file is None else FollowedFile(self._file, self._lines.position)
        self._columns = _Columns(self._topic, self._file)

    def poll(self) -> pa.Table | None:
        deadline = time.monotonic() + _POLL_SECONDS
        while not self._waiter.woken:
            if self._quiet and self._waiter.wait():
                # After a pause the file is looked at without a wait.
                self._quiet = False
                return None
            lines = self._next_lines()
            self._quiet = lines is None
            if lines is not None:
                self._waiter.active()
                return self._columns.table(lines)
            if time.monotonic() >= deadline:
                return None
        self._input.close()
        return None

    def lag(self) -> Lag | None:
        """Return the bytes that the file has and no record yet, but for a last line without its end."""
        unread = self._input.unread()
        return None if unread is None else Lag(LagUnit.BYTES, {str(self._file): unread + self._lines.ready})

    def wakeup(self) -> None:
        self._waiter.interrupt()

    def stop(self) -> None:
        self._waiter.wake()

    def _committed_position(self) -> int:
        if self._file is None:
            return 0
        offset = self.context.offset_storage_reader.offset({FILENAME_FIELD: self._file})
        return 0 if offset is None or offset.get(POSITION_FIELD) is None else _position_of(offset)

    def _next_lines(self) -> Lines | None:
        if self._ended is None:
            self._fill()
        lines = self._lines.take(self._batch_size)
        if lines is None and self._ended is not None:
            return self._restart_file(self._ended)
        return lines

    def _fill(self) -> None:
        """Read until there is a whole batch of lines, or no more data for now."""
        while self._lines.lines < self._batch_size:
            got = self._input.read(_CHUNK)
            if isinstance(got, bytes):
                self._lines.feed(got)
                continue
            if got in (FileEvent.TRUNCATED, FileEvent.REPLACED):
                self._ended = got
            if got is FileEvent.MISSING:
                self._report_missing()
            return

    def _restart_file(self, event: FileEvent) -> Lines | None:
        """Continue at the start of the file; an unfinished last line of a replaced file counts as complete."""
        last, read = self._lines, self._lines.position + self._lines.pending
        self._lines = LineSplitter()
        self._ended = None
        if event is FileEvent.REPLACED:
            log.info("file '%s' of connector %s was replaced; reading the new one", self._file, self._connector)
            return last.take_unfinished()
        log.warning(
            "file '%s' of connector %s is shorter than the %d bytes read of it: reading it from its start, without the "
            "%d bytes of an unfinished last line",
            self._file,
            self._connector,
            read,
            last.pending,
        )
        return None

    def _report_missing(self) -> None:
        if not self._missing_reported:
            self._missing_reported = True
            log.warning("file '%s' of connector %s does not exist (yet); waiting", self._file, self._connector)


class _Columns:
    """A factory of tables of lines, with the columns of `headrace.api.arrow`."""

    def __init__(self, topic: str, file: str | None) -> None:
        self._topic = topic
        self._partition = {FILENAME_FIELD: file}

    def table(self, lines: Lines) -> pa.Table:
        rows = len(lines.values)
        # As in Java, records of the standard input have a partition and an offset of nulls.
        positions = pa.nulls(rows, pa.int64()) if self._partition[FILENAME_FIELD] is None else pa.array(lines.positions)
        return pa.table(
            {
                arrow.TOPIC: arrow.constant(self._topic, rows, pa.string()),
                arrow.SOURCE_PARTITION: arrow.constant(self._partition, rows, _PARTITION_TYPE),
                arrow.SOURCE_OFFSET: pa.StructArray.from_arrays([positions], [POSITION_FIELD]),
                arrow.VALUE: lines.values,
            }
        )


class _Input(Protocol):
    def read(self, size: int) -> bytes | FileEvent: ...

    def unread(self) -> int | None: ...

    def close(self) -> None: ...


class _StandardInput:
    """The standard input of the task's process, which is empty unless a task is started by hand."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()

    def read(self, size: int) -> bytes | FileEvent:
        return (os.read(self._fd, size) if wait([self._fd], 0) else b"") or FileEvent.END

    def unread(self) -> int | None:
        return None

    def close(self) -> None:
        pass


def _file_of(props: Mapping[str, str]) -> str | None:
    """Return the configured file; None for the standard input."""
    file = (props.get(FILE_CONFIG) or "").strip()
    return None if file in ("", "-") else file


def _is_pipe(file: str) -> bool:
    try:
        return Path(file).is_fifo()
    except OSError:  # the task will report it
        return False


def _position_of(offset: Mapping[str, Any]) -> int:
    if POSITION_FIELD not in offset:
        raise ConnectError(f"Offset objects should either be null or contain the key '{POSITION_FIELD}', got {offset}")
    position = offset[POSITION_FIELD]
    if not isinstance(position, int) or isinstance(position, bool):
        raise ConnectError(f"The value for the '{POSITION_FIELD}' key in the offset should be an integer: {position!r}")
    if position < 0:
        raise ConnectError(f"The value for the '{POSITION_FIELD}' key in the offset should not be negative: {position}")
    return position
