# SPDX-License-Identifier: Apache-2.0
"""A small file system in memory, to be filled to its last byte."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


class SmallDisk:
    """Mounted at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / ".filler"

    def fill(self, pages: int = 0) -> None:
        """Take all room but that of ``pages`` small files."""
        with open(self._filler, "wb", buffering=0) as filler:
            with suppress(OSError):
                while True:
                    filler.write(bytes(1 << 16))
            filler.truncate(filler.tell() - pages * os.sysconf("SC_PAGESIZE"))

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)


@contextmanager
def small_disk(path: Path, megabytes: int = 16) -> Iterator[SmallDisk]:
    """Skips the test, and says so, where nothing can be mounted."""
    path.mkdir(parents=True, exist_ok=True)
    options = f"size={megabytes}m"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no file system in memory can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)
