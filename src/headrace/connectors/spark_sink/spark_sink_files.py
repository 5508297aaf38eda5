# SPDX-License-Identifier: Apache-2.0
"""Frame functions of a SparkSink that writes files. In the worker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.connectors.common.batch_log import BatchLog, Record
from headrace.connectors.common.batch_names import Batch
from headrace.connectors.common.hadoop_files import files_of
from headrace.connectors.common.spark_reader import FORMAT, with_spark_errors
from headrace.connectors.spark_sink.sink_frame import partitioned_rows, reporting_bad_values, states_frame
from headrace.connectors.spark_sink.spark_sink_config import PATH

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def take_over(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """`SinkTarget.take_over`."""
    found = []
    for place in json.loads(settings["batches"]):
        record = _log(spark, settings, place["partition"]).take_over(place["topic_id"])
        found.append((place["partition"], record.next, record.number))
    return states_frame(spark, found)


def write(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Write one batch. Raise FencedError if another task has the partition."""
    assert frame is not None
    (batch,) = json.loads(settings["batches"])
    log = _log(spark, settings, batch["partition"])
    directory = log.new_directory()
    chosen, by = partitioned_rows(spark, frame, settings)
    # One file per directory; connector tasks run in parallel already.
    writer = chosen.coalesce(1).write.format(settings[FORMAT]).options(**json.loads(settings["options"]))
    target = f"{settings[PATH].rstrip('/')}/{directory}"
    with reporting_bad_values(frame, settings):
        with_spark_errors(settings, lambda: writer.partitionBy(*by).save(target))
    log.commit(
        Batch(batch["topic"], batch["partition"], batch["first"], batch["last"]),
        directory,
        Record(batch["number"], batch["next"]),
    )


def prepare_rewind(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """`sink_target.before_change`."""
    for place in json.loads(settings["batches"]):
        log = _log(spark, settings, place["partition"])
        log.prepare_rewind(place["to"], str(place["token"]), within=not place["asked"])


def rewind(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """`sink_target.after_change`."""
    for place in json.loads(settings["batches"]):
        _log(spark, settings, place["partition"]).rewind(place["to"], str(place["token"]))


def _log(spark: SparkSession, settings: Mapping[str, str], partition: int) -> BatchLog:
    return BatchLog(files_of(spark, settings[PATH]), settings["connector"], settings["topic"], partition)
