# SPDX-License-Identifier: Apache-2.0
"""`make demo-cdc` seen from outside: what it says, that it keeps running, and that it leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from demo.cdc import shop
from demo.cluster import DemoError
from headrace.java.jvm import runtime_jars
from tests.faults.debezium import install
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.postgres import found_postgres
from tests.support.processes import alive
from tests.support.worker_process import ROOT


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A directory for temporary files that PostgreSQL can read, too, which is not root's."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)


def test_without_postgresql_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shop, "installed_postgres", lambda: None)
    monkeypatch.setattr(shop.shutil, "which", lambda name: name if name == "dnf" else None)
    with pytest.raises(DemoError, match="PostgreSQL is not installed: sudo dnf install -y postgresql-server"):
        shop.Shop()


@pytest.mark.timeout(900)
def test_each_change_is_there_once_and_an_interrupt_leaves_nothing_behind(tmp_path: Path, temporary: Path) -> None:
    or_skip(found_postgres)
    or_skip(runtime_jars)
    install(tmp_path / "plugins")
    output = tmp_path / "output.txt"
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with output.open("wb") as out:
        demo = subprocess.Popen(
            [sys.executable, "-m", "demo.cdc", "--keep"],
            cwd=ROOT, stdout=out, stderr=out, env=environment, start_new_session=True,
        )  # fmt: skip
    try:
        wait_for(lambda: "until Ctrl-C" in output.read_text() or demo.poll() is not None, 240, output.read_text)
        assert demo.poll() is None, output.read_text()
        assert "Each change once, and the copy equals the table." in output.read_text()
        assert output.read_text().count("changes flow again") == 3
        below = psutil.Process(demo.pid).children(recursive=True)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 130, output.read_text()
    finally:
        demo.kill()
    wait_for(lambda: not any(map(alive, below)), 5, lambda: f"the ends of {below}")
    assert "Traceback" not in output.read_text()
    assert list(temporary.iterdir()) == []
