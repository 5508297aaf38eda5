# SPDX-License-Identifier: Apache-2.0
"""Where Spark's Python processes look for modules, and in which order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.spark.engine import spark_process
from headrace.spark.process.python_path import PLUGIN_PATH_VARIABLE, without_spark_archives


def test_archives_go_where_pyspark_is_installed(tmp_path: Path) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    path = ["/spark/python/lib/pyspark.zip", "/spark/jars/spark-core.jar", "/plugins", str(tmp_path)]
    assert without_spark_archives(path) == ["/plugins", str(tmp_path)]


def test_archives_stay_where_pyspark_is_in_them() -> None:
    path = ["/spark/python/lib/pyspark.zip", "/spark/jars/spark-core.jar", "/plugins"]
    assert without_spark_archives(path) == path


def test_what_spark_starts_finds_plugins_behind_all_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its JVM starts Python by itself, too. Tasks' processes take from plugins' directories what is only there."""
    monkeypatch.setenv("PYTHONPATH", f"/first{os.pathsep}/second")
    environment = spark_process._environment({}, Path("/java"), [str(tmp_path), "relative"])
    path = environment["PYTHONPATH"].split(os.pathsep)
    plugins = [str(tmp_path), str(Path("relative").absolute())]
    assert path[1:] == ["/first", "/second", *plugins]
    assert environment[PLUGIN_PATH_VARIABLE] == os.pathsep.join(plugins)
    assert environment["PYTHONSAFEPATH"] == "1", "connectors may write to the working directory"
    (tmp_path / "orjson.py").write_text("raise SystemExit('the installed one is to be had')")
    (tmp_path / "only_here.py").touch()
    ended = subprocess.run(
        [sys.executable, "-c", "import headrace.spark.process.daemon, orjson, only_here"],
        env={name: environment[name] for name in ("PYTHONPATH", PLUGIN_PATH_VARIABLE)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
