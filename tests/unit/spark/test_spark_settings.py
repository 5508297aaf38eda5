# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from headrace.spark.spark_settings import REQUIRED, settings, write_log_settings


def test_the_workers_properties_win_over_what_is_preferred(tmp_path: Path) -> None:
    made = settings({"spark.scheduler.mode": "FIFO", "spark.driver.memory": "2g", "spark.own": "x"}, tmp_path)
    assert made["spark.scheduler.mode"] == "FIFO"
    assert made["spark.driver.memory"] == "2g"
    assert made["spark.own"] == "x"
    assert made["spark.python.unix.domain.socket.enabled"] == "true"
    assert made["spark.local.dir"] == str(tmp_path / "local")


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_what_is_required_wins_over_all(tmp_path: Path, name: str) -> None:
    assert settings({name: "other"}, tmp_path)[name] == REQUIRED[name] != "other"


def test_two_copies_of_a_task_are_never_wanted(tmp_path: Path) -> None:
    assert settings({"spark.speculation": "true"}, tmp_path)["spark.speculation"] == "false"


@pytest.mark.parametrize(("master", "local"), [(None, True), ("local[4]", True), ("spark://host:7077", False)])
def test_a_cluster_gets_no_local_settings(tmp_path: Path, master: str | None, local: bool) -> None:
    made = settings({"spark.master": master} if master else {}, tmp_path)
    assert (made.get("spark.driver.host") == "127.0.0.1") is local
    assert made["spark.master"] == (master or "local[256,4]")


def test_sparks_log_goes_to_a_file(tmp_path: Path) -> None:
    path, log = write_log_settings(tmp_path)
    written = path.read_text()
    assert f"appender.file.fileName = {log}\n" in written
    assert "%d{yyyy-MM-dd HH:mm:ss.SSS}" in written
    assert "console" not in written.lower()
