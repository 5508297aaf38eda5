# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket
from pathlib import Path

import pytest

from headrace.config.engine_config import ConsoleLimits
from headrace.spark.engine.console_log import BoundedLog
from headrace.spark.engine.spark_process import _reason, _temporary, _ui_at_loopback


@pytest.mark.parametrize("master", ["local[4]", "spark://host:7077"])
def test_the_ui_listens_at_loopback_and_tasks_hosts_are_named_as_ever(master: str) -> None:
    made = _ui_at_loopback({"spark.master": master}, {"SPARK_PUBLIC_DNS": "proxy"})
    hostname = {"SPARK_LOCAL_HOSTNAME": socket.gethostname()} if master.startswith("local") else {}
    assert made == {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_PUBLIC_DNS": "proxy", **hostname}


def test_an_address_that_the_workers_environment_names_counts() -> None:
    assert _ui_at_loopback({"spark.master": "local"}, {"SPARK_LOCAL_IP": "0.0.0.0"}) == {}


def test_temporary_files_are_elsewhere_only_where_a_sockets_path_would_be_too_long(tmp_path: Path) -> None:
    assert _temporary(tmp_path / ("long" * 20)) is None
    short = Path("/tmp") / tmp_path.name[-8:]
    short.mkdir()
    try:
        made = _temporary(short)
        assert made is not None and made.stat().st_mode & 0o777 == 0o700
        made.rmdir()
    finally:
        short.rmdir()


def test_why_a_jvm_ended_is_what_it_said_and_no_remark_of_ours(tmp_path: Path) -> None:
    console = tmp_path / "spark-console.log"
    log = BoundedLog(console, ConsoleLimits(1000, 1))
    log.write(b"Error: of the start before\n")
    again = BoundedLog(console, ConsoleLimits(1000, 1))
    again.write(b"WARNING: Using incubator modules\nError: Address already in use\n")
    assert console.read_text().lstrip().startswith("[headrace] ")
    assert _reason(console) == "Error: Address already in use"
