# SPDX-License-Identifier: Apache-2.0
"""The result of a frame function that takes partitions over, for a SparkSink's task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def states_frame(spark: SparkSession, states: Iterable[tuple[int, int, int]]) -> DataFrame:
    """Return a row for each partition: its number, its next offset, and the number of its last write."""
    partitions, nexts, numbers = zip(*states, strict=True)
    table = pa.table(
        {
            "partition": pa.array(partitions, pa.int32()),
            "next": pa.array(nexts, pa.int64()),
            "number": pa.array(numbers, pa.int64()),
        }
    )
    return spark.createDataFrame(table)
