# SPDX-License-Identifier: Apache-2.0
"""SparkTableSource: the rows of a table that Spark can read, new rows included, as records."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from headrace import __version__
from headrace.api.config_def import ConfigDef, ConfigValue
from headrace.api.connector import Task
from headrace.api.datasets import Dataset
from headrace.api.errors import ConnectError, RetriableError
from headrace.api.frames import FrameJob
from headrace.api.source import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SourceConnector,
    SourceTask,
    TransactionBoundary,
)
from headrace.connectors.common.spark_config import PATH, RETRY_TIMEOUT, TOPIC, add_conflicts, table_datasets
from headrace.connectors.common.spark_reader import spark_options
from headrace.connectors.common.spark_source import (
    LONGEST_WAIT,
    SPLITS,
    RetryTimeout,
    check_offsets,
    row_table,
    split_configs,
)
from headrace.connectors.spark_table.spark_table_config import (
    BULK,
    CONFIG_DEF,
    MODE,
    TABLE,
    Split,
    TableSettings,
    find_conflicts,
)
from headrace.connectors.spark_table.split_reader import COMPLETED, SplitReader, TableRows
from headrace.connectors.spark_table.table_queries import Columns, TableQueries
from headrace.connectors.spark_table.time_columns import GRANULARITY, for_records

log = logging.getLogger(__name__)


class SparkTableSourceConnector(SourceConnector):
    """Tasks for a table of any format of Spark's; databases through JDBC are the most common case."""

    def version(self) -> str:
        return __version__

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)
        self._settings = TableSettings.of(props)

    def task_class(self) -> type[Task]:
        return SparkTableSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return split_configs(self._props, [asdict(split) for split in self._settings.splits], max_tasks)

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def validate(self, configs: Mapping[str, str]) -> list[ConfigValue]:
        return add_conflicts(super().validate(configs), lambda values: find_conflicts(values, configs))

    def frame_check(self, configs: Mapping[str, str]) -> FrameJob:
        """Describe the table and analyse its first query."""
        return TableQueries(TableSettings.of(configs)).check()

    def datasets(self, topics: Collection[str]) -> Sequence[Dataset]:
        """Return the table; a query is none."""
        parsed = self._settings.parsed
        return table_datasets(spark_options(self._props), parsed[TABLE], parsed[PATH], topics)

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Return SUPPORTED; for bulk, which has no position in the table, only with one transaction for all rows."""
        own = props.get("transaction.boundary", "").strip().lower() == str(TransactionBoundary.CONNECTOR)
        return ExactlyOnceSupport.SUPPORTED if own or props.get(MODE) != BULK else ExactlyOnceSupport.UNSUPPORTED

    def can_define_transaction_boundaries(self, props: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Return SUPPORTED: a transaction for each batch, for bulk one for each read of the whole table."""
        return ConnectorTransactionBoundaries.SUPPORTED

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        """Refuse offsets that no task can continue from. A reset (None) is allowed for any partition."""
        settings = TableSettings.of(connector_config)
        partitions = [settings.source_partition(split) for split in settings.splits]
        wanted = {role for role, _ in settings.roles} or {COMPLETED}

        def check(offset: Mapping[str, Any]) -> None:
            if set(offset) != wanted:
                raise ConnectError(f"Offset objects should contain {' and '.join(sorted(wanted))}, got {offset}")

        check_offsets(offsets, partitions, check)
        return True


class SparkTableSourceTask(SourceTask):
    """Reads the rows of its splits, one after the other, by frame jobs, and polls them as Arrow tables."""

    def version(self) -> str:
        return __version__

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._readers: list[SplitReader] = []
        self._turn = 0

    def start(self, props: Mapping[str, str]) -> None:
        self._settings = TableSettings.of(props)
        self._queries = TableQueries(self._settings)
        self._retry_timeout = RetryTimeout(self._settings.parsed[RETRY_TIMEOUT], time.monotonic)
        self._splits = [Split(**split) for split in json.loads(props[SPLITS])]
        partitions = [self._settings.source_partition(split) for split in self._splits]
        self._offsets = self.context.offset_storage_reader.offsets(partitions)
        self._columns: Columns | None = None

    def poll(self) -> pa.Table | None:
        try:
            rows = self._rows()
        except RetriableError as error:
            self._give_up_query()
            raise self._retry_timeout.error_after(error, f"table {self._settings.table}") from error
        self._retry_timeout.reset()
        if rows is None:
            return None
        self._end_transaction(rows)
        assert self._columns is not None
        parsed = self._settings.parsed
        table = for_records(rows.table, self._columns.times, parsed[GRANULARITY])
        return row_table(table, parsed[TOPIC], self._columns.keys, rows.partition, rows.offset)

    def stop(self) -> None:
        self._stopped.set()

    def _rows(self) -> TableRows | None:
        """Return the next rows of the splits in turn; None if no split has any, after a short wait."""
        if self._columns is None:
            self._open()
        for _ in self._readers:
            reader = self._readers[self._turn]
            if reader.is_due(time.monotonic()):
                rows = reader.next_rows(self._stopped.is_set)
                if rows is not None or self._stopped.is_set():
                    return rows
            self._turn = (self._turn + 1) % len(self._readers)
        now = time.monotonic()
        due = min(reader.due for reader in self._readers)
        self._stopped.wait(min(max(due - now, 0.001), LONGEST_WAIT))
        return None

    def _open(self) -> None:
        schema = self.context.frames.run(self._queries.describe()).column("schema")[0].as_py()
        self._columns = self._queries.columns(schema)
        self._readers = [
            SplitReader(self.context.frames, self._queries, self._settings, self._columns, split, offset)
            for split, offset in zip(self._splits, self._offsets, strict=True)
        ]

    def _give_up_query(self) -> None:
        for reader in self._readers:
            reader.give_up()
        transactions = self.context.transaction_context
        if transactions is not None and self._settings.parsed[MODE] == BULK:
            # The part of the table that was read is read again.
            transactions.abort_transaction()

    def _end_transaction(self, rows: TableRows) -> None:
        transactions = self.context.transaction_context
        if transactions is not None and rows.offset is not None:
            transactions.commit_transaction()
