# SPDX-License-Identifier: Apache-2.0
"""`make demo` seen from outside: what it refuses, and that it leaves nothing behind when it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.polling import wait_for
from tests.support.processes import alive

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "expected"), [(None, "No such file"), (b"", "FILE="), (b"no end of line", "its last line does not end")]
)
def test_a_file_that_cannot_be_sent_is_refused_in_one_line(text: bytes | None, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    if text is not None:
        file.write_bytes(text)
    ended = subprocess.run(
        [sys.executable, "-m", "demo", "--file", str(file)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert expected in " ".join(ended.stdout.split())
    assert "Traceback" not in ended.stdout + ended.stderr


def test_interrupted_it_leaves_nothing_behind(tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with output.open("wb") as out:
        demo = subprocess.Popen(
            [sys.executable, "-m", "demo"], cwd=ROOT, stdout=out, stderr=out, env=environment, start_new_session=True
        )
    try:
        wait_for(lambda: "→ topic" in output.read_text(), 90, lambda: f"the connector:\n{output.read_text()}")
        below = psutil.Process(demo.pid).children(recursive=True)
        assert below
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 130, output.read_text()
    finally:
        demo.kill()
    wait_for(lambda: not any(map(alive, below)), 5, lambda: f"the ends of {below}")
    assert "Traceback" not in output.read_text()
    assert [left for left in tmp_path.iterdir() if left != output] == []
