# SPDX-License-Identifier: Apache-2.0
"""A function for queries that takes its time, so that its process can be killed meanwhile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(session: SparkSession) -> None:
    session.udf.register("linger", _linger, "string")


def _linger(value: str) -> str:
    time.sleep(0.01)
    return value
