# SPDX-License-Identifier: Apache-2.0
"""SparkFileSource: the rows of files that arrive in a directory, of any format that Spark can read, as records."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from headrace import __version__
from headrace.api.config_def import ConfigDef, ConfigValue
from headrace.api.connector import Task
from headrace.api.datasets import Dataset, file_dataset
from headrace.api.errors import ConnectError, RetriableError
from headrace.api.frames import FrameJob
from headrace.api.lag import Lag, LagUnit
from headrace.api.source import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SourceConnector,
    SourceTask,
)
from headrace.connectors.common.spark_config import (
    BATCH_ROWS,
    KEY_COLUMNS,
    PARTITION_COUNT,
    PATH,
    POLL_INTERVAL,
    RETRY_TIMEOUT,
    TOPIC,
    add_conflicts,
    parse_checked,
)
from headrace.connectors.common.spark_reader import FORMAT, reader_settings
from headrace.connectors.common.spark_source import (
    LONGEST_WAIT,
    SPLITS,
    RetryTimeout,
    check_offsets,
    row_table,
    split_configs,
)
from headrace.connectors.spark_files.completed_files import CompletedFiles
from headrace.connectors.spark_files.file_ledger import FileLedger, FoundFile
from headrace.connectors.spark_files.file_reader import MODULE, FileReader
from headrace.connectors.spark_files.file_splits import FileSplits, NextFile, source_partition
from headrace.connectors.spark_files.spark_file_config import (
    CONFIG_DEF,
    DIRECTORY,
    EVOLUTION,
    MOST,
    ONE_COLUMN,
    SETTLE,
    WINDOW,
    find_conflicts,
)
from headrace.connectors.spark_files.spark_file_frames import PATH_NOT_FOUND

log = logging.getLogger(__name__)


class SparkFileSourceConnector(SourceConnector):
    """Tasks that read each file of a directory once, new files included."""

    def version(self) -> str:
        return __version__

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)
        self._count: int = parse_checked(CONFIG_DEF, props, find_conflicts)[PARTITION_COUNT]

    def task_class(self) -> type[Task]:
        return SparkFileSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return split_configs(self._props, list(range(self._count)), max_tasks)

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def validate(self, configs: Mapping[str, str]) -> list[ConfigValue]:
        return add_conflicts(super().validate(configs), find_conflicts)

    def frame_check(self, configs: Mapping[str, str]) -> FrameJob:
        """Look up the format, and check that the path can be read; it need not exist yet."""
        parsed = parse_checked(CONFIG_DEF, configs, find_conflicts)
        places = {name: parsed[name] for name in (PATH, DIRECTORY) if parsed[name]}
        settings = reader_settings(configs, parsed[FORMAT], {}) | {"places": json.dumps(places)}
        return FrameJob("headrace.connectors.spark_files.spark_file_frames:check", settings, f"files in {parsed[PATH]}")

    def datasets(self, topics: Collection[str]) -> Sequence[Dataset]:
        """Return the directory."""
        return [file_dataset(self._props[PATH], topics)]

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, props: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Return SUPPORTED: a transaction for each file."""
        return ConnectorTransactionBoundaries.SUPPORTED

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        """Refuse offsets that no task can continue from. A reset (None) is allowed for any partition."""
        parsed = parse_checked(CONFIG_DEF, connector_config, find_conflicts)
        count = parsed[PARTITION_COUNT]
        partitions = [source_partition(parsed[PATH], split, count) for split in range(count)]
        check_offsets(offsets, partitions, FileLedger.of)
        return True


class SparkFileSourceTask(SourceTask):
    """Lists the directory, reads file after file by frame jobs, and polls their rows as Arrow tables."""

    def version(self) -> str:
        return __version__

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._reader: tuple[NextFile, FileReader] | None = None
        self._listed_at: float | None = None

    def start(self, props: Mapping[str, str]) -> None:
        self._parsed = parse_checked(CONFIG_DEF, props, find_conflicts)
        self._path: str = self._parsed[PATH]
        self._settings = reader_settings(props, self._parsed[FORMAT], {})
        self._retry_timeout = RetryTimeout(self._parsed[RETRY_TIMEOUT], time.monotonic)
        count, numbers = self._parsed[PARTITION_COUNT], json.loads(props[SPLITS])
        partitions = [source_partition(self._path, split, count) for split in numbers]
        offsets = self.context.offset_storage_reader.offsets(partitions)
        ledgers = {split: FileLedger.of(offset) for split, offset in zip(numbers, offsets, strict=True)}
        self._splits = FileSplits(self._path, count, ledgers, self._parsed[WINDOW], self._parsed[MOST])
        self._completed = CompletedFiles(self.context, self._parsed, partitions)

    def poll(self) -> pa.Table | None:
        try:
            table = self._next_rows()
        except RetriableError as error:
            self._close_reader()
            raise self._retry_timeout.error_after(error, self._path) from error
        except ConnectError as error:
            self._close_reader()
            if not self._skip_if_gone(error):
                raise
            table = None
        self._retry_timeout.reset()
        return table

    def lag(self) -> Lag | None:
        """Return the files of the last listing that are not read to their end."""
        return None if self._listed_at is None else Lag(LagUnit.FILES, self._splits.lag())

    def stop(self) -> None:
        self._stopped.set()

    def _next_rows(self) -> pa.Table | None:
        while not self._stopped.is_set():
            opened = self._reader or self._open()
            if opened is None:
                return None
            file, reader = self._reader = opened
            rows = reader.take(self._parsed[BATCH_ROWS], self._stopped.is_set)
            table = None if rows is None else self._table(rows, file, reader)
            if reader.finished:
                self._finish(file, reader)
            if table is not None:
                return table
        self._close_reader()
        return None

    def _open(self) -> tuple[NextFile, FileReader] | None:
        """Open the next file; return None if there is none for now, after a short wait."""
        file = self._splits.next()
        if file is None and self._may_list():
            self._list()
            file = self._splits.next()
        if file is None:
            self._stopped.wait(min(self._parsed[POLL_INTERVAL] / 1000, LONGEST_WAIT))
            return None
        schema, evolution = self._splits.schema(file.split), self._parsed[EVOLUTION]
        return file, FileReader(self.context.frames, self._settings, evolution, file.file, file.row, schema)

    def _skip_if_gone(self, error: ConnectError) -> bool:
        """Return True, and skip the file, if it was removed since it was listed and nothing of it is read yet."""
        file = self._splits.next()
        if file is None or file.row or PATH_NOT_FOUND not in str(error):
            return False
        log.warning("file %s is gone before it was read", file.file.path)
        self._splits.skip(file)
        return True

    def _may_list(self) -> bool:
        now = time.monotonic()
        if self._listed_at is not None and now < self._listed_at + self._parsed[POLL_INTERVAL] / 1000:
            return False
        self._listed_at = now
        return True

    def _list(self) -> None:
        settings = {**self._settings, "path": self._path}
        listed = self.context.frames.run(FrameJob(f"{MODULE}:listing", settings, f"files in {self._path}"))
        files = [FoundFile(row["modified"], row["path"], row["size"]) for row in listed.to_pylist()]
        self._completed.listed(files)
        self._splits.found(files, time.time_ns() // 1_000_000 - self._parsed[SETTLE])

    def _table(self, rows: pa.Table, file: NextFile, reader: FileReader) -> pa.Table:
        finished = reader.finished
        offset = self._splits.read(file, reader.row, finished=finished, schema=reader.schema)
        if finished and self.context.transaction_context is not None:
            self.context.transaction_context.commit_transaction()
        value = ONE_COLUMN.get(self._parsed[FORMAT].lower())
        partition = self._splits.partition(file.split)
        return row_table(rows, self._parsed[TOPIC], self._parsed[KEY_COLUMNS], partition, offset, value)

    def _finish(self, file: NextFile, reader: FileReader) -> None:
        following = self._splits.next()
        if following is not None and following.file == file.file:
            # An empty file has no row to carry its offset; that of the next file includes it.
            self._splits.read(file, reader.row, finished=True, schema=reader.schema)
        self._close_reader()
        self._completed.note(file.file)

    def _close_reader(self) -> None:
        opened, self._reader = self._reader, None
        if opened is not None:
            opened[1].close()
