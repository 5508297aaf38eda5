# SPDX-License-Identifier: Apache-2.0
"""Frame functions of a SparkSink that appends to tables of other formats. In the worker.

A partition's written offsets are read from the table itself, if its rows contain the topic, partition and offset of
their records. A format that adds a batch atomically gets no row twice that way, unless a former task is still
writing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.api.jdbc_urls import check_jdbc
from headrace.connectors.common.hadoop_files import files_of
from headrace.connectors.common.spark_reader import FORMAT, with_spark_errors
from headrace.connectors.spark_sink.sink_frame import reporting_bad_values, rows, states_frame
from headrace.connectors.spark_sink.spark_sink_config import INCLUDE, PATH, TABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def take_over(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """`SinkTarget.take_over`."""
    partitions = [place["partition"] for place in json.loads(settings["batches"])]
    written: dict[int, int] = {}
    if {"topic", "partition", "offset"} <= set(settings[INCLUDE].split(",")) and _exists(spark, settings):
        topic = settings["topic"].replace("'", "\\'")
        latest = _read(spark, settings).where(f"kafka_topic = '{topic}'").groupBy("kafka_partition")
        found = latest.agg({"kafka_offset": "max"}).collect()
        written = {row[0]: row[1] + 1 for row in found}
    return states_frame(spark, [(partition, written.get(partition, 0), 0) for partition in partitions])


def write(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Append batches of one topic."""
    assert frame is not None
    check_jdbc(spark, json.loads(settings["options"]))
    made = rows(frame, settings).write.format(settings[FORMAT]).options(**json.loads(settings["options"]))
    writer = made.mode("append")
    with reporting_bad_values(frame, settings):
        if TABLE in settings:
            with_spark_errors(settings, lambda: writer.saveAsTable(settings[TABLE]))
        else:
            with_spark_errors(settings, lambda: writer.save(settings[PATH]))


def _exists(spark: SparkSession, settings: Mapping[str, str]) -> bool:
    if TABLE in settings:
        return spark.catalog.tableExists(settings[TABLE])
    return bool(files_of(spark, settings[PATH]).names(""))


def _read(spark: SparkSession, settings: Mapping[str, str]) -> DataFrame:
    if TABLE in settings:
        return spark.table(settings[TABLE])
    check_jdbc(spark, json.loads(settings["options"]))
    reader = spark.read.format(settings[FORMAT]).options(**json.loads(settings["options"]))
    return with_spark_errors(settings, lambda: reader.load(settings[PATH]))
