# SPDX-License-Identifier: Apache-2.0
"""A function in SQL that calls a method of Java's: what a query with it does is not in the query's text."""

from __future__ import annotations

from typing import Any


def register(spark: Any) -> None:
    called = "reflect('java.lang.System', 'getProperty', 'user.home')"
    spark.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION home() RETURNS STRING RETURN {called}")
