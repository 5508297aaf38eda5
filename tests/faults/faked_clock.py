# SPDX-License-Identifier: Apache-2.0
"""A wall clock that a test sets for the processes that it starts; clocks that only go forward stay as they are."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_suffix(".c")


class FakedClock:
    """For processes that are started with `environment`, and all below them, from one moment to the next."""

    def __init__(self, directory: Path) -> None:
        """Skips the test where there is no C compiler."""
        self._file = directory / "clock-offset"
        self._file.write_bytes(struct.pack("=q", 0))
        self.environment = {"LD_PRELOAD": str(_compiled(directory)), "FAKED_CLOCK": str(self._file)}

    def jump(self, seconds: int) -> None:
        """To so many seconds from the real time."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("=q", seconds))


def _compiled(directory: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc): apt-get install gcc libc6-dev")
    library = directory / "faked_clock.so"
    made = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl"], capture_output=True, text=True
    )
    if made.returncode != 0:
        pytest.skip(f"the faked clock cannot be compiled here: {made.stderr[-300:]}")
    return library
