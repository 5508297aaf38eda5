# SPDX-License-Identifier: Apache-2.0
"""SparkSink: writes topics in any format that Spark can write."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from headrace import __version__
from headrace.api import arrow
from headrace.api.config_def import ConfigDef, ConfigValue
from headrace.api.connector import Task
from headrace.api.datasets import Dataset
from headrace.api.errors import ConnectError, DataError, RetriableError
from headrace.api.frames import FrameJob
from headrace.api.record import SinkRecord
from headrace.api.sink import (
    ColumnarSinkTask,
    DryRun,
    NewOffset,
    OffsetAndMetadata,
    OffsetJobs,
    SinkConnector,
    TopicPartition,
)
from headrace.connectors.common.spark_config import add_conflicts, table_datasets
from headrace.connectors.spark_sink.batch_buffer import BatchBuffer
from headrace.connectors.spark_sink.record_tables import record_tables, tables_by_partition
from headrace.connectors.spark_sink.sink_dry_run import dry_run
from headrace.connectors.spark_sink.sink_target import SinkTarget, offset_jobs
from headrace.connectors.spark_sink.spark_sink_config import (
    CONFIG_DEF,
    NULLS,
    PATH,
    TABLE,
    VALUE_SCHEMA,
    SinkSettings,
    find_conflicts,
)

log = logging.getLogger(__name__)

Tables = Sequence[tuple[TopicPartition, pa.Table]]


class SparkSinkConnector(SinkConnector):
    """Tasks that share the topics' partitions; each writes its own."""

    def version(self) -> str:
        return __version__

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        return SparkSinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._props] * max_tasks

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def validate(self, configs: Mapping[str, str]) -> list[ConfigValue]:
        return add_conflicts(super().validate(configs), lambda values: find_conflicts(values, configs))

    def frame_check(self, configs: Mapping[str, str]) -> FrameJob:
        """Look up the format and the path, and analyse expressions as far as the columns are known."""
        settings = SinkSettings.of(configs)
        topics = [name.strip() for name in configs.get("topics", "").split(",") if name.strip()]
        targets = [settings.job(topic, []) for topic in topics or ["topic"]]
        sure = bool(configs.get(VALUE_SCHEMA)) and not configs.get("transforms")
        known = bool(topics) or not settings.by_topic
        asked = {"targets": json.dumps(targets), "sure": str(sure).lower(), "known": str(known).lower()}
        return FrameJob(
            "headrace.connectors.spark_sink.spark_sink_check:check", asked, f"what {settings.connector} writes to"
        )

    def datasets(self, topics: Collection[str]) -> Sequence[Dataset]:
        """Return the directories or tables that the topics go to."""
        settings = SinkSettings.of(self._props)
        places: dict[tuple[str | None, str | None], list[str]] = {}
        for topic in sorted(topics):
            job = settings.job(topic, [])
            places.setdefault((job.get(TABLE), job.get(PATH)), []).append(topic)
        found = (table_datasets(settings.options, *place, written) for place, written in places.items())
        return [dataset for datasets in found for dataset in datasets]

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return SinkSettings.of(connector_config).rewinds

    def frame_alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, NewOffset]
    ) -> OffsetJobs | None:
        settings = SinkSettings.of(connector_config)
        return offset_jobs(settings, offsets) if settings.rewinds and offsets else None

    def dry_run(self, connector_config: Mapping[str, str], records: Sequence[SinkRecord]) -> DryRun:
        """Return the rows with the columns that Spark would write, their types, and what differs from the target."""
        settings = SinkSettings.of(connector_config)
        tables = [(where.topic, _without_nulls(table, settings.nulls)) for where, table in record_tables(records)]
        return dry_run(settings, [(topic, table) for topic, table in tables if table.num_rows])


class SparkSinkTask(ColumnarSinkTask):
    """Buffers records until they fill a batch, and writes it by Spark.

    The target records the next offset of each partition, atomically with the batch. The task reads it before the first
    batch of a partition, and after every error: it shows the outcome of an uncertain write. The consumer's offsets
    follow, and never lead (invariant 9).
    """

    _settings: SinkSettings
    _buffer: BatchBuffer
    _target: SinkTarget

    def __init__(self) -> None:
        self._failures = 0

    def version(self) -> str:
        return __version__

    def start(self, props: Mapping[str, str]) -> None:
        self._settings = SinkSettings.of(props)
        self._buffer = BatchBuffer(self._settings.rotation, time.monotonic)
        self._target = SinkTarget(self._settings, self.context.frames, self.context.topic_id)

    def open(self, partitions: Collection[TopicPartition]) -> None:
        self._forget(partitions)
        # A state that cannot be read now is read when records have come.
        with suppress(RetriableError):
            self._target.opened(partitions)

    def close(self, partitions: Collection[TopicPartition]) -> None:
        # Buffered records are not written: the partition's next task begins at the committed offset.
        self._forget(partitions)

    def put(self, records: Collection[SinkRecord]) -> None:
        self._take(record_tables(records))

    def put_table(self, table: pa.Table) -> None:
        self._take(list(tables_by_partition(table)))

    def pre_commit(
        self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        return {where: self._written(where, asked) for where, asked in current_offsets.items()}

    def stop(self) -> None:
        pass

    def _written(self, where: TopicPartition, asked: OffsetAndMetadata) -> OffsetAndMetadata:
        first = self._buffer.first(where)
        return asked if first is None or first >= asked.offset else OffsetAndMetadata(first)

    def _forget(self, partitions: Collection[TopicPartition]) -> None:
        self._buffer.forget(partitions)
        self._target.forget(partitions)

    def _take(self, tables: Tables) -> None:
        try:
            self._take_over_unknown({where for where, _ in tables})
            for where, group in groupby(sorted(tables, key=_place), key=_place):
                of_partition = [table for _, table in group]
                self._handle_recreated_topic(where, of_partition)
                self._buffer.add(where, [_without_nulls(table, self._settings.nulls) for table in of_partition])
            self._write_due()
        except RetriableError as error:
            # The same records are put again, and recognised as buffered.
            self._try_again(error)
        self._failures = 0
        left = self._buffer.seconds_left()
        if left is not None:
            self.context.timeout_ms(int(left * 1000) + 1)

    def _take_over_unknown(self, partitions: Iterable[TopicPartition]) -> None:
        """Take over the partitions whose state is not known, or not known any more."""
        unknown = self._target.unknown({*partitions, *self._buffer.partitions()})
        for where, next in self._target.take_over(unknown).items():
            self._buffer.begin(where, next)

    def _handle_recreated_topic(self, where: TopicPartition, tables: Sequence[pa.Table]) -> None:
        """Restart a partition whose records seem to be written if its topic was deleted and created again."""
        if self._buffer.has_seen(where, tables[0]) and self._target.is_of_another_topic(where):
            log.warning("topic %s was created again: its records from offset 0 on are written", where.topic)
            # The former topic's records can be read no more.
            for run in self._buffer.runs(where):
                self._target.write([run])
                self._buffer.written(run)
            self._forget([where])
            self._take_over_unknown([where])

    def _write_due(self) -> None:
        due = self._buffer.due()
        while due:
            runs = self._target.batch_with_first(due)
            self._target.write(runs)
            for run in runs:
                due.remove(run)
                self._buffer.written(run)

    def _try_again(self, error: RetriableError) -> None:
        self._failures += 1
        if 0 <= self._settings.retries < self._failures:
            raise ConnectError(f"Given up after {self._settings.retries} retries: {error}") from error
        self.context.timeout_ms(self._settings.backoff_ms)
        raise error


def _without_nulls(table: pa.Table, nulls: str) -> pa.Table:
    values = table.column(arrow.VALUE)
    if nulls == "write" or not values.null_count:
        return table
    if nulls == "fail":
        row = table.filter(pc.is_null(values)).slice(0, 1)
        topic, partition, offset = (row.column(n)[0] for n in (arrow.TOPIC, arrow.PARTITION, arrow.OFFSET))
        raise DataError(
            f"The record at offset {offset} of {topic}-{partition} has no value; {NULLS}=ignore leaves such "
            f"records out, and {NULLS}=write writes them"
        )
    return table.filter(pc.is_valid(values))


def _place(entry: tuple[TopicPartition, pa.Table]) -> TopicPartition:
    return entry[0]
