# SPDX-License-Identifier: Apache-2.0
"""What a frame function tells a SparkSink's task of the partitions that it has taken over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def states_frame(spark: SparkSession, states: Iterable[tuple[int, int, int]]) -> DataFrame:
    """Of each partition: its number, the offset that it goes on at, and the number of what was written of it."""
    partitions, nexts, numbers = zip(*states, strict=True)
    table = pa.table(
        {
            "partition": pa.array(partitions, pa.int32()),
            "next": pa.array(nexts, pa.int64()),
            "number": pa.array(numbers, pa.int64()),
        }
    )
    return spark.createDataFrame(table)
