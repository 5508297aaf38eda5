# SPDX-License-Identifier: Apache-2.0
"""Functions for queries that take their time, or never return, so that processes can be killed meanwhile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def register(session: SparkSession) -> None:
    session.udf.register("linger", _linger, "string")


def _linger(value: str) -> str:
    time.sleep(0.01)
    return value


def register_hanging(session: SparkSession) -> None:
    """Register a function that never returns, in a process of Spark's."""
    session.udf.register("hang", _hang, "string")


def hang_in_driver(records: DataFrame) -> DataFrame:
    """A step that never returns, in Spark's driver, where nothing can cancel it."""
    return records.filter(_hang("") == "")


def _hang(value: str) -> str:
    time.sleep(3600)
    return value
