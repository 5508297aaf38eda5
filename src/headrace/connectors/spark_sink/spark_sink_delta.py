# SPDX-License-Identifier: Apache-2.0
"""Frame functions of a SparkSink that writes to a table of Delta Lake. In the worker.

A commit of Delta's can carry an application's name and a version, and is skipped if the table has that version of it,
or a later one. Here the name is that of a partition, and the version consists of an *epoch* and the partition's next
offset. So the table itself records, atomically with the rows, the offset up to which it is written. The topic's id is
part of the name: for one that is deleted and created again nothing is written yet. A task that takes over begins
another epoch by a commit without rows: all later versions of its predecessor are too old.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from headrace.api.errors import RetriableError
from headrace.connectors.common.batch_log import FencedError
from headrace.connectors.common.spark_reader import FORMAT, with_spark_errors
from headrace.connectors.spark_sink.sink_frame import reporting_bad_values, rows, states_frame
from headrace.connectors.spark_sink.spark_sink_config import PATH, TABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OFFSET_BITS: Final = 44
_NUMBER_BITS: Final = 32
"""A task numbers its batches upwards from the number that it received, which is the epoch above these bits."""
_OTHERS: Final = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "DELTA_TABLE_ALREADY_EXISTS")
"""Classes of errors by which Delta reports a concurrent change of the table."""


def take_over(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """`SinkTarget.take_over`. A table that does not exist yet has no offsets."""
    found = []
    for place in json.loads(settings["batches"]):
        table = _DeltaTable(spark, settings, place)
        version = table.version()
        epoch, next = _parts(version or 0)
        if table.exists():
            epoch += 1
            table.append(table.nothing(), _version(epoch, next))
        found.append((place["partition"], next, epoch << _NUMBER_BITS))
    return states_frame(spark, found)


def write(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Append one batch. Raise FencedError if another task has the partition."""
    assert frame is not None
    (batch,) = json.loads(settings["batches"])
    table = _DeltaTable(spark, settings, batch)
    epoch = batch["number"] >> _NUMBER_BITS
    if (table.version() or 0) != _version(epoch, batch["next"]):
        raise table.fenced()
    with reporting_bad_values(frame, settings):
        table.append(rows(frame, settings), _version(epoch, batch["last"] + 1))


def _version(epoch: int, next: int) -> int:
    return epoch << _OFFSET_BITS | next


def _parts(version: int) -> tuple[int, int]:
    return version >> _OFFSET_BITS, version & (1 << _OFFSET_BITS) - 1


class _DeltaTable:
    """A table, for one partition of one connector's topic."""

    def __init__(self, spark: Any, settings: Mapping[str, str], place: Mapping[str, Any]) -> None:
        self._spark = spark
        self._settings = settings
        self._where = f"{settings['topic']}-{place['partition']}"
        self._application = "/".join(("headrace", settings["connector"], settings["topic"], str(place["partition"])))
        if place["topic_id"]:
            self._application += f"/{place['topic_id']}"

    def exists(self) -> bool:
        if TABLE in self._settings:
            return bool(self._spark.catalog.tableExists(self._settings[TABLE]))
        return bool(self._snapshot().version() >= 0)

    def version(self) -> int | None:
        """Return the partition's latest version in the table."""
        if not self.exists():
            return None
        known = self._snapshot().transactions().get(self._application)
        return int(known.get()) if known.isDefined() else None

    def nothing(self) -> DataFrame:
        """Return a frame of its columns, without rows."""
        read, settings = self._spark.read, self._settings
        all = read.table(settings[TABLE]) if TABLE in settings else read.format(settings[FORMAT]).load(settings[PATH])
        none: DataFrame = all.limit(0)
        return none

    def append(self, frame: DataFrame, version: int) -> None:
        """Append rows atomically with the version. Raise FencedError if the table has silently skipped it."""
        self._write(frame, version)
        if self.version() != version:
            raise self.fenced()

    def _write(self, frame: DataFrame, version: int) -> None:
        options = {"txnAppId": self._application, "txnVersion": str(version)}
        made = frame.write.format(self._settings[FORMAT]).options(**json.loads(self._settings["options"]), **options)
        writer = made.mode("append")
        try:
            if TABLE in self._settings:
                with_spark_errors(self._settings, lambda: writer.saveAsTable(self._settings[TABLE]))
            else:
                with_spark_errors(self._settings, lambda: writer.save(self._settings[PATH]))
        except Exception as error:
            if any(condition in str(error) for condition in _OTHERS):
                raise RetriableError(f"Another writer has changed the table meanwhile: {error}") from error
            raise

    def fenced(self) -> FencedError:
        return FencedError(f"{self._where}: another task writes this partition to the table")

    def _snapshot(self) -> Any:
        """Return the table's latest snapshot."""
        session = self._spark._jsparkSession

        def latest() -> Any:
            log = self._spark._jvm.org.apache.spark.sql.delta.DeltaLog
            if TABLE not in self._settings:
                return log.forTableWithSnapshot(session, self._settings[PATH])._2()
            name = session.sessionState().sqlParser().parseTableIdentifier(self._settings[TABLE])
            return log.forTableWithSnapshot(session, name)._2()

        return with_spark_errors(self._settings, latest)
