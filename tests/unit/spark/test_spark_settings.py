# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from headrace.config.engine_config import EngineConfig
from headrace.spark.channel.endpoint import Interface
from headrace.spark.engine.spark_settings import REQUIRED, ignored, interface, settings, write_log_settings


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


def test_frame_jobs_may_have_second_copies_and_tasks_never(tmp_path: Path) -> None:
    """Spark makes none of the only Spark task of a job unless the threshold is set."""
    threshold = "spark.speculation.task.duration.threshold"
    given = {"spark.speculation": "true", "spark.speculation.quantile": "0.5", threshold: "1s"}
    made = settings(given, tmp_path)
    assert (made["spark.speculation"], made["spark.speculation.quantile"]) == ("true", "0.5")
    assert threshold not in made
    assert ignored(given) == [f"{threshold}=1s: it is not set"]


def test_what_is_not_followed_is_reported() -> None:
    assert ignored({"spark.python.worker.reuse": "true"}) == ["spark.python.worker.reuse=true: it is false"]
    assert ignored({"spark.python.worker.reuse": "false", "spark.own": "x"}) == []


@pytest.mark.parametrize(("master", "local"), [(None, True), ("local[4]", True), ("spark://host:7077", False)])
def test_a_cluster_gets_no_local_settings(tmp_path: Path, master: str | None, local: bool) -> None:
    made = settings({"spark.master": master} if master else {}, tmp_path)
    assert (made.get("spark.driver.host") == "127.0.0.1") is local
    assert (made.get("spark.authenticate") == "true") is local, "a cluster has to know the secret too"
    assert made["spark.master"] == (master or "local[256,4]")


def test_executors_reach_the_driver_where_the_master_sees_it_unless_the_user_says_otherwise(tmp_path: Path) -> None:
    cluster = {"spark.master": "spark://127.0.0.1:7077"}
    assert settings(cluster, tmp_path)["spark.driver.host"] == "127.0.0.1"
    assert settings({**cluster, "spark.driver.host": "me"}, tmp_path)["spark.driver.host"] == "me"


@pytest.mark.parametrize(
    ("host", "tls", "encrypted"),
    [
        ("127.0.0.1", "auto", False),
        ("192.0.2.1", "auto", True),
        ("127.0.0.1", "always", True),
        ("192.0.2.1", "never", False),
    ],
)
def test_channels_are_encrypted_where_others_could_listen(host: str, tls: str, encrypted: bool) -> None:
    made = interface({"spark.driver.host": host}, EngineConfig(channel_tls=tls, channel_port=99))
    assert made == Interface(host, host, 99, encrypted)


def test_a_driver_behind_another_address_listens_at_its_own() -> None:
    conf = {"spark.driver.host": "outside", "spark.driver.bindAddress": "0.0.0.0"}
    made = interface(conf, EngineConfig(channel_tls="never"))
    assert (made.host, made.bind) == ("outside", "0.0.0.0")


def test_sparks_log_goes_to_a_file(tmp_path: Path) -> None:
    path, log = write_log_settings(tmp_path)
    written = path.read_text()
    assert f"appender.file.fileName = {log}\n" in written
    assert "%d{yyyy-MM-dd HH:mm:ss.SSS}" in written
    assert "console" not in written.lower()


def test_sparks_ui_only_shows_and_is_off_where_the_rest_api_is_guarded(tmp_path: Path) -> None:
    open_to_all = settings({}, tmp_path)
    shut = ("spark.ui.killEnabled", "spark.ui.threadDumpsEnabled", "spark.ui.heapHistogramEnabled")
    assert {open_to_all[name] for name in shut} == {"false"} and "spark.ui.enabled" not in open_to_all
    assert settings({}, tmp_path, rest_guarded=True)["spark.ui.enabled"] == "false"
    asked_for = {"spark.ui.enabled": "true", "spark.ui.killEnabled": "true"}
    assert settings(asked_for, tmp_path, rest_guarded=True).items() >= asked_for.items()
