# SPDX-License-Identifier: Apache-2.0
"""Spark's archives leave the path only where PySpark is installed beside them."""

from __future__ import annotations

from pathlib import Path

from headrace.spark.python_path import without_spark_archives


def test_archives_go_where_pyspark_is_installed(tmp_path: Path) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    path = ["/spark/python/lib/pyspark.zip", "/spark/jars/spark-core.jar", "/plugins", str(tmp_path)]
    assert without_spark_archives(path) == ["/plugins", str(tmp_path)]


def test_archives_stay_where_pyspark_is_in_them() -> None:
    path = ["/spark/python/lib/pyspark.zip", "/spark/jars/spark-core.jar", "/plugins"]
    assert without_spark_archives(path) == path
